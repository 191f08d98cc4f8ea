"""How far to trust small probabilities of relevance, learned on the training topics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenrank.policies.build import BuildSettings, target_of
from evenrank.policies.learning import TrainingTopic
from evenrank.records import Task

SHARPNESS = tuple(round(0.5 + 0.1 * step, 1) for step in range(36))
"""Powers of the probabilities that are tried: 0.5 to 4."""


def best_sharpness(training: Sequence[TrainingTopic], task: Task, settings: BuildSettings) -> float:
    """The power of the probabilities for which estimated targets are nearest to the wanted ones; 1 without topics."""
    if not training:
        return 1.0
    losses = [_target_loss(training, task, settings, power) for power in SHARPNESS]
    return SHARPNESS[int(np.argmin(losses))]


def _target_loss(training: Sequence[TrainingTopic], task: Task, settings: BuildSettings, power: float) -> float:
    """Mean squared distance of the estimated targets from the wanted ones."""
    misses = [
        target_of(topic.sharpened(power).candidates, task, topic.wanted.space, settings).values - topic.wanted.values
        for topic in training
    ]
    return float(np.mean([miss @ miss for miss in misses]))
