"""Which totals are withheld, because they would say something about one person: few people, or all of one gender."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.groups import GroupSpace

FEWEST = 5
"""A group of fewer articles is not shown separately: a total of one article would be a label of a person."""


def are_few(counts: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which totals are over too few articles; a total over none says nothing about anyone."""
    return np.asarray((counts > 0) & (counts < FEWEST))


def reveal_people(counts: NDArray[np.float64], space: GroupSpace) -> NDArray[np.bool_]:
    """Cells that would say something about a person, e.g. of a region whose biographies are few or of one gender.

    What is not personal, such as the region, is shown beside each article. So for each combination of those groups, the
    totals of a personal dimension are safe only when at least two of its groups have several people and none has few.
    """
    hides = np.zeros(counts.shape, bool)
    for axis, dimension in enumerate(space.dimensions):
        if dimension.is_personal:
            known = np.moveaxis(counts, axis, -1)[..., 1:]
            is_safe = (known >= FEWEST).sum(axis=-1) >= 2
            is_safe &= ~are_few(known).any(axis=-1)
            is_safe |= ~known.any(axis=-1)
            hides |= np.expand_dims(~is_safe, axis)
    return hides
