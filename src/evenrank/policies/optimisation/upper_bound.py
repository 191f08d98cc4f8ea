"""Task 1: a score that no ranking exceeds, from the prices of a relaxation and a table of sorts.

Write s for the exposure that a ranking gives to all groups together and j for its divergence. A plane below the
divergence, JSD(P) ≥ height + slope · P, gives slope · x ≤ (j − height) s. With any rate ≥ 0 and any total price K, the
best ranking for the prices K − rate · slope has the value V(rate, K), one sort, and so every ranking has

    relevance ≤ V(rate, K) + (rate (j − height) − K) s.

For s within a band this is largest at an end of the band, and relevance · (1 − j)^fairness has its maximum over j in
closed form. The height depends on the band: the less exposure in all, the larger the least share of a group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.band import Band
from evenrank.policies.optimisation.compound import CompoundProblem
from evenrank.policies.optimisation.divergence import plane_height
from evenrank.policies.optimisation.permutohedron import support
from evenrank.policies.optimisation.tangent import Tangent

N_BANDS = 400
RATES = (1.0, 0.75, 1.4, 0.5, 2.0)
"""Multiples of the tangent's rate."""
OFFSETS = (0.0, 0.003, 0.007, 0.015, 0.03, 0.05, 0.08, 0.13, 0.2, 0.35, 0.6, 1.2)
"""What is added to the tangent's total price, and taken from it, in units of the largest relevance."""


@dataclass
class BandBounds:
    """Bounds for the rankings of each of many narrow bands; they only ever fall."""

    problem: CompoundProblem
    ends: NDArray[np.float64]
    """Exposure in groups where bands begin and end, rising."""
    bounds: NDArray[np.float64]
    """One for each band: no ranking of it has a higher score."""

    @classmethod
    def of(cls, problem: CompoundProblem) -> BandBounds:
        """Bands of equal ratio over all totals that a ranking of any score can have."""
        in_groups = problem.rows.sum(axis=1)[problem.page_type]
        most, least = support(in_groups, problem.discounts), -support(-in_groups, problem.discounts)
        smallest = float(problem.rows[problem.rows > 0.0].min()) * float(problem.discounts[-1])
        ends = np.geomspace(max(least, smallest), most, N_BANDS + 1)
        return cls(problem, ends, np.full(N_BANDS, support(problem.relevance, problem.discounts)))

    def learn(self, tangent: Tangent) -> None:
        """Lower the bounds with the prices of a tangent."""
        most = support(self.problem.relevance, self.problem.discounts)
        heights = self._heights(tangent)
        offsets = np.concatenate([np.array(OFFSETS), -np.array(OFFSETS[1:])]) * self.problem.relevance.max()
        for factor in RATES:
            rate, prices = factor * tangent.rate, factor * tangent.total_price + offsets
            values = np.array([self._value(price - rate * tangent.slope) for price in prices])
            found = [
                _largest_scores(values, prices, rate, heights, totals, most, self.problem.fairness)
                for totals in (self.ends[:-1], self.ends[1:])
            ]
            self.bounds = np.minimum(self.bounds, np.maximum(*found).min(axis=0))

    def highest(self) -> tuple[Band, float]:
        """The band with the highest bound, and that bound."""
        index = int(np.argmax(self.bounds))
        return Band(float(self.ends[index]), float(self.ends[index + 1])), float(self.bounds[index])

    def _value(self, price: NDArray[np.float64]) -> float:
        return support(self.problem.page_scores(price), self.problem.discounts)

    def _heights(self, tangent: Tangent) -> NDArray[np.float64]:
        """Height of the plane for each band; least shares are smallest at its upper end."""
        unit, least = self.problem.unit, self.problem.least_share(self.ends[1:, None])
        height = plane_height(self.problem.target, least, tangent.slope / unit)
        return np.asarray(unit * (height + self.problem.unreachable))


def _largest_scores(
    values: NDArray[np.float64],
    prices: NDArray[np.float64],
    rate: float,
    heights: NDArray[np.float64],
    totals: NDArray[np.float64],
    most_relevant: float,
    fairness: float,
) -> NDArray[np.float64]:
    """Maximum over j in [0, 1] of min(line, most_relevant) · (1 − j)^fairness, price by band.

    The line is V(rate, K) + (rate (j − height) − K) s. Its product with (1 − j)^fairness rises up to a peak; where the
    line is above `most_relevant` there, the maximum is where it reaches that.
    """
    rise = rate * totals
    at_zero = values[:, None] - prices[:, None] * totals - rise * heights
    peak = np.clip((rise - fairness * at_zero) / (rise * (1.0 + fairness)), 0.0, 1.0)
    capped = np.clip((most_relevant - at_zero) / rise, 0.0, 1.0)
    best = np.minimum(peak, capped)
    relevance = np.minimum(at_zero + rise * best, most_relevant)
    return np.asarray(relevance * (1.0 - best) ** fairness)
