"""Do probabilities mean what they say? Reliability on held-out topics of a generated collection.

    python benchmarks/calibration.py [--pages 20000] [--topics 40] [--seeds 3] [--figure OUT.svg]

The topics of a collection are divided into five folds; each is given probabilities by a calibration (and, for the
learned model, a line) that never saw it. Prints the reliability diagram as numbers, the expected calibration error and
by how much the expected number of relevant pages of a topic is off. The last two rows are what `evenrank rank` uses,
with all candidates that it looks at.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibration_figure import write_reliability
from evenrank.core.rng import derive
from evenrank.io.faults import FaultLog
from evenrank.io.figures import check_figure
from evenrank.ranking.sources import CALIBRATION
from evenrank.retrieval.engine.indexing import build_index
from evenrank.retrieval.features import FeatureExtractor
from evenrank.retrieval.learn.calibration import (
    CalibrationSettings,
    ReliabilityBins,
    fit_calibration,
    predict,
    reliability_bins,
)
from evenrank.retrieval.learn.relevant_count import estimate_count, fit_count
from evenrank.retrieval.learn.training import Trained, train_on_topics
from evenrank.retrieval.learn.training import held_out_probabilities as learned_probabilities
from evenrank.retrieval.relevance import LexicalModel, probability_by_rank
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings

Scored = tuple[NDArray[np.float64], NDArray[np.bool_]]
RANK, LEARNED = "all candidates: `rank`", "all candidates: `rank --model learned`"
DETAILED = ("prior of each topic", LEARNED)
"""Models whose diagram is printed."""
DRAWN = ("by rank, nothing learned", "prior of each topic", RANK, LEARNED)
"""Models in the figure."""


def held_out_probabilities(topics: Sequence[Scored], settings: CalibrationSettings, is_corrected: bool) -> list[Scored]:
    """Probabilities and labels of each topic, from a calibration on the other four folds."""
    order = derive(0, "calibration folds").permutation(len(topics))
    found = []
    for fold in range(5):
        held = order[fold::5].tolist()
        calibration = fit_calibration([topics[at] for at in range(len(topics)) if at not in held], settings)
        prior = None if is_corrected else calibration.prior
        found += [(predict(calibration, topics[at][0], prior), topics[at][1]) for at in held]
    return found


def models_of(settings: GenerateSettings) -> dict[str, list[Scored]]:
    """Probabilities and labels of the topics of a new collection, by model; each topic held out."""
    with tempfile.TemporaryDirectory() as folder:
        collection = generate_collection(folder, settings)
        model = LexicalModel(build_index(collection, FaultLog()))
        topics = [topic for topic in collection.topics if topic.split == "train"]
        found = [model.score(topic, 1000) for topic in topics]
        trained = train_on_topics(FeatureExtractor(model), topics)
    scored = [(f.scores, np.isin(f.page_ids, t.rel_docs)) for f, t in zip(found, topics, strict=True)]
    models = {"by rank, nothing learned": [(probability_by_rank(s), y) for s, y in scored]}
    for name, is_corrected in {"one prior for all": False, "prior of each topic": True}.items():
        models[name] = held_out_probabilities(scored, CalibrationSettings(), is_corrected)
    given = [example for example in trained.examples if example.is_as_given]
    untrained = [(example.lexical, example.labels) for example in given]
    models[RANK] = held_out_probabilities(untrained, CALIBRATION, True)
    state = trained.state
    probabilities = learned_probabilities(
        trained.examples, trained.scores(), state.settings.seed, state.calibration.settings
    )
    pairs = zip(probabilities, trained.examples, strict=True)
    models[LEARNED] = [(p, example.labels) for p, example in pairs if example.is_as_given]
    show_counts(trained, [p.sum() for p in probabilities])
    return models


def show_counts(trained: Trained, sums: Sequence[float]) -> None:
    """How often the 80 % interval covers the number of relevant pages of a topic that was not seen."""
    truth = np.array([example.n_relevant for example in trained.examples])
    topics = np.array([example.topic_id for example in trained.examples])
    found = []
    for at, topic in enumerate(topics.tolist()):
        seen = np.flatnonzero(topics != topic)
        model = fit_count([float(sums[i]) for i in seen], truth[seen].tolist(), topics[seen].tolist())
        found.append(estimate_count(model, np.array([sums[at]])))
    median, low, high = np.array(found).T
    covered = ((low <= truth) & (truth <= high)).mean()
    print(f"learned: {truth.min()} to {truth.max()} relevant pages; estimated number, median ratio", end=" ")
    print(
        f"{np.median(median / truth):.2f}; 80 % interval covers {covered:.0%}, factor {np.median(high / low):.1f} wide"
    )


def bins_of(topics: Sequence[Scored]) -> ReliabilityBins:
    return reliability_bins(np.concatenate([p for p, _ in topics]), np.concatenate([y for _, y in topics]))


def show(name: str, topics: Sequence[Scored]) -> None:
    bins = bins_of(topics)
    counts = np.mean([abs(p.sum() - y.sum()) / max(y.sum(), 1) for p, y in topics])
    print(f"{name:52s}ECE {bins.expected_calibration_error:.4f}   error of the number of relevant {counts:.0%}")
    if name in DETAILED:
        for mean, share, n in zip(bins.mean_probability, bins.share_relevant, bins.n_pages, strict=True):
            print(f"    p {mean:.3f}   relevant {share:.3f}   pages {n:7,d}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--topics", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--figure", type=Path, metavar="OUT.svg", help="draw the reliability diagram, all seeds in one")
    options = parser.parse_args()
    if options.figure:
        check_figure(options.figure)
    pooled: dict[str, list[Scored]] = {name: [] for name in DRAWN}
    for seed in range(options.seeds):
        models = models_of(GenerateSettings(options.pages, n_train_topics=options.topics, n_eval_topics=1, seed=seed))
        n_relevant = [int(labels.sum()) for _, labels in models[DRAWN[0]]]
        least, most = min(n_relevant), max(n_relevant)
        print(f"\nseed {seed}: {options.topics} topics, {least} to {most} relevant among 1000 candidates")
        for name, topics in models.items():
            show(name, topics)
        for name, topics in pooled.items():
            topics += models[name]
    if options.figure:
        title = f"{options.seeds * options.topics} held-out topics of generated collections"
        write_reliability({name: bins_of(topics) for name, topics in pooled.items()}, title, options.figure)


if __name__ == "__main__":
    main()
