"""95th percentiles of the quality features of a wiki, in one pass and bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import numpy as np
from numpy.typing import NDArray

from evenrank.annotate.quality import FEATURES, QualityCounts, QualityModel
from evenrank.annotate.store import WorkStore

ACCURACY = 0.001
"""Largest relative error of a quantile."""
SMALLEST, LARGEST = 1e-9, 1e12
"""Positive values are distinguished between these; smaller ones count as 0, larger ones as the largest."""

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


SHARE = 0.95
ROWS = 50_000
"""Pages read at once."""
COUNTS_SQL = f"SELECT {', '.join(QualityCounts._fields)} FROM pages"


def wiki_percentiles(model: QualityModel, store: WorkStore) -> dict[str, float]:
    """The 95th percentile of each feature that the model caps by it."""
    sketches = {name: QuantileSketch() for name in model.percentile_features}
    for counts in _stored_counts(store):
        for name, sketch in sketches.items():
            sketch.add(FEATURES[name](counts))
    return {name: sketch.quantile(SHARE) for name, sketch in sketches.items()}


def _stored_counts(store: WorkStore) -> Iterator[QualityCounts]:
    cursor = store.query(COUNTS_SQL)
    while rows := cursor.fetchmany(ROWS):
        yield QualityCounts(*np.array(rows, np.float64).T)
