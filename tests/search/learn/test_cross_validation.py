"""A model that was trained on a topic must not speak of it."""

from __future__ import annotations

import numpy as np
import pytest

from evenrank.rng import derive
from evenrank.search.learn.cross_validation import CrossFit, Fold, cross_fit
from evenrank.search.learn.linear import Line
from evenrank.search.learn.ranker import Ranker, fit_ranker
from evenrank.search.learn.training_data import LearningSettings, Sample
from evenrank.search.learn.trees import Trees

pytest.importorskip("lightgbm")
GREEDY = LearningSettings(
    line_weight=0.0,
    n_trees=60,
    n_leaves=15,
    n_pages_in_leaf=2,
    shrinkage=0.1,
    feature_share=1.0,
    page_share=1.0,
    n_models=1,
)
"""Settings that learn by heart."""


def noise(n_topics: int = 7, n_pages: int = 60) -> list[Sample]:
    """Topics whose labels have nothing to do with their features."""
    samples = []
    for topic in range(n_topics):
        rng = derive(8, topic)
        features = {"title_length": rng.normal(size=n_pages), "opening_length": rng.normal(size=n_pages)}
        samples.append(Sample(100 + topic, features, rng.random(n_pages) < 0.3))
    return samples


def gap(scores: np.ndarray, labels: np.ndarray) -> float:
    return float(scores[labels].mean() - scores[~labels].mean())


def test_every_topic_is_held_out_once() -> None:
    model = cross_fit(noise(), ["title_length", "opening_length"], GREEDY)
    assert model.topic_ids == tuple(range(100, 107))
    assert len(model.folds) == 5
    assert [len(model.blind(topic)) for topic in model.topic_ids] == [1] * 7
    assert len(model.blind(1)) == 5


def test_fewer_topics_than_folds() -> None:
    model = cross_fit(noise(2), ["title_length", "opening_length"], GREEDY)
    assert sorted(fold.held_out for fold in model.folds) == [(100,), (101,)]


def test_what_was_learned_by_heart_is_not_repeated() -> None:
    samples = noise()
    names = ["title_length", "opening_length"]
    by_heart = fit_ranker(samples, names, GREEDY)
    model = cross_fit(samples, names, GREEDY)
    seen = np.mean([gap(by_heart.scores(s.features), s.labels) for s in samples])
    blind = np.mean([gap(model.scores(s.topic_id, s.features), s.labels) for s in samples])
    assert seen > 1.0
    assert abs(blind) < 0.3 * seen


def test_other_topics_get_the_mean_of_all_folds() -> None:
    samples = noise(4)
    model = cross_fit(samples, ["title_length", "opening_length"], GREEDY)
    features = samples[0].features
    mean = np.mean([fold.ranker.scores(features) for fold in model.folds], axis=0)
    np.testing.assert_allclose(model.scores(7, features), mean)
    own = next(fold.ranker for fold in model.folds if 100 in fold.held_out)
    np.testing.assert_array_equal(model.scores(100, features), own.scores(features))
    parts = model.contributions(7, features)
    np.testing.assert_allclose(sum(parts.values()), mean, atol=1e-6)


def test_the_same_seed_gives_the_same_folds() -> None:
    def texts(seed: int) -> list[tuple[Ranker, tuple[int, ...]]]:
        settings = LearningSettings(n_trees=5, n_models=1, seed=seed)
        folds = cross_fit(noise(), ["title_length", "opening_length"], settings).folds
        return [(fold.ranker, fold.held_out) for fold in folds]

    assert texts(3) == texts(3)
    assert texts(3) != texts(4)


def test_no_pages_no_scores() -> None:
    model = CrossFit((Fold(Ranker(("a",), Trees(()), Line(0.0, (0.0,), (1.0,)), 1.0), (1,)),))
    assert len(model.scores(1, {"a": np.empty(0)})) == 0
