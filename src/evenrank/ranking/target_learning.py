"""What training topics teach about estimated targets: how far to trust small probabilities, and which groups search
brings up more often than they are relevant.

One rule for the second: over many training topics, the mean estimated target is the mean wanted target. A bias that all
topics share would otherwise be most of what any policy misses, and a policy that misses its target by chance could come
out nearer to the truth than one that meets it.

The odds of groups go into the estimated target alone, which is a total, and never into the relevance of a page: no page
is more or less relevant for the group it is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Task
from evenrank.policies.policy import TrainingTopic
from evenrank.ranking.build import BuildSettings, target_of
from evenrank.trec.target_choice import group_mass

SHARPNESS = tuple(round(0.5 + 0.1 * step, 1) for step in range(46))
"""Powers of the probabilities that are tried: 0.5 to 5."""
PRIOR_TOPICS = 0.25
"""Weight of "as search brings it up" in the odds of a group, in topics that are all about it: odds of rare groups stay
near 1, and no group is ruled out because a few topics happen to have no relevant page of it."""
N_ROUNDS = 4
"""Rounds of matching; the odds hardly move after the third."""


def learn_target(training: Sequence[TrainingTopic], task: Task, settings: BuildSettings) -> BuildSettings:
    """The settings with sharpness and odds filled in for which estimated targets are nearest to the wanted ones.

    What the settings fix already stays as it is; without topics nothing is corrected.
    """
    if not training:
        return replace(settings, sharpness=settings.sharpness or 1.0)
    powers = (settings.sharpness,) if settings.sharpness > 0.0 else SHARPNESS
    tried = [_with_odds(training, task, replace(settings, sharpness=power)) for power in powers]
    return min(tried, key=lambda chosen: _target_loss(training, task, chosen))


def _with_odds(training: Sequence[TrainingTopic], task: Task, settings: BuildSettings) -> BuildSettings:
    if settings.group_odds == "none" or settings.odds:
        return settings
    counted = np.ones(training[0].wanted.space.n_groups)
    counted[0] = settings.keep_unknown or task == 2
    wanted = np.array([topic.relevant_mass * counted for topic in training])
    believed = np.array([_believed_mass(topic, task, settings) * counted for topic in training])
    return replace(settings, odds=tuple(group_odds(believed, wanted).tolist()))


def _believed_mass(topic: TrainingTopic, task: Task, settings: BuildSettings) -> NDArray[np.float64]:
    candidates = topic.candidates
    relevance = candidates.relevance**settings.sharpness
    return group_mass(task, relevance, candidates.quality_class, candidates.alignment, settings.attention_model)


def group_odds(believed: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """A factor for each group by which the mean shares of the believed masses become those of the wanted ones, as far
    as the topics say enough about the group.

    Both are topic by group. Shares are of a topic's total, so a factor moves all groups, and matching takes rounds.
    """
    odds, true = np.ones(believed.shape[1]), _shares(wanted).sum(axis=0)
    for _ in range(N_ROUNDS):
        found = _shares(believed * odds).sum(axis=0)
        matched = odds * (true + PRIOR_TOPICS) / (found + PRIOR_TOPICS * odds)
        odds = np.where(found > 0.0, matched, 1.0)
    return odds


def _shares(masses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row as parts of its total; rows without mass stay zero."""
    totals = masses.sum(axis=1, keepdims=True)
    return masses / np.where(totals > 0.0, totals, 1.0)


def _target_loss(training: Sequence[TrainingTopic], task: Task, settings: BuildSettings) -> float:
    """Mean squared distance of the estimated targets from the wanted ones."""
    misses = [
        target_of(topic.candidates, task, topic.wanted.space, settings).values - topic.wanted.values
        for topic in training
    ]
    return float(np.mean([miss @ miss for miss in misses]))
