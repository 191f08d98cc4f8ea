"""What training topics teach about estimated targets: how far to trust small probabilities, and which groups search
brings up more often than they are relevant.

The odds of groups go into the estimated target alone, which is a total, and never into the relevance of a page: no page
is more or less relevant for the group it is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.build import BuildSettings, target_of
from evenrank.policies.learning import TrainingTopic
from evenrank.records import Task

SHARPNESS = tuple(round(0.5 + 0.1 * step, 1) for step in range(36))
"""Powers of the probabilities that are tried: 0.5 to 4."""
PRIOR_TOPICS = 0.5
"""Weight of "as search brings it up" in the odds of a group, in topics: odds of rare groups stay near 1."""


def learn_target(training: Sequence[TrainingTopic], task: Task, settings: BuildSettings) -> BuildSettings:
    """The settings with sharpness and odds filled in for which estimated targets are nearest to the wanted ones.

    What the settings fix already stays as it is; without topics nothing is corrected.
    """
    if not training:
        return replace(settings, sharpness=settings.sharpness or 1.0)
    powers = (settings.sharpness,) if settings.sharpness > 0.0 else SHARPNESS
    tried = [_with_odds(training, replace(settings, sharpness=power)) for power in powers]
    return min(tried, key=lambda chosen: _target_loss(training, task, chosen))


def _with_odds(training: Sequence[TrainingTopic], settings: BuildSettings) -> BuildSettings:
    if settings.group_odds == "none" or settings.odds:
        return settings
    return replace(settings, odds=tuple(group_odds(training, settings.sharpness).tolist()))


def group_odds(training: Sequence[TrainingTopic], power: float) -> NDArray[np.float64]:
    """Share of each group among relevant pages over its share in the estimates, all topics weighing the same."""
    true = sum(_shares(topic.relevant_mass) for topic in training)
    believed = sum(_shares(topic.candidates.alignment.total(topic.candidates.relevance**power)) for topic in training)
    prior = PRIOR_TOPICS * _shares(np.asarray(believed))
    return np.where(believed + prior > 0.0, (true + prior) / np.maximum(believed + prior, 1e-12), 1.0)


def _shares(mass: NDArray[np.float64]) -> NDArray[np.float64]:
    total = mass.sum()
    return mass / total if total > 0.0 else mass


def _target_loss(training: Sequence[TrainingTopic], task: Task, settings: BuildSettings) -> float:
    """Mean squared distance of the estimated targets from the wanted ones."""
    misses = [
        target_of(topic.candidates, task, topic.wanted.space, settings).values - topic.wanted.values
        for topic in training
    ]
    return float(np.mean([miss @ miss for miss in misses]))
