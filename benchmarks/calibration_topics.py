"""Do probabilities, and estimated numbers of relevant pages, hold on real topics of another form?

    python benchmarks/calibration_topics.py [--no-dense]

The 57 real training topics inside their judged windows. Lines, calibration and the model of counts are fitted on
four folds of the topics, with keywords as given and dropped at random, and asked about the fifth: as given, without
keywords, and with 30 keywords, most of them machine-made (a form that training never saw). Prints the reliability
diagram, the expected calibration error of pages with p >= 0.05, and how often the 80 % interval of the number of
relevant pages covers it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evenrank.search.encode.dense import DenseScorer
from evenrank.search.encode.encoder import Encoder
from evenrank.search.features import FeatureExtractor
from evenrank.search.learn.calibration import fit_calibration, predict
from evenrank.search.learn.cross_validation import topic_folds
from evenrank.search.learn.learned_model import LEARNED_CALIBRATION
from evenrank.search.learn.relevant_count import estimate_count, fit_count
from evenrank.search.learn.training import Example, held_out_probabilities, make_example, make_examples, train
from evenrank.search.learn.training_data import LearningSettings
from real_sample import cache_folder, has_sample, load_articles, load_topics, sample_engine
from relevance import DEPTH, lexical_model
from topic_forms import N_LONG, FormedTopic, form_topics

EDGES = (0.05, 0.1, 0.2, 0.3, 0.5, 1.01)
FORMS = ("as given", "0", "30")
Floats = NDArray[np.float64]


def show(form: str, examples: Sequence[Example], given: Sequence[Floats], counts: Sequence[tuple[float, ...]]) -> None:
    p, y = np.concatenate(given), np.concatenate([example.labels for example in examples])
    error = n_sure = 0.0
    print(f"\nkeywords {form}: {len(examples)} topics")
    for low, high in pairwise(EDGES):
        inside = (p >= low) & (p < high)
        if inside.any():
            print(f"  p {p[inside].mean():.3f}  relevant {y[inside].mean():.3f}  pages {inside.sum():5d}")
            error += abs(p[inside].sum() - y[inside].sum())
            n_sure += inside.sum()
    n = np.array([example.n_relevant for example in examples])
    median, low_end, high_end = np.array(counts).T
    covered = ((low_end <= n) & (n <= high_end)).mean()
    print(f"  calibration error where p >= 0.05: {error / n_sure:.3f}")
    print(
        f"  number of relevant pages: median ratio {np.median(median / n):.2f}, interval covers {covered:.0%}, "
        f"its width is a factor of {np.median((high_end + 0.5) / (low_end + 0.5)):.1f}"
    )


def unsourced(extractor: FeatureExtractor, topic: FormedTopic, form: str) -> Example:
    """A topic in a form, without the pages that its keywords were drawn from."""
    judged = topic.forms[form]
    example = make_example(extractor, judged.topic, DEPTH, judged.up_to_page_id)
    if form != str(N_LONG):
        return example
    pages = extractor.candidates(judged.topic, DEPTH, judged.up_to_page_id).page_ids
    kept = ~np.isin(pages, topic.sources)
    return replace(
        example,
        lexical=example.lexical[kept],
        features={name: values[kept] for name, values in example.features.items()},
        plain={name: values[kept] for name, values in example.plain.items()},
        labels=example.labels[kept],
        n_relevant=example.n_relevant - len(topic.sources),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-dense", action="store_true", help="leave out text vectors")
    options = parser.parse_args()
    if not has_sample():
        sys.exit("skipped: the real sample ../shared/data/wikipedia-sample is not there")
    articles = load_articles()
    topics = load_topics({page.page_id for page in articles})
    engine = sample_engine(articles)
    dense = None if options.no_dense else DenseScorer.open(engine, Encoder(), cache_folder())
    if dense is not None:
        dense.encode(engine.page_ids())
    extractor = FeatureExtractor(lexical_model(engine), dense)
    settings = LearningSettings()
    seen = [e for j in topics for e in make_examples(extractor, j.topic, settings, DEPTH, j.up_to_page_id)]
    trained = train(seen, extractor, settings)
    state, learned_from = trained.state, trained.examples
    scores = trained.scores()
    sums = [float(p.sum()) for p in held_out_probabilities(learned_from, scores, settings.seed)]
    formed = form_topics(topics, articles, engine)
    for form in FORMS:
        examples, given, counts = [], [], []
        made = [unsourced(extractor, topic, form) for topic in formed if form in topic.forms]
        for held in topic_folds([example.topic_id for example in learned_from], settings.seed):
            others = [at for at, example in enumerate(learned_from) if example.topic_id not in held]
            calibration = fit_calibration([(scores[at], learned_from[at].labels) for at in others], LEARNED_CALIBRATION)
            count = fit_count(
                [sums[at] for at in others],
                [learned_from[at].n_relevant for at in others],
                [learned_from[at].topic_id for at in others],
            )
            for example in made:
                if example.topic_id in held:
                    p = predict(calibration, example.scores(state.cross_fit, state.plain))
                    examples.append(example)
                    given.append(p)
                    counts.append(estimate_count(count, p))
        show(form, examples, given, counts)


if __name__ == "__main__":
    main()
