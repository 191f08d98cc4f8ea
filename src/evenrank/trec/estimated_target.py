"""Estimated targets: from relevance probabilities of candidates to a believed distribution over groups.

This is the true target's formula with expectations in place of judgments: a page counts with its probability, a
quality class with the expected number of its relevant pages. No judgment is read here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.exposure import LOG, Attention
from evenrank.core.groups import GroupSpace
from evenrank.core.records import NO_CLASS, Task
from evenrank.core.target import EstimatedTarget
from evenrank.trec.target_choice import TargetChoice, target_from

TRACK_TARGET = TargetChoice("track")


def estimated_target(
    topic_id: int,
    task: Task,
    relevance: NDArray[np.float64],
    quality_class: NDArray[np.integer],
    alignment: Alignment,
    space: GroupSpace,
    *,
    keep_unknown: bool | None = None,
    group_odds: NDArray[np.float64] | None = None,
    choice: TargetChoice = TRACK_TARGET,
    within: NDArray[np.bool_] | None = None,
    attention: Attention = LOG,
) -> EstimatedTarget:
    """What a topic's target should be, given the relevance probabilities of its candidates.

    `keep_unknown` says whether the fully unknown cell takes part; by default it does in Task 2 only. `group_odds`
    correct the total of each group, where groups are found more often than they are relevant. `choice` says where the
    target comes from, `within` which groups a restriction leaves, `attention` how people read.
    """
    if keep_unknown is None:
        keep_unknown = task == 2
    mass = group_mass(task, relevance, quality_class, alignment, attention)
    if group_odds is not None:
        mass = mass * group_odds
    n_pages = alignment.total() if choice.word == "equal" else None
    values = target_from(choice, mass, space, keep_unknown=keep_unknown, within=within, n_pages=n_pages)
    return EstimatedTarget(topic_id, space, values)


def group_mass(
    task: Task,
    relevance: NDArray[np.float64],
    quality_class: NDArray[np.integer],
    alignment: Alignment,
    attention: Attention = LOG,
) -> NDArray[np.float64]:
    """What the pages give to each group: expected relevant pages (Task 1), or their ideal exposure (Task 2)."""
    return alignment.total(page_mass(task, relevance, quality_class, attention))


def page_mass(
    task: Task, relevance: NDArray[np.float64], quality_class: NDArray[np.integer], attention: Attention = LOG
) -> NDArray[np.float64]:
    """What each page adds to the target: its probability (Task 1), times its ideal exposure (Task 2)."""
    return relevance if task == 1 else relevance * soft_exposure(relevance, quality_class, attention)


def soft_exposure(
    relevance: NDArray[np.float64], quality_class: NDArray[np.integer], attention: Attention = LOG
) -> NDArray[np.float64]:
    """Ideal exposure of each page if it is relevant: the mean attention over the expected block of its class.

    Pages without a quality class have no ideal exposure, as in the true target.
    """
    expected_counts = np.bincount(quality_class, relevance, minlength=NO_CLASS + 1)[:NO_CLASS]
    of_class = np.append(soft_block_exposure(expected_counts.astype(np.float64), attention), 0.0)
    return np.asarray(of_class[quality_class], np.float64)


def soft_block_exposure(counts: NDArray[np.float64], attention: Attention = LOG) -> NDArray[np.float64]:
    """Mean attention of consecutive blocks of `counts` ranks, which may be fractions; 0 for an empty block.

    The cumulative attention is interpolated between whole ranks, so whole counts give `exposure.block_exposure`.
    """
    ends = np.cumsum(counts)
    n_ranks = int(np.ceil(ends[-1])) if len(ends) else 0
    cumulative = np.concatenate([[0.0], np.cumsum(attention.weights(n_ranks))])
    at = np.interp(np.concatenate([[0.0], ends]), np.arange(n_ranks + 1), cumulative)
    filled = counts > 1e-9
    return np.where(filled, np.diff(at) / np.where(filled, counts, 1.0), 0.0)
