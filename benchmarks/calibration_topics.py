"""Do probabilities, and estimated numbers of relevant pages, hold on real topics of another form?

    python benchmarks/calibration_topics.py [--no-dense] [--seed 2]

The 57 real training topics inside their judged windows. Lines, calibration and the model of counts are fitted on four
folds of the topics, with keywords as given and dropped at random, and asked about the fifth: as given, without
keywords, and with 30 keywords, most of them machine-made (a form that training never saw). The two pages that those
were drawn from leave every topic, in training too. A window was cut after about seven relevant pages, so all topics
look alike; so each is also asked about in random parts of the window (60 % and 30 % of the pages), where the number
of relevant pages varies. Prints the reliability diagram, the expected calibration error of pages with p >= 0.05, beside
the one that chance alone would give, and how often the 80 % interval of the number of relevant pages covers it. The
model of counts was chosen with seed 0.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.core.rng import derive
from evenrank.retrieval.encode.dense import DenseScorer, usual_encoders
from evenrank.retrieval.encode.encoder import Encoder
from evenrank.retrieval.engine.protocol import Hits
from evenrank.retrieval.features import FeatureExtractor
from evenrank.retrieval.learn.calibration import JudgedScores, fit_calibration, predict
from evenrank.retrieval.learn.cross_validation import LearningSettings, topic_folds, topic_forms
from evenrank.retrieval.learn.relevant_count import estimate_count, fit_count
from evenrank.retrieval.learn.training import (
    LEARNED_CHOICES,
    TrainingExample,
    choose_calibration,
    held_out_probabilities,
    train,
)
from real_sample import cache_folder, has_sample, load_articles, load_topics, sample_engine
from relevance import DEPTH, lexical_model
from topic_forms import N_LONG, FormedTopic, form_topics

EDGES = (0.05, 0.1, 0.2, 0.3, 0.5, 1.01)
FORMS = ("as given", "0", str(N_LONG))
SHARES = (1.0, 0.6, 0.3)
N_SIMULATED = 200
"""Judgments drawn from the probabilities themselves, for the error that chance alone makes."""
LEAST_PAGES = 2 * DEPTH
"""Pages that a part of a window must have, so that no more of them are candidates than in training."""
Floats = NDArray[np.float64]


def calibration_error(p: Floats, y: NDArray[np.bool_]) -> float:
    """Mean distance of probabilities from shares of relevant pages, where p is at least 0.05."""
    n_bins = len(EDGES) - 1
    of_page = np.searchsorted(EDGES, p, side="right") - 1
    is_sure = of_page >= 0
    excess = np.bincount(of_page[is_sure], (p - y)[is_sure], minlength=n_bins)
    return float(np.abs(excess).sum() / max(is_sure.sum(), 1))


def show(
    form: str, examples: Sequence[TrainingExample], given: Sequence[Floats], counts: Sequence[tuple[float, ...]]
) -> None:
    p, y = np.concatenate(given), np.concatenate([example.labels for example in examples])
    print(f"\nkeywords {form}: {len(examples)} topics")
    for low, high in pairwise(EDGES):
        inside = (p >= low) & (p < high)
        if inside.any():
            print(f"  p {p[inside].mean():.3f}  relevant {y[inside].mean():.3f}  pages {inside.sum():5d}")
    rng = np.random.default_rng(0)
    by_chance = float(np.mean([calibration_error(p, rng.random(len(p)) < p) for _ in range(N_SIMULATED)]))
    n = np.array([example.n_relevant for example in examples])
    median, low_end, high_end = np.array(counts).T
    covered = ((low_end <= n) & (n <= high_end)).mean()
    print(f"  calibration error where p >= 0.05: {calibration_error(p, y):.3f} ({by_chance:.3f} if all p were right)")
    has_any = n > 0
    print(
        f"  number of relevant pages: {n.mean():.1f} ± {n.std():.1f}, median ratio "
        f"{np.median(median[has_any] / n[has_any]):.2f}, interval covers {covered:.0%}, "
        f"its width is a factor of {np.median((high_end + 0.5) / (low_end + 0.5)):.1f}"
    )


def n_pages(page_ids: NDArray[np.integer], topic: FormedTopic) -> int:
    """Pages of a topic's window."""
    return int(np.searchsorted(page_ids, topic.judged.up_to_page_id, side="right"))


