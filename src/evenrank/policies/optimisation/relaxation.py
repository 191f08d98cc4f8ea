"""Task 1: the best mixture of rankings for log relevance + fairness · log(1 − JSD), by second-order Frank–Wolfe.

Each round prices the pages by the gradient, takes the best ranking for these prices, and finds new weights for all
rankings so far from a quadratic model of the objective.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.compound import LEAST, CompoundProblem
from evenrank.policies.optimisation.divergence import ChordedDivergence
from evenrank.policies.optimisation.permutohedron import Mixture, best_ranking, minimise_on_simplex


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


STEPS = np.array([1.0, 0.7, 0.4, 0.2, 0.1, 0.05, 0.02, 0.01, 3e-3, 1e-3, 1e-4])
"""Shares of the way to the model's optimum, and to the new ranking, that are tried."""
LEAST_CURVATURE = 1e-3
"""Of a group on the chord, so that the model stays bounded."""
SHARP = 1e-6
"""Width of a parabola that changes nothing."""


@dataclass(frozen=True)
class Relaxation:
    """What the rounds ended with."""

    mixture: Mixture
    log_score: float
    """Of the mixture under the chorded divergence, without the parabola that only helps to find it."""
    tangent: Tangent
    """The prices that proved most on the way."""
    best_ranking: NDArray[np.intp]
    """The best by the true score of all rankings met on the way."""
    n_iterations: int


def relax(problem: CompoundProblem, start: Mixture, tolerance: float, max_iterations: int) -> Relaxation:
    """The best mixture of rankings, its prices, and the best ranking met on the way.

    The objective is concave within a band, so its linearisation anywhere bounds it from above: each round proves a
    log score that no mixture exceeds, and the prices of the lowest are kept.
    """
    chorded = ChordedDivergence(problem.target, problem.least_share(problem.band.high))
    mixture, met, outcomes = start, list(start.rankings), list(start.outcomes)
    log_score, proven = float(_log_score(problem, chorded, start.outcome)), np.inf
    tangent = contact_at(problem, chorded, start.outcome).tangent
    for _ in range(max_iterations):
        outcome = mixture.outcome
        contact = contact_at(problem, chorded, outcome)
        prices = np.append(contact.tangent.price, 1.0)
        ranking = best_ranking(problem.page_scores(prices[:-1]), len(problem.discounts))
        found = problem.outcome(ranking)
        met.append(ranking)
        outcomes.append(found)
        missed = float(prices @ (found - outcome)) / max(float(outcome[-1]), LEAST)
        if log_score + missed < proven:
            proven, tangent = log_score + missed, contact.tangent
        if missed <= tolerance:
            break
        mixture, improved = _correct(problem, chorded, contact, mixture.joined(ranking, found), log_score)
        if improved <= log_score:
            break
        log_score = improved
    best = int(np.argmax(problem.true_log_score(np.array(outcomes))))
    value = float(_log_score(problem, replace(chorded, width=SHARP), mixture.outcome))
    return Relaxation(mixture, value, tangent, met[best], len(met) - len(start.rankings))


def _log_score(
    problem: CompoundProblem, chorded: ChordedDivergence, outcomes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The objective of the relaxation: the log score under the chorded divergence, less a penalty off the band."""
    total = outcomes[..., :-1].sum(axis=-1)
    share = outcomes[..., :-1] / np.maximum(total, LEAST)[..., None]
    awrf = np.where(total > 0.0, 1.0 - problem.unit * (chorded.value(share) + problem.unreachable), 0.0)
    scores = np.log(np.maximum(outcomes[..., -1], LEAST)) + problem.fairness * np.log(np.maximum(awrf, LEAST))
    return np.asarray(scores - 0.5 * problem.stiffness * problem.band.excess(total) ** 2)


def _correct(
    problem: CompoundProblem, chorded: ChordedDivergence, at: Contact, mixture: Mixture, log_score: float
) -> tuple[Mixture, float]:
    """The mixture with better weights, and its log score; as it was when no step improves it."""
    newest = np.zeros(len(mixture.weights))
    newest[-1] = 1.0
    goal = minimise_on_simplex(*_model(problem, at, mixture), mixture.weights)
    ways = np.array([goal - mixture.weights, newest - mixture.weights])
    tried = (mixture.weights + STEPS[:, None, None] * ways).reshape(-1, len(newest))
    scores = _log_score(problem, chorded, tried @ mixture.outcomes)
    best = int(np.argmax(scores))
    if scores[best] <= log_score:
        return mixture, log_score
    return mixture.reweighted(np.where(tried[best] > LEAST, tried[best], 0.0)), float(scores[best])


def _model(problem: CompoundProblem, at: Contact, mixture: Mixture) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Q and b of the quadratic model ½ wᵀ Q w − bᵀ w of minus the objective around the mixture.

    Its Hessian is that of −log relevance, that of the divergence for a fixed total exposure, the square of the
    gradient that −log(1 − JSD) adds, and off the band that of its penalty; in scaled coordinates it is the identity.
    """
    price = at.tangent.price
    unit = max(float(mixture.weights @ mixture.outcomes[:, -1]), LEAST)
    curvature = np.maximum(at.curvature, problem.unit * LEAST_CURVATURE) / at.tangent.total**2
    along = (price - price @ at.share) / (unit * np.sqrt(problem.fairness))
    exposures = mixture.outcomes[:, :-1]
    size = exposures.shape[1]
    scaled = np.empty((len(exposures), size + 2 + at.is_off_band))
    scaled[:, :size] = exposures * np.sqrt(problem.fairness / at.awrf * curvature)
    scaled[:, size] = mixture.outcomes[:, -1] / unit
    scaled[:, size + 1] = exposures @ along
    if at.is_off_band:
        scaled[:, size + 2] = exposures.sum(axis=1) * np.sqrt(problem.stiffness)
    quadratic = scaled @ scaled.T
    return quadratic, quadratic @ mixture.weights + (exposures @ price + mixture.outcomes[:, -1]) / unit
