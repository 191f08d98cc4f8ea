"""Quantiles of a stream in bounded memory: a histogram with logarithmic buckets.

Deterministic and mergeable: the same values give the same sketch in whatever order and however they were split. An
estimate is off by at most `ACCURACY` of its value (Masson, Rim and Lee, DDSketch, VLDB 2019).
"""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import NDArray

ACCURACY = 0.001
"""Largest relative error of a quantile."""
SMALLEST, LARGEST = 1e-9, 1e12
"""Positive values are told apart between these; smaller ones count as 0, larger ones as the largest."""

_LOG_BASE = np.log((1 + ACCURACY) / (1 - ACCURACY))
_OFFSET = int(np.floor(np.log(SMALLEST) / _LOG_BASE))
N_BUCKETS = int(np.ceil(np.log(LARGEST) / _LOG_BASE)) - _OFFSET + 1


class QuantileSketch:
    """Counts of non-negative values by bucket; bucket 0 is for 0."""

    def __init__(self) -> None:
        self.counts: NDArray[np.int64] = np.zeros(N_BUCKETS + 1, np.int64)

    @property
    def n_values(self) -> int:
        return int(self.counts.sum())

    def add(self, values: NDArray[np.floating]) -> None:
        """Count some values."""
        buckets = np.zeros(len(values), np.int64)
        positive = values > SMALLEST
        exponents = np.ceil(np.log(np.minimum(values[positive], LARGEST)) / _LOG_BASE)
        buckets[positive] = exponents.astype(np.int64) - _OFFSET
        self.counts += np.bincount(buckets, minlength=len(self.counts))

    def merge(self, other: QuantileSketch) -> None:
        """Count what `other` has counted."""
        self.counts += other.counts

    def quantile(self, share: float) -> float:
        """The value of rank ⌈share · n⌉; 0 when there are no values."""
        if not self.n_values:
            return 0.0
        rank = max(ceil(share * self.n_values), 1)
        bucket = int(np.searchsorted(np.cumsum(self.counts), rank))
        if bucket == 0:
            return 0.0
        return float(2 * np.exp((bucket + _OFFSET) * _LOG_BASE) / (np.exp(_LOG_BASE) + 1))
