"""Group shares that policies compute for themselves: what the candidates are, and what the world is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.groups import GroupSpace
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget, background_target, blend
from evenrank.policies.policy import Candidates, Request


def ignores_unknown(target: EstimatedTarget, request: Request) -> bool:
    """Whether exposure of fully unknown pages counts for no group, as in Task 1 of 2021."""
    return request.task == 1 and float(target.values[0]) == 0.0


def counted_rows(
    candidates: Candidates, target: EstimatedTarget, request: Request, alignment: Alignment | None = None
) -> NDArray[np.float64]:
    """Alignment rows by page type (divided, unless others are given), without the fully unknown cell where that does
    not count."""
    rows = (alignment or candidates.divided).rows.copy()
    if ignores_unknown(target, request):
        rows[:, 0] = 0.0
    return rows


def relevance_share(candidates: Candidates, task: Task, *, drop_unknown: bool = False) -> NDArray[np.float64] | None:
    """Share of each group in the total utility of the candidates; None when there is nothing to share."""
    mass = candidates.divided.total(candidates.utility(task))
    if drop_unknown:
        mass[0] = 0.0
    total = mass.sum()
    return mass / total if total > 0.0 else None


def background_share(share: NDArray[np.float64] | None, space: GroupSpace) -> NDArray[np.float64]:
    """The world's distribution within each section (pattern of known and unknown), sections as heavy as in `share`.

    The world says nothing about how many pages are unknown, so that is taken from the candidates.
    """
    if share is None:
        return background_target(space)
    return 2.0 * blend(share, space) - share


def mixed_share(share: NDArray[np.float64] | None, space: GroupSpace, background: float) -> NDArray[np.float64]:
    """`background` parts of the world and the rest of what the candidates are."""
    world = background_share(share, space)
    return world if share is None else (1.0 - background) * share + background * world
