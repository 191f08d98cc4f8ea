"""What is believed of groups that a system does not know and a scorer does: totals, never a label on a page."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.alignment import Alignment
from evenrank.targets.target import EstimatedTarget


@dataclass(frozen=True)
class Beliefs:
    """The expected groups of pages over all the groups that are scored, and how uncertain they are."""

    alignment: Alignment
    """Expected group weights of each page: pages that look alike to the system have the same ones."""
    variance: NDArray[np.float64]
    """For each page type the variance of its group weights, summed over groups."""
    own_share: NDArray[np.float64]
    """For each page type, how much of its own fair exposure the target holds for its groups: between 1/2 and 1."""
    target: EstimatedTarget
    """Estimated target over all the groups that are scored."""

    def take(self, positions: NDArray[np.integer]) -> Beliefs:
        """The beliefs about some of the pages."""
        return replace(self, alignment=self.alignment.take(positions))
