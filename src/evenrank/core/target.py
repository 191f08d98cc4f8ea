"""Targets: two types, so that a policy cannot be given the truth by accident, and blending with the background."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import GroupSpace
from evenrank.core.sparse_alignment import SparseVector
from evenrank.core.sparse_target import SparseTarget, blend_sparsely


@dataclass(frozen=True)
class TrueTarget:
    """What the judgments say a topic's exposure should be. Only metrics take this type."""

    topic_id: int
    space: GroupSpace
    values: NDArray[np.float64] | SparseTarget
    """Wanted share of each group, the fully unknown cell first; sparse where there are many."""


@dataclass(frozen=True)
class EstimatedTarget:
    """What a system believes a topic's exposure should be. Only policies take this type."""

    topic_id: int
    space: GroupSpace
    values: NDArray[np.float64]
    """One value per group, the fully unknown cell first: a distribution (sum 1)."""


def blend(distribution: NDArray[np.float64], space: GroupSpace, weight: float = 0.5) -> NDArray[np.float64]:
    """`distribution` over groups, each section mixed with `weight` of its background, keeping its own mass.

    A section is a pattern of known and unknown dimensions: where all are known the background is the product of
    the world distributions, where some are unknown it is the product over the known ones. The fully unknown cell
    stays as it is, because the world says nothing about it. Dimensions without a background are not blended; see
    `sparse.blend_sparsely`.
    """
    if not space.is_blended:
        cells = np.flatnonzero(distribution)
        return blend_sparsely(SparseVector(cells, distribution[cells]), space, weight).dense()
    matrix = distribution.reshape(space.shape).copy()
    for section, background in space.sections():
        mass = matrix[section].sum()
        matrix[section] = (1.0 - weight) * matrix[section] + weight * mass * background
    return matrix.reshape(-1)


def group_target(
    group_mass: NDArray[np.float64], space: GroupSpace, *, keep_unknown: bool, weight: float = 0.5
) -> NDArray[np.float64]:
    """Wanted distribution over all groups, from the mass that the relevant pages give to each.

    Without `keep_unknown` the fully unknown cell is emptied first (Task 1 of 2021). When no mass is left, nothing
    is known of what is relevant, and the background of fully known pages alone is the target.
    """
    mass = group_mass.astype(np.float64, copy=True)
    if not keep_unknown and space.has_unknown:
        mass[0] = 0.0
    total = mass.sum()
    if total <= 0.0:
        return background_target(space)
    return blend(mass / total, space, weight)


def background_target(space: GroupSpace) -> NDArray[np.float64]:
    """The world itself: all mass on known groups, by the product of the backgrounds; equal shares without one."""
    matrix = np.ones(1)
    for dimension in space.dimensions:
        shares = dimension.background_array()
        padded = np.concatenate([[0.0], shares]) if dimension.has_unknown else shares
        matrix = np.multiply.outer(matrix, padded).reshape(-1)
    return np.asarray(matrix / matrix.sum(), np.float64)
