"""A band: the rankings that give all groups together an exposure between two bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Band:
    """From `low` to `high`, both included."""

    low: float
    high: float

    def excess(self, total: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """How far exposures are above the band, or below it (negative)."""
        return np.asarray(total - np.minimum(np.maximum(total, self.low), self.high))
