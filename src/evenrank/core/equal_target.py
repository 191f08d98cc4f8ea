"""The target `equal`: the same for every group that a topic's field has, and nothing for the others."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import Dimension, GroupSpace
from evenrank.core.withheld import FEWEST, NONE, are_few_alike

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
