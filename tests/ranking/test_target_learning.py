"""Odds of groups and sharpness, learned on training topics and used for the target alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from evenrank.core.records import Task
from evenrank.policies.policy import Candidates, TrainingTopic
from evenrank.ranking.build import BuildSettings, group_odds, learn_target, target_of
from evenrank.trec.target_choice import group_mass
from tests.policies.made_up import GEOGRAPHY_AND_GENDER, make_candidates

SETTINGS = BuildSettings()


def biased_topic(seed: int, task: Task = 2) -> TrainingTopic:
    """A topic whose truth has twice as many pages of every second kind as its probabilities say."""
    candidates = make_candidates(400, seed=seed)
    weights = np.where(candidates.alignment.page_type % 2, 1.0, 0.5)
    true = replace(candidates, relevance=candidates.relevance * weights)
    wanted = target_of(true, task, GEOGRAPHY_AND_GENDER, SETTINGS)
    return TrainingTopic(candidates, wanted, mass_of(true, task), true.relevance > 0.5)


def mass_of(candidates: Candidates, task: Task = 2) -> NDArray[np.float64]:
    return group_mass(task, candidates.relevance, candidates.quality_class, candidates.alignment)


@pytest.fixture
def training() -> list[TrainingTopic]:
    return [biased_topic(seed) for seed in range(12)]


def test_without_topics_nothing_is_corrected() -> None:
    learned = learn_target([], 2, SETTINGS)
    assert (learned.sharpness, learned.odds) == (1.0, ())


def test_odds_are_one_when_estimates_are_right(training: list[TrainingTopic]) -> None:
    right = np.array([mass_of(topic.candidates) for topic in training])
    np.testing.assert_allclose(group_odds(right, 7.0 * right), 1.0)


def test_odds_match_the_mean_shares() -> None:
    # Two kinds of topic: shares believed 1/2 and 1/5 left, in truth 1/3 and 1/9; half odds for "left" would do it.
    believed = np.array([[1.0, 1.0], [1.0, 4.0]] * 50)
    wanted = np.array([[1.0, 2.0], [1.0, 8.0]] * 50)
    odds = group_odds(believed, wanted)
    assert odds[0] / odds[1] == pytest.approx(0.5, rel=0.05)
    corrected = believed * odds
    shares = (corrected / corrected.sum(axis=1, keepdims=True)).mean(axis=0)
    assert shares == pytest.approx([2 / 9, 7 / 9], rel=0.02)


def test_few_topics_rule_no_group_out() -> None:
    # A group with a tenth of what is believed, and no relevant page in eight topics; another with one by chance.
    believed, wanted = np.tile([0.85, 0.1, 0.001], (8, 1)), np.tile([1.0, 0.0, 0.0], (8, 1))
    wanted[0, 2] = 0.1
    odds = group_odds(believed, wanted)
    assert 0.1 < odds[1] < 0.5
    assert 1.0 < odds[2] < 2.0


def test_groups_and_topics_without_mass_do_no_harm() -> None:
    believed = np.array([[1.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
    wanted = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    odds = group_odds(believed, wanted)
    assert np.isfinite(odds).all()
    assert (odds > 0.0).all()
    assert odds[1] == 1.0


@pytest.mark.parametrize("task", [1, 2])
def test_mean_estimate_is_the_mean_of_what_was_wanted(task: Task) -> None:
    training = [biased_topic(seed, task) for seed in range(12)] * 20
    learned = learn_target(training, task, replace(SETTINGS, sharpness=1.0))
    estimates = [target_of(topic.candidates, task, GEOGRAPHY_AND_GENDER, learned).values for topic in training]
    plain = [target_of(topic.candidates, task, GEOGRAPHY_AND_GENDER, SETTINGS).values for topic in training]
    wanted = np.mean([topic.wanted.values for topic in training], axis=0)

    def bias(values: list[NDArray[np.float64]]) -> float:
        return float(np.abs(np.mean(values, axis=0) - wanted).sum())

    assert bias(estimates) < 0.1 * bias(plain)


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
