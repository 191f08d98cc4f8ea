"""Task 1: the best mixture of rankings for log relevance + fairness · log(1 − JSD), by second-order Frank–Wolfe.

Each round prices the pages by the gradient, takes the best ranking for these prices, and finds new weights for all
rankings so far from a quadratic model of the objective.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.compound import LEAST, CompoundProblem, shares
from evenrank.policies.optimisation.divergence import ChordedDivergence
from evenrank.policies.optimisation.mixture import Mixture
from evenrank.policies.optimisation.permutohedron import best_ranking
from evenrank.policies.optimisation.simplex import minimise_on_simplex
from evenrank.policies.optimisation.tangent import Tangent, tangent_at

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
    """Prices at the mixture."""
    best_ranking: NDArray[np.intp]
    """The best by the true score of all rankings met on the way."""
    n_iterations: int


def relax(problem: CompoundProblem, start: Mixture, tolerance: float, max_iterations: int) -> Relaxation:
    """The best mixture of rankings, its prices, and the best ranking met on the way."""
    chorded = ChordedDivergence(problem.target, problem.least_share(problem.band.high))
    mixture, met, outcomes = start, list(start.rankings), list(start.outcomes)
    for _ in range(max_iterations):
        outcome = mixture.outcome
        tangent = tangent_at(problem, chorded, outcome)
        ranking = best_ranking(problem.page_scores(tangent.price), len(problem.discounts))
        found = problem.outcome(ranking)
        met.append(ranking)
        outcomes.append(found)
        if float(np.append(tangent.price, 1.0) @ (found - outcome)) <= tolerance * outcome[-1]:
            break
        corrected = _correct(problem, chorded, tangent, mixture.joined(ranking, found))
        if corrected is None:
            break
        mixture = corrected
    best = int(np.argmax(problem.true_log_score(np.array(outcomes))))
    value = float(_log_score(problem, replace(chorded, width=SHARP), mixture.outcome))
    return Relaxation(mixture, value, tangent, met[best], len(met))


def _log_score(
    problem: CompoundProblem, chorded: ChordedDivergence, outcomes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The objective of the relaxation: the log score under the chorded divergence, less a penalty off the band."""
    divergence = problem.unit * (chorded.value(shares(outcomes)) + problem.unreachable)
    penalty = 0.5 * problem.stiffness * problem.band.excess(outcomes[..., :-1].sum(axis=-1)) ** 2
    return problem.log_score(outcomes, divergence) - penalty


def _correct(problem: CompoundProblem, chorded: ChordedDivergence, at: Tangent, mixture: Mixture) -> Mixture | None:
    """The mixture with better weights; None when no step improves it."""
    newest = np.zeros(len(mixture.weights))
    newest[-1] = 1.0
    goal = minimise_on_simplex(*_model(problem, chorded, at, mixture), mixture.weights)
    ways = np.array([goal - mixture.weights, newest - mixture.weights])
    tried = (mixture.weights + STEPS[:, None, None] * ways).reshape(-1, len(newest))
    scores = _log_score(problem, chorded, tried @ mixture.outcomes)
    best = int(np.argmax(scores))
    if scores[best] <= _log_score(problem, chorded, mixture.outcome):
        return None
    return mixture.reweighted(np.where(tried[best] > LEAST, tried[best], 0.0))


def _model(
    problem: CompoundProblem, chorded: ChordedDivergence, at: Tangent, mixture: Mixture
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Q and b of the quadratic model ½ wᵀ Q w − bᵀ w of minus the objective around the mixture.

    Its Hessian is that of −log relevance, that of the divergence for a fixed total exposure, the square of the
    gradient that −log(1 − JSD) adds, and off the band that of its penalty; in scaled coordinates it is the identity.
    """
    exposures, relevance = mixture.outcomes[:, :-1], mixture.outcomes[:, -1:]
    outcome, share = mixture.outcome, shares(mixture.outcome)
    total, unit = max(float(outcome[:-1].sum()), LEAST), max(float(outcome[-1]), LEAST)
    curvature = problem.unit * np.maximum(chorded.curvature(share), LEAST_CURVATURE) / total**2
    scale = np.sqrt(problem.fairness * curvature / max(1.0 - at.divergence, LEAST))
    along = (at.price - at.price @ share) / (unit * np.sqrt(problem.fairness))
    coordinates = [exposures * scale, relevance / unit, exposures @ along[:, None]]
    if at.is_off_band:
        coordinates.append(exposures.sum(axis=1, keepdims=True) * np.sqrt(problem.stiffness))
    scaled = np.hstack(coordinates)
    quadratic = scaled @ scaled.T
    return quadratic, quadratic @ mixture.weights + mixture.outcomes @ np.append(at.price, 1.0) / unit