def is_in_part(page_ids: NDArray[np.integer], share: float, seed: int) -> NDArray[np.bool_]:
    """Whether pages belong to a random part of the corpus."""
    return np.array([derive(seed, "part", int(page)).random() < share for page in page_ids])


def example_of(
    extractor: FeatureExtractor, topic: FormedTopic, form: Topic, share: float, seed: int
) -> TrainingExample:
    """A topic in a form, in a part of its window, without the pages that its long form was drawn from."""
    found = extractor.candidates(form, round(DEPTH / share), topic.judged.up_to_page_id)
    left = np.setdiff1d(topic.judged.relevant, topic.sources)
    kept = ~np.isin(found.page_ids, topic.sources)
    if share < 1.0:
        left, kept = left[is_in_part(left, share, seed)], kept & is_in_part(found.page_ids, share, seed)
    found = Hits(found.page_ids[kept], found.scores[kept])
    features = extractor.features(form, found)
    plain = replace(extractor, dense=None, reader=None).features(form, found)
    labels = np.isin(found.page_ids, left)
    return TrainingExample(
        form.id, form.keywords == topic.judged.topic.keywords, found.scores, features, plain, labels, len(left)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-dense", action="store_true", help="leave out text vectors")
    parser.add_argument("--seed", type=int, default=2, help="of folds and of parts of the windows")
    options = parser.parse_args()
    if not has_sample():
        sys.exit("skipped: the real sample ../shared/data/wikipedia-sample is not there")
    articles = load_articles()
    topics = load_topics({page.page_id for page in articles})
    engine = sample_engine(articles)
    names = [] if options.no_dense else usual_encoders(None)
    scorers = [DenseScorer.open(engine, Encoder(each), cache_folder()) for each in names]
    for scorer in scorers:
        scorer.encode(engine.page_ids())
    dense, second = (*scorers, None, None)[:2]
    extractor = FeatureExtractor(lexical_model(engine), dense, second=second)
    page_ids = engine.page_ids()
    settings = LearningSettings(seed=options.seed)
    formed = [topic for topic in form_topics(topics, articles, engine) if topic.sources]
    seen = [
        example_of(extractor, topic, form, 1.0, options.seed)
        for topic in formed
        for form in topic_forms(topic.judged.topic, settings)
    ]
    trained = train(seen, extractor, settings)
    state, learned_from = trained.state, trained.examples
    scores = trained.scores()
    sums = [
        float(p.sum()) for p in held_out_probabilities(learned_from, scores, settings.seed, state.calibration.settings)
    ]
    for form, share in product(FORMS, SHARES):
        examples, given, counts = [], [], []
        large = [topic for topic in formed if share == 1.0 or share * n_pages(page_ids, topic) >= LEAST_PAGES]
        made = [example_of(extractor, topic, topic.forms[form].topic, share, options.seed) for topic in large]
        for held in topic_folds([example.topic_id for example in learned_from], settings.seed):
            others = [at for at, example in enumerate(learned_from) if example.topic_id not in held]
            judged = [JudgedScores.complete(scores[at], learned_from[at].labels) for at in others]
            topic_ids = [learned_from[at].topic_id for at in others]
            calibration = fit_calibration(judged, choose_calibration(judged, topic_ids, LEARNED_CHOICES, settings.seed))
            count = fit_count(
                [sums[at] for at in others],
                [learned_from[at].n_relevant for at in others],
                topic_ids,
            )
            for example in made:
                if example.topic_id in held:
                    p = predict(calibration, example.scores(state.cross_fit, state.plain))
                    examples.append(example)
                    given.append(p)
                    counts.append(estimate_count(count, p))
        show(f"{form}, {share:.0%} of the pages", examples, given, counts)


if __name__ == "__main__":
    main()
