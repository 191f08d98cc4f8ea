"""The objective of Task 1 around an outcome: slopes of the divergence, and the prices that follow from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.compound import LEAST, CompoundProblem
from evenrank.policies.optimisation.divergence import ChordedDivergence


@dataclass(frozen=True)
class Tangent:
    """Prices of exposure, in relevance: a unit of exposure of group g is worth total_price − rate · slope[g]."""

    total: float
    """Exposure of all groups together at the point of contact."""
    slope: NDArray[np.float64]
    """Of the divergence, for each group."""
    rate: float
    """Relevance that one unit of divergence is worth, per unit of exposure in groups."""
    total_price: float
    """What exposure is worth in any group."""

    @property
    def price(self) -> NDArray[np.float64]:
        return self.total_price - self.rate * self.slope

    def towards(self, other: Tangent, way: float) -> Tangent:
        """The prices between these and others, `way` from 0 to 1: good ones for totals in between."""
        rate = (1.0 - way) * self.rate + way * other.rate
        return Tangent(
            total=(1.0 - way) * self.total + way * other.total,
            slope=((1.0 - way) * self.rate * self.slope + way * other.rate * other.slope) / rate,
            rate=rate,
            total_price=(1.0 - way) * self.total_price + way * other.total_price,
        )


@dataclass(frozen=True)
class Contact:
    """A tangent, and what else a quadratic model needs around its point of contact."""

    tangent: Tangent
    share: NDArray[np.float64]
    awrf: float
    """1 less the chorded divergence."""
    curvature: NDArray[np.float64]
    """Of the divergence with respect to the share of each group."""
    is_off_band: bool
    """Is the point outside of the problem's band, so that the band has a say in the prices?"""


def contact_at(problem: CompoundProblem, chorded: ChordedDivergence, outcome: NDArray[np.float64]) -> Contact:
    """Slopes, prices and curvatures at an outcome.

    The gradient of log(1 − JSD) with respect to the exposure x of groups is −(h − h·P) / (s (1 − JSD)), where h is the
    slope for each group, s = Σ x and P = x / s; `rate` makes relevance the unit. Off the band its penalty adds to the
    price of all groups.
    """
    exposure, relevance = outcome[:-1], float(outcome[-1])
    total = max(float(exposure.sum()), LEAST)
    share = exposure / total
    around = chorded.expansion(share)
    slope = problem.unit * around.slope
    awrf = max(1.0 - problem.unit * (around.value + problem.unreachable), LEAST)
    rate = problem.fairness * relevance / (awrf * total)
    excess = float(problem.band.excess(total))
    total_price = rate * float(slope @ share) - problem.stiffness * relevance * excess
    tangent = Tangent(total, slope, rate, total_price)
    return Contact(tangent, share, awrf, problem.unit * around.curvature, excess != 0.0)
