"""Odds of groups and sharpness, learned on training topics and used for the target alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenrank.policies.build import BuildSettings, target_of
from evenrank.policies.learning import TrainingTopic
from evenrank.policies.target_learning import group_odds, learn_target

from .made_up import GEOGRAPHY_AND_GENDER, make_candidates

SETTINGS = BuildSettings()


def biased_topic(seed: int) -> TrainingTopic:
    """A topic whose truth has twice as many pages of every second kind as its probabilities say."""
    candidates = make_candidates(400, seed=seed)
    weights = np.where(candidates.alignment.page_type % 2, 1.0, 0.5)
    true = replace(candidates, relevance=candidates.relevance * weights)
    wanted = target_of(true, 2, GEOGRAPHY_AND_GENDER, SETTINGS)
    return TrainingTopic(candidates, wanted, true.alignment.total(true.relevance))


@pytest.fixture
def training() -> list[TrainingTopic]:
    return [biased_topic(seed) for seed in range(12)]


def test_without_topics_nothing_is_corrected() -> None:
    learned = learn_target([], 2, SETTINGS)
    assert (learned.sharpness, learned.odds) == (1.0, ())


def test_odds_are_one_when_estimates_are_right(training: list[TrainingTopic]) -> None:
    right = [replace(t, relevant_mass=t.candidates.alignment.total(t.candidates.relevance)) for t in training]
    np.testing.assert_allclose(group_odds(right, 1.0), 1.0)


def test_odds_bring_the_target_nearer_to_the_truth_on_a_new_topic(training: list[TrainingTopic]) -> None:
    learned = learn_target(training, 2, replace(SETTINGS, sharpness=1.0))
    plain = learn_target(training, 2, replace(SETTINGS, sharpness=1.0, group_odds="none"))
    assert len(learned.odds) == GEOGRAPHY_AND_GENDER.n_groups
    assert plain.odds == ()
    new = biased_topic(99)

    def miss(settings: BuildSettings) -> float:
        found = target_of(new.candidates, 2, GEOGRAPHY_AND_GENDER, settings).values
        return float(((found - new.wanted.values) ** 2).sum())

    assert miss(learned) < 0.5 * miss(plain)


def test_settings_that_are_fixed_stay(training: list[TrainingTopic]) -> None:
    fixed = replace(SETTINGS, sharpness=1.7, odds=(1.0,) * 32)
    assert learn_target(training, 1, fixed) == fixed
    assert not fixed.is_open
    assert SETTINGS.is_open
