"""Which totals are withheld, because they would say something about one person: few people, or all of one gender."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.groups import GroupSpace

FEWEST = 5
"""A group of fewer articles is not shown separately: a total of one article would be a label of a person."""
NONE = 1e-6
"""Articles that count as none; an article of several groups is a fraction of one in each."""


def are_few(counts: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which totals are over too few articles; a total over none says nothing about anyone."""
    whole = np.ceil(counts - NONE)
    return np.asarray((whole > 0) & (whole < FEWEST))


def hide_people(counts: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which totals of a personal dimension are withheld: as soon as one known group has few people, all of them.

    The first total is that of what is not known; whoever knows it and all others but one knows that one too.
    """
    hides = np.full(counts.shape, bool(are_few(counts[1:]).any()))
    hides[0] = False
    return hides


def reveal_people(counts: NDArray[np.float64], space: GroupSpace) -> NDArray[np.bool_]:
    """Cells that would say something about a person, e.g. of a region whose biographies are few or of one gender.

    What is not personal, such as the region, is shown beside each article. So for each combination of those groups, the
    totals of a personal dimension are safe only when at least two of its groups have several people and none has few.
    The same holds for all that is withheld together, because the totals of the dimension are known: the combinations
    with the fewest people are withheld as well until it does.
    """
    hides = np.zeros(counts.shape, bool)
    for axis, dimension in enumerate(space.dimensions):
        if dimension.is_personal:
            known = np.moveaxis(counts, axis, -1)[..., 1:]
            is_hidden = _withhold(known.reshape(-1, known.shape[-1])).reshape(known.shape[:-1])
            hides |= np.expand_dims(is_hidden, axis)
    return hides


def _withhold(known: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows of a table of people by combination and group are withheld."""
    is_hidden = ~_are_safe(known)
    people = np.where(is_hidden | ~(known > NONE).any(axis=-1), np.inf, known.sum(axis=-1))
    for row in np.argsort(people, kind="stable")[: np.isfinite(people).sum()]:
        if _are_safe(known[is_hidden].sum(axis=0)):
            break
        is_hidden[row] = True
    return is_hidden


def _are_safe(known: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether totals of the known groups of a dimension, the last axis, say nothing about one person."""
    is_safe = (np.ceil(known - NONE) >= FEWEST).sum(axis=-1) >= 2
    is_safe &= ~are_few(known).any(axis=-1)
    return np.asarray(is_safe | ~(known > NONE).any(axis=-1))
