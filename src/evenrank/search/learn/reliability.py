"""Reliability: do pages with probability p turn out relevant in a share p of the cases?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.types import Floats


@dataclass(frozen=True)
class ReliabilityBins:
    """The reliability diagram as numbers, one entry per filled bin."""

    mean_probability: Floats
    share_relevant: Floats
    n_pages: NDArray[np.int64]

    @property
    def expected_calibration_error(self) -> float:
        """Mean distance between probability and share of relevant pages, bins weighted by their pages."""
        if not self.n_pages.sum():
            return 0.0
        gaps = np.abs(self.mean_probability - self.share_relevant)
        return float(np.average(gaps, weights=self.n_pages))


def reliability_bins(probabilities: Floats, labels: NDArray[np.bool_], n_bins: int = 10) -> ReliabilityBins:
    """Bins of equal width over [0, 1] that hold at least one page."""
    position = np.minimum((probabilities * n_bins).astype(np.intp), n_bins - 1)
    counts = np.bincount(position, minlength=n_bins)
    filled = counts > 0
    means = np.bincount(position, probabilities, n_bins)[filled] / counts[filled]
    shares = np.bincount(position, np.asarray(labels, np.float64), n_bins)[filled] / counts[filled]
    return ReliabilityBins(means, shares, counts[filled].astype(np.int64))
