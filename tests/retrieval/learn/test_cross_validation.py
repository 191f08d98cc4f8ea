"""A model that was trained on a topic must not speak of it."""

from __future__ import annotations

import numpy as np

from evenrank.core.rng import derive
from evenrank.retrieval.learn.cross_validation import (
    RIDGES,
    CrossFit,
    Fold,
    LearningSettings,
    Sample,
    choose_ridge,
    cross_fit,
)
from evenrank.retrieval.learn.linear import Line

NAMES = ("words", "filed")
SETTINGS = LearningSettings(ridge=1e-4)


def samples_of(n_topics: int = 7, n_forms: int = 2, n_pages: int = 60) -> list[Sample]:
    """Topics in two forms each."""
    samples = []
    for topic in range(n_topics):
        for form in range(n_forms):
            rng = derive(8, topic, form)
            features = {"words": rng.normal(size=n_pages), "filed": rng.normal(size=n_pages)}
            samples.append(Sample(100 + topic, features, features["words"] + rng.normal(size=n_pages) > 0.5))
    return samples


def test_every_topic_is_held_out_once_in_all_its_forms() -> None:
    model = cross_fit(samples_of(), NAMES, SETTINGS)
    assert model.topic_ids == tuple(range(100, 107))
    assert len(model.folds) == 5
    assert [len(model.blind(topic)) for topic in model.topic_ids] == [1] * 7
    assert len(model.blind(1)) == 5


def test_fewer_topics_than_folds() -> None:
    model = cross_fit(samples_of(2), NAMES, SETTINGS)
    assert sorted(fold.held_out for fold in model.folds) == [(100,), (101,)]


def test_a_topic_does_not_change_the_line_that_speaks_of_it() -> None:
    samples = samples_of()
    changed = [Sample(s.topic_id, s.features, ~s.labels) if s.topic_id == 103 else s for s in samples]
    lines = [cross_fit(given, NAMES, SETTINGS).blind(103) for given in (samples, changed)]
    assert lines[0] == lines[1]
    others = [cross_fit(given, NAMES, SETTINGS).blind(100) for given in (samples, changed)]
    assert others[0] != others[1]


def test_other_topics_get_the_mean_of_all_folds() -> None:
    samples = samples_of(4)
    model = cross_fit(samples, NAMES, SETTINGS)
    features = samples[0].features
    mean = np.mean([fold.line.scores(features) for fold in model.folds], axis=0)
    np.testing.assert_allclose(model.scores(7, features), mean)
    own = next(fold.line for fold in model.folds if 100 in fold.held_out)
    np.testing.assert_array_equal(model.scores(100, features), own.scores(features))
    np.testing.assert_allclose(sum(model.contributions(7, features).values()), mean, atol=1e-6)


def test_the_same_seed_gives_the_same_folds() -> None:
    def folds(seed: int) -> tuple[Fold, ...]:
        return cross_fit(samples_of(), NAMES, LearningSettings(seed=seed)).folds

    assert folds(3) == folds(3)
    assert folds(3) != folds(4)


def test_no_pages_no_scores() -> None:
    model = CrossFit((Fold(Line(("a",), 0.0, (1.0,)), (1,), 1.0),))
    assert len(model.scores(1, {"a": np.empty(0)})) == 0


def samples_with(slopes: dict[str, float], n_topics: int = 10, n_pages: int = 200) -> list[Sample]:
    """Topics whose pages are relevant by the log-odds of a line."""
    samples = []
    for topic in range(n_topics):
        rng = derive(9, topic)
        features = {name: rng.normal(size=n_pages) for name in slopes}
        log_odds = sum((slope * features[name] for name, slope in slopes.items()), np.full(n_pages, -2.0))
        samples.append(Sample(topic, features, rng.random(n_pages) < 1.0 / (1.0 + np.exp(-log_odds))))
    return samples


def test_untrained_weights_are_kept_unless_topics_clearly_teach_others() -> None:
    names = ("words", "topic_vector", "title_vector")
    as_untrained = samples_with({"words": 1.0, "topic_vector": 1.0, "title_vector": 0.5})
    otherwise = samples_with({"words": 0.0, "topic_vector": 0.5, "title_vector": 2.0})
    assert choose_ridge(as_untrained, names, 0) == RIDGES[-1]
    assert choose_ridge(otherwise, names, 0) <= 0.03
    assert choose_ridge(as_untrained[:1], names, 0) == RIDGES[-1]
    kept, learned = (cross_fit(given, names, LearningSettings()).folds[0] for given in (as_untrained, otherwise))
    assert kept.ridge == RIDGES[-1]
    np.testing.assert_allclose(np.array(kept.line.slopes) / kept.line.slopes[0], [1.0, 1.0, 0.5], atol=0.05)
    assert learned.line.slopes[0] < 0.2 < 1.0 < learned.line.slopes[2]


def test_a_ridge_that_is_given_is_used() -> None:
    model = cross_fit(samples_of(), NAMES, SETTINGS)
    assert [fold.ridge for fold in model.folds] == [1e-4] * 5
