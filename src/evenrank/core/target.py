"""Targets: two types, so that a policy cannot be given the truth by accident, and blending with the background."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import Dimension, GroupSpace
from evenrank.core.sparse import SparseTarget, SparseVector, blend_sparsely
from evenrank.core.withheld import FEWEST, NONE, are_few_alike


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


LEAST_SHARE = 0.01
"""Share of a dimension's known mass from which a group belongs to the field. A group with less has hardly a page to
show, so a target that gave it as much as the others could not be reached."""
FEWEST_PAGES = 1
"""Pages from which a group belongs to the field; a page of several groups is a part of one in each."""


def equal_target(
    field: NDArray[np.float64], space: GroupSpace, n_pages: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """The mass of each pattern of known and unknown dimensions, the same for all of its groups that the field has.

    `n_pages` are the pages of each group. Without them mass decides alone, and all groups of people count.
    """
    has = np.ones((), np.bool_)
    for dimension in space.dimensions:
        mass = space.margin(field, dimension.name)
        counts = None if n_pages is None else space.margin(n_pages, dimension.name)
        has = np.logical_and.outer(has, _has_group(dimension, mass, counts))
    matrix = field.reshape(space.shape).copy()
    for section in product(*map(_known_and_unknown, space.dimensions)):
        counted = has[section]
        matrix[section] = np.where(counted, matrix[section].sum() / counted.sum(), 0.0)
    return matrix.reshape(-1)


def _known_and_unknown(dimension: Dimension) -> tuple[slice, ...]:
    """Where the unknown group of a dimension is, if it has one, and where the known ones are."""
    return (slice(0, 1), slice(1, None)) if dimension.has_unknown else (slice(None),)


def _has_group(
    dimension: Dimension, mass: NDArray[np.float64], counts: NDArray[np.float64] | None
) -> NDArray[np.bool_]:
    """Which groups of a dimension the field has; all of them when it has none. The unknown group is always one."""
    n_unknown = int(dimension.has_unknown)
    known = mass[n_unknown:]
    n_known = None if counts is None else counts[n_unknown:]
    if dimension.is_personal:
        found = _has_people(known, n_known)
    else:
        found = known >= LEAST_SHARE * known.sum()
        if n_known is not None:
            found &= n_known >= FEWEST_PAGES - NONE
    if not found.any():
        found[:] = True
    return np.concatenate([np.ones(n_unknown, np.bool_), found])


def _has_people(mass: NDArray[np.float64], counts: NDArray[np.float64] | None) -> NDArray[np.bool_]:
    """Which groups of people the field has: those with several people.

    That a target names a group of fewer would say something about single people: a group of a few counts neither more
    nor less than one without any, as long as two others have several. With fewer such groups all count: a few women
    among many men are not to be left out. All count, too, where fewer than `FEWEST_ALIKE` people are of one group.
    """
    if counts is None:
        return np.ones(mass.shape, np.bool_)
    found = np.ceil(counts - NONE) >= FEWEST
    has_few = bool((counts[~found] > NONE).any())
    return np.ones_like(found) if are_few_alike(counts) or (has_few and found.sum() < 2) else found
