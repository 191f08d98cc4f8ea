"""A total shared out in whole numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError


def apportion(total: int, weights: NDArray[np.float64], limits: NDArray[np.int64], what: str) -> NDArray[np.int64]:
    """Whole numbers that add up to `total`, near to the weights and never above the limits."""
    if total > limits.sum():
        raise EvenrankError(
            f"{total:,} {what} judgments were asked for, but the pages and topics give only {limits.sum():,}: "
            "ask for more pages or fewer judgments"
        )
    counts = np.zeros(len(weights), np.int64)
    while (rest := total - int(counts.sum())) > 0:
        open_weights = np.where(counts < limits, weights, 0.0)
        ideal = rest * open_weights / open_weights.sum()
        step = np.minimum(np.floor(ideal).astype(np.int64), limits - counts)
        if not step.any():
            largest = np.argsort(-(ideal % 1), kind="stable")[:rest]
            step[largest] = ideal[largest] > 0
        counts += step
    return counts
