"""The objective of Task 1 around an outcome: slopes of the divergence, and the prices that follow from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.compound import LEAST, CompoundProblem, shares
from evenrank.policies.optimisation.divergence import ChordedDivergence


@dataclass(frozen=True)
class Tangent:
    """Prices of exposure, in relevance: a unit of exposure of group g is worth total_price − rate · slope[g]."""

    divergence: float
    """The chorded divergence at the point of contact."""
    slope: NDArray[np.float64]
    """Of the divergence, for each group."""
    rate: float
    """Relevance that one unit of divergence is worth, per unit of exposure in groups."""
    total_price: float
    """What exposure is worth in any group."""
    is_off_band: bool
    """Is the point outside of the problem's band, so that the band has a say in the prices?"""

    @property
    def price(self) -> NDArray[np.float64]:
        return self.total_price - self.rate * self.slope


def tangent_at(problem: CompoundProblem, chorded: ChordedDivergence, outcome: NDArray[np.float64]) -> Tangent:
    """Slopes and prices at an outcome.

    The gradient of log(1 − JSD) with respect to the exposure x of groups is −(h − h·P) / (s (1 − JSD)), where h is the
    slope for each group, s = Σ x and P = x / s; `rate` makes relevance the unit. Off the band its penalty adds to the
    price of all groups.
    """
    share = shares(outcome)
    total, relevance = max(float(outcome[:-1].sum()), LEAST), float(outcome[-1])
    divergence = problem.unit * (float(chorded.value(share)) + problem.unreachable)
    slope = problem.unit * chorded.slope(share)
    rate = problem.fairness * relevance / (max(1.0 - divergence, LEAST) * total)
    excess = float(problem.band.excess(np.asarray(total)))
    total_price = rate * float(slope @ share) - problem.stiffness * relevance * excess
    return Tangent(divergence, slope, rate, total_price, excess != 0.0)
