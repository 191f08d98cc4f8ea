"""Distinct values of an array: `np.unique` without the masked arrays that it imports, which take longer than a sort."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


def distinct(values: NDArray[T]) -> NDArray[T]:
    """The different values, ascending."""
    ordered = np.sort(values)
    return ordered[_is_new(ordered)]


def distinct_places(values: NDArray[T]) -> tuple[NDArray[T], NDArray[np.intp]]:
    """The different values, ascending, and the place of each value among them."""
    order = np.argsort(values)
    is_new = _is_new(values[order])
    place = np.empty(len(values), np.intp)
    place[order] = np.cumsum(is_new) - 1
    return values[order][is_new], place


def _is_new(ordered: NDArray[T]) -> NDArray[np.bool_]:
    is_new = np.ones(len(ordered), np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    return is_new
