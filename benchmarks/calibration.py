"""Do probabilities mean what they say? Reliability on held-out topics of a generated collection.

    python benchmarks/calibration.py [--pages 20000] [--topics 40] [--seeds 3]

The topics of a collection are divided into five folds; each is given probabilities by a calibration (and, for the
learned model, trees) that never saw it. Prints the reliability diagram as numbers, the expected calibration error and
by how much the expected number of relevant pages of a topic is off. The last two rows are what `evenrank rank` uses,
with all candidates that it looks at.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evenrank.collection.generate.settings import GenerateSettings
from evenrank.collection.make import generate_collection
from evenrank.formats.faults import FaultLog
from evenrank.policies.sources import CALIBRATION
from evenrank.rng import derive
from evenrank.search.calibration import CalibrationSettings, fit_calibration, predict
from evenrank.search.features import FeatureExtractor
from evenrank.search.indexing import build_index
from evenrank.search.relevance import LexicalModel, probability_by_rank
from evenrank.search.reliability import reliability_bins
from evenrank.search.training import train_on_topics
from evenrank.search.training_report import held_out_probabilities as learned_probabilities

Scored = tuple[NDArray[np.float64], NDArray[np.bool_]]


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


def show(name: str, topics: Sequence[Scored], *, is_detailed: bool = False) -> None:
    bins = reliability_bins(np.concatenate([p for p, _ in topics]), np.concatenate([y for _, y in topics]))
    counts = np.mean([abs(p.sum() - y.sum()) / max(y.sum(), 1) for p, y in topics])
    print(f"{name:52s}ECE {bins.expected_calibration_error:.4f}   error of the number of relevant {counts:.0%}")
    if is_detailed:
        for mean, share, n in zip(bins.mean_probability, bins.share_relevant, bins.n_pages, strict=True):
            print(f"    p {mean:.3f}   relevant {share:.3f}   pages {n:7,d}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--topics", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    for seed in range(options.seeds):
        settings = GenerateSettings(options.pages, n_train_topics=options.topics, n_eval_topics=1, seed=seed)
        with tempfile.TemporaryDirectory() as folder:
            collection = generate_collection(folder, settings)
            model = LexicalModel(build_index(collection, FaultLog()))
            topics = [topic for topic in collection.topics if topic.split == "train"]
            found = [model.score(topic, 1000) for topic in topics]
            scored = [(f.scores, np.isin(f.page_ids, t.rel_docs)) for f, t in zip(found, topics, strict=True)]
            trained = train_on_topics(FeatureExtractor(model), topics)
        n_relevant = [int(labels.sum()) for _, labels in scored]
        least, most = min(n_relevant), max(n_relevant)
        print(f"\nseed {seed}: {len(topics)} topics, {least} to {most} relevant among 1000 candidates")
        show("by rank, nothing learned", [(probability_by_rank(s), y) for s, y in scored])
        for method in ("logistic", "isotonic"):
            for is_corrected in (False, True):
                name = f"{method}, {'prior of each topic' if is_corrected else 'one prior for all'}"
                fitted = held_out_probabilities(scored, CalibrationSettings(method), is_corrected)  # type: ignore[arg-type]
                show(name, fitted, is_detailed=method == "isotonic" and is_corrected)
        untrained = [(example.lexical, example.labels) for example in trained.examples]
        show("all candidates: `rank`", held_out_probabilities(untrained, CALIBRATION, True))
        given = learned_probabilities(
            trained, [example.scores(trained.state.cross_fit) for example in trained.examples]
        )
        learned = [(p, example.labels) for p, example in zip(given, trained.examples, strict=True)]
        show("all candidates: `rank --model learned`", learned, is_detailed=True)


if __name__ == "__main__":
    main()
