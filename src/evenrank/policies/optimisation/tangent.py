"""A plane below the divergence, and the bound on the score of every ranking that follows from it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.compound import LEAST, CompoundProblem, shares
from evenrank.policies.optimisation.divergence import ChordedDivergence
from evenrank.policies.optimisation.permutohedron import support

N_LEVELS = 33
"""Levels of the divergence at which the bound is worked out; between them it is interpolated from above."""
RATE_FACTORS = (1.0, 1.5, 0.7, 2.5, 0.5)
"""Multiples of the rate that are tried, while the bound is not close to the score."""
CLOSE = 1e-3


@dataclass(frozen=True)
class Tangent:
    """A plane below the divergence: JSD(P) ≥ height + slope · P for all shares P that a ranking can give."""

    slope: NDArray[np.float64]
    height: float
    rate: float
    """Relevance that one unit of divergence is worth, per unit of exposure in groups; any value gives a bound."""

    def price_at(self, divergence: float) -> NDArray[np.float64]:
        """What exposure of each group is worth, in relevance, to a ranking that must keep to this divergence."""
        return np.asarray(self.rate * (divergence - self.height - self.slope))


@dataclass(frozen=True)
class Linearisation:
    """The objective around one outcome of the relaxation."""

    divergence: float
    slope: NDArray[np.float64]
    """Of the divergence, for each group."""
    rate: float
    """Relevance that one unit of divergence is worth there, per unit of exposure in groups."""
    price: NDArray[np.float64]
    """What exposure of each group is worth, in relevance."""


def linearise(problem: CompoundProblem, chorded: ChordedDivergence, outcome: NDArray[np.float64]) -> Linearisation:
    """Slope and prices at an outcome.

    The gradient of log(1 − JSD) with respect to the exposure x of groups is −(h − h·P) / (s (1 − JSD)), where h is the
    slope for each group, s = Σ x and P = x / s; `rate` makes relevance the unit.
    """
    share = shares(outcome)
    divergence = problem.unit * (float(chorded.value(share)) + problem.unreachable)
    slope = problem.unit * chorded.slope(share)
    per_exposure = max(1.0 - divergence, LEAST) * max(float(outcome[:-1].sum()), LEAST)
    rate = problem.fairness * float(outcome[-1]) / per_exposure
    return Linearisation(divergence, slope, rate, rate * (slope @ share - slope))


def tangent_of(problem: CompoundProblem, chorded: ChordedDivergence, at: Linearisation) -> Tangent:
    """The highest plane of that slope below the true divergence; the bends of the chorded one cost nothing here."""
    height = problem.unit * (chorded.plane_height(at.slope / problem.unit) + problem.unreachable)
    return Tangent(at.slope, height, at.rate)


def upper_bound(problem: CompoundProblem, tangent: Tangent, reached: float) -> float:
    """A score that no ranking exceeds; `reached` is the score of some ranking.

    A ranking of divergence j has (height + slope − j) · x ≤ 0, so its relevance is at most S(j), the largest value of
    relevance + price_at(j) · x over all rankings: one sort. S is convex in j, hence below its chord between two
    levels, where relevance · (1 − j)^fairness has its maximum in closed form. Rankings beyond the last level lose to
    `reached` even with all the relevance there is. Every rate is valid; on each piece the best of a few counts.
    """
    most_relevant = support(problem.relevance, problem.discounts)
    last = 1.0 - min(1.0, (reached / most_relevant) ** (1.0 / problem.fairness))
    levels = np.linspace(0.0, last, N_LEVELS)
    pieces = most_relevant * (1.0 - levels[:-1]) ** problem.fairness
    for factor in RATE_FACTORS:
        if pieces.max() <= reached * (1.0 + CLOSE):
            break
        pieces = np.minimum(pieces, _bound_by_piece(problem, replace(tangent, rate=factor * tangent.rate), levels))
    return max(reached, float(pieces.max()))


def _bound_by_piece(problem: CompoundProblem, tangent: Tangent, levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest score of a ranking whose divergence is between two levels, for each two neighbours."""
    relevance = [support(problem.page_scores(tangent.price_at(level)), problem.discounts) for level in levels]
    pieces = zip(levels, levels[1:], relevance, relevance[1:], strict=False)
    return np.array([_largest_on_piece(*piece, problem.fairness) for piece in pieces])


def _largest_on_piece(low: float, high: float, at_low: float, at_high: float, fairness: float) -> float:
    """Maximum over j in [low, high] of (line from at_low to at_high at j) · (1 − j)^fairness."""
    rise = (at_high - at_low) / (high - low) if high > low else 0.0
    at_zero = at_low - rise * low
    peak = (rise - fairness * at_zero) / (rise * (1.0 + fairness)) if rise > 0.0 else low
    best = min(max(peak, low), high)
    return float((at_zero + rise * best) * (1.0 - best) ** fairness)
