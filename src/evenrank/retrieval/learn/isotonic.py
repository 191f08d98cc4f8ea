"""Isotonic regression: the best non-decreasing step function, by pooling adjacent violators."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.core.types import Floats


def isotonic_fit(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Knots (distinct, ascending) and non-decreasing values that minimise the weighted squared error.

    Each pooled block keeps its first and last knot only, so linear interpolation between knots is the fit.
    """
    x, y, weights = _merge_equal(x, y, weights)
    means: list[float] = []
    masses: list[float] = []
    starts: list[int] = []
    for position in range(len(x)):
        mean, mass, start = float(y[position]), float(weights[position]), position
        while means and means[-1] >= mean:
            before = masses.pop()
            mean = (means.pop() * before + mean * mass) / (before + mass)
            mass += before
            start = starts.pop()
        means.append(mean)
        masses.append(mass)
        starts.append(start)
    return _block_ends(x, np.array(means), np.array(starts, np.intp))


def _merge_equal(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Distinct x with the weighted mean of y and the sum of weights."""
    distinct, where = np.unique(x, return_inverse=True)
    mass = np.asarray(np.bincount(where, weights), np.float64)
    return distinct, np.bincount(where, weights * y) / mass, mass


def _block_ends(x: Floats, means: Floats, starts: NDArray[np.intp]) -> tuple[Floats, Floats]:
    ends = np.append(starts[1:], len(x)) - 1
    positions = np.column_stack([starts, ends]).ravel()
    keep = np.append(True, np.diff(positions) > 0)
    return x[positions[keep]], np.repeat(means, 2)[keep]
