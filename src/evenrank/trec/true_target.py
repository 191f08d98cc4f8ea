"""True targets: from the judgments of a topic to the wanted distribution over groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.exposure import LOG, Attention, block_exposure
from evenrank.core.groups import GroupSpace
from evenrank.core.records import NO_CLASS
from evenrank.core.sparse import SparseAlignment, SparseTarget, SparseVector, blend_sparsely
from evenrank.core.target import group_target


def task1_target(
    relevant: Alignment | SparseAlignment, space: GroupSpace, *, keep_unknown: bool = False, weight: float = 0.5
) -> NDArray[np.float64]:
    """Wanted distribution of a single ranking: the groups of the relevant pages, blended with the world."""
    return group_target(relevant.total(), space, keep_unknown=keep_unknown, weight=weight)


def task2_target(
    relevant: Alignment | SparseAlignment,
    quality_class: NDArray[np.integer],
    space: GroupSpace,
    dtype: DTypeLike = np.float64,
    attention: Attention = LOG,
    weight: float = 0.5,
) -> NDArray[np.float64]:
    """Wanted distribution of a sequence: the ideal exposure of the relevant pages by group, blended."""
    mass = relevant.total(work_exposure(quality_class, dtype, attention))
    return group_target(mass, space, keep_unknown=True, weight=weight)


def work_exposure(
    quality_class: NDArray[np.integer], dtype: DTypeLike = np.float64, attention: Attention = LOG
) -> NDArray[np.float64]:
    """Ideal exposure of each relevant page in a sequence.

    The ideal policy puts relevant pages first, those that need most work before the others. Pages without a quality
    class have no ideal exposure.
    """
    counts = np.bincount(quality_class, minlength=NO_CLASS + 1)[:NO_CLASS]
    exposure_of_class = np.append(block_exposure(counts, dtype, attention), 0.0)
    return np.asarray(exposure_of_class[quality_class], np.float64)


def page_target(
    relevant: Alignment | SparseAlignment,
    weights: NDArray[np.floating],
    space: GroupSpace,
    divisor: float | None,
    weight: float = 0.5,
) -> SparseTarget:
    """The weighted sum of the relevant pages' groups, over `divisor` (by default over its own sum), blended.

    A page in two groups of a dimension where it is not shared counts in both, so the target may sum to more than 1.
    """
    if isinstance(relevant, SparseAlignment):
        mass = relevant.sparse_total(weights)
    else:
        dense = relevant.total(weights)
        cells = np.flatnonzero(dense)
        mass = SparseVector(cells, dense[cells])
    total = float(mass.values.sum()) if divisor is None else divisor
    return blend_sparsely(SparseVector(mass.cells, mass.values / total if total else mass.values), space, weight)
