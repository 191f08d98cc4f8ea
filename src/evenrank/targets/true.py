"""True targets: from the judgments of a topic to the wanted distribution over groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from evenrank.alignment.alignment import Alignment
from evenrank.alignment.groups import GroupSpace
from evenrank.exposure import block_exposure
from evenrank.records import NO_CLASS
from evenrank.targets.blend import group_target


def task1_target(relevant: Alignment, space: GroupSpace, *, keep_unknown: bool = False) -> NDArray[np.float64]:
    """Wanted distribution of a single ranking: the groups of the relevant pages, blended with the world."""
    return group_target(relevant.total(), space, keep_unknown=keep_unknown)


def task2_target(
    relevant: Alignment,
    quality_class: NDArray[np.integer],
    space: GroupSpace,
    dtype: DTypeLike = np.float64,
) -> NDArray[np.float64]:
    """Wanted distribution of a sequence: the ideal exposure of the relevant pages by group, blended.

    The ideal policy puts relevant pages first, those that need most work before the others. Pages without a
    quality class have no ideal exposure.
    """
    counts = np.bincount(quality_class, minlength=NO_CLASS + 1)[:NO_CLASS]
    exposure_of_class = np.append(block_exposure(counts, dtype), 0.0)
    mass = relevant.total(exposure_of_class[quality_class])
    return group_target(mass, space, keep_unknown=True)
