"""Goals that a coordinator can choose: how much attention each group should get."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.groups import GroupSpace
from evenrank.policies.candidates import Candidates
from evenrank.records import Task
from evenrank.targets.estimated import group_mass
from evenrank.targets.target import EstimatedTarget

LOPSIDED = 0.85
"""From this share of the relevant articles in one group, a goal far from it is called absurd."""


def goal_target(goal: str, candidates: Candidates, estimated: EstimatedTarget, task: Task) -> EstimatedTarget:
    """The chosen goal over the groups; `track` is the estimate of the track's own goal."""
    if goal == "track":
        return estimated
    mass = group_mass(task, candidates.relevance, candidates.quality_class, candidates.alignment)
    if task == 1:
        mass[0] = 0.0
    total = mass.sum()
    if total <= 0:
        return estimated
    field = mass / total
    wanted = {"field": field, "equal": _equal(field), "world": _world(field, estimated.space)}[goal]
    return EstimatedTarget(estimated.topic_id, estimated.space, wanted)


def _equal(field: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same share for every group that has articles; what is unknown keeps its own."""
    known = field.copy()
    known[0] = 0.0
    is_present = known > 1e-4
    shares = is_present / max(1, is_present.sum())
    return np.asarray((1.0 - field[0]) * shares + np.eye(1, len(field), 0)[0] * field[0])


def _world(field: NDArray[np.float64], space: GroupSpace) -> NDArray[np.float64]:
    """The world's shares inside each pattern of known and unknown dimensions, which keeps its own total."""
    wanted = np.zeros(space.shape)
    shaped = field.reshape(space.shape)
    wanted[(0,) * len(space.shape)] = field[0]
    for part, background in space.sections():
        wanted[part] = background.reshape(wanted[part].shape) * shaped[part].sum()
    return wanted.reshape(-1)


def goal_warning(candidates: Candidates, space: GroupSpace) -> tuple[str, str, float] | None:
    """The dimension, the group and its share when nearly all relevant articles are in one group; else None."""
    mass = group_mass(1, candidates.relevance, candidates.quality_class, candidates.alignment)
    shaped = mass.reshape(space.shape)
    for axis, dimension in enumerate(space.dimensions):
        totals = shaped.sum(axis=tuple(at for at in range(len(space.shape)) if at != axis))[1:]
        if totals.sum() > 0 and totals.max() / totals.sum() >= LOPSIDED:
            largest = int(totals.argmax())
            return dimension.name, dimension.readable_groups[largest + 1], float(totals.max() / totals.sum())
    return None
