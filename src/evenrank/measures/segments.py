"""Rankings of many queries as flat arrays: `offsets` has where each ranking starts, and the length of all at its end.

Ranking `n` has the rows `offsets[n]` to `offsets[n + 1]`, rank 1 first; a ranking without rows is empty.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.types import Floats

Offsets = NDArray[np.intp]
Value = TypeVar("Value", bound=np.generic)


def offsets_of(lengths: NDArray[np.integer]) -> Offsets:
    """Offsets of rankings of these lengths that follow each other."""
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.intp)


def owners(offsets: Offsets) -> NDArray[np.intp]:
    """The ranking that each row is in."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def ranks(offsets: Offsets) -> NDArray[np.intp]:
    """Rank of each row, from 0."""
    return np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))


def sums_at(values: Floats, place: NDArray[np.integer], n_places: int) -> Floats:
    """Sum of the values at each place, in their order."""
    return np.asarray(np.bincount(place, values, minlength=n_places), np.float64)


def sums(values: Floats, offsets: Offsets) -> Floats:
    """Sum over each ranking, rank after rank; 0 for an empty one."""
    return sums_at(values, owners(offsets), len(offsets) - 1)


def running(operation: np.ufunc, values: Floats, offsets: Offsets) -> Floats:
    """The operation over the first rows of each ranking up to each row: `np.add` gives running sums.

    Rows may be numbers or vectors. Each ranking is taken rank after rank, so that its rounding does not depend on the
    others.
    """
    result = np.array(values, np.float64)
    lengths = np.diff(offsets)
    longest = int(lengths.max(initial=0))
    if len(lengths) <= longest:
        for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            result[start:end] = operation.accumulate(result[start:end], axis=0)
        return result
    order = np.argsort(-lengths, kind="stable")
    starts = offsets[:-1][order]
    for rank in range(1, longest):
        n_longer = int(np.searchsorted(-lengths[order], -rank, "left"))
        rows = starts[:n_longer] + rank
        result[rows] = operation(result[rows - 1], result[rows])
    return result


def shifted(values: NDArray[Value], offsets: Offsets, first: float) -> NDArray[Value]:
    """What the row above has; `first` at rank 1."""
    result = np.empty_like(values)
    result[1:] = values[:-1]
    starts = offsets[:-1]
    result[starts[starts < offsets[1:]]] = first
    return result
