"""Task 1: the best mixture of rankings for log relevance + fairness · log(1 − JSD), by second-order Frank–Wolfe.

Each round prices the pages by the gradient, takes the best ranking for these prices, and finds new weights for all
rankings so far from a quadratic model of the objective. Rounds run over ever narrower bends of the chorded divergence,
so that prices settle where a group is just shown or just not shown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.compound import LEAST, CompoundProblem, shares
from evenrank.policies.optimisation.divergence import ChordedDivergence
from evenrank.policies.optimisation.mixture import Mixture
from evenrank.policies.optimisation.permutohedron import best_ranking
from evenrank.policies.optimisation.simplex import minimise_on_simplex
from evenrank.policies.optimisation.tangent import Linearisation, Tangent, linearise, tangent_of

WIDTHS = (1.0, 0.2, 0.04, 0.008)
"""Widths of the bend, one after the other."""
STEPS = np.array([1.0, 0.7, 0.4, 0.2, 0.1, 0.05, 0.02, 0.01, 3e-3, 1e-3, 1e-4])
"""Shares of the way to the model's optimum, and to the new ranking, that are tried."""
LEAST_CURVATURE = 1e-3
"""Of a group on the chord, so that the model stays bounded."""


@dataclass(frozen=True)
class Relaxation:
    """What the rounds ended with."""

    mixture: Mixture
    log_score: float
    """Of the mixture under the chorded divergence; no ranking is above it by more than the tolerance."""
    price: NDArray[np.float64]
    """What exposure of each group is worth, in relevance."""
    tangent: Tangent
    """For the upper bound."""
    best_ranking: NDArray[np.intp]
    """The best by the true score of all rankings met on the way."""
    n_iterations: int


def relax(problem: CompoundProblem, start: Mixture, tolerance: float, max_iterations: int) -> Relaxation:
    """The best mixture of rankings, the tangent that proves it, and the best ranking met on the way."""
    mixture, met = start, list(start.rankings)
    for width in WIDTHS:
        chorded = ChordedDivergence(problem.target, problem.least_share(), width)
        close_enough = tolerance * width / WIDTHS[-1]
        for _ in range(max_iterations // len(WIDTHS)):
            outcome = mixture.outcome
            at = linearise(problem, chorded, outcome)
            ranking = best_ranking(problem.page_scores(at.price), len(problem.discounts))
            found = problem.outcome(ranking)
            met.append(ranking)
            is_best = float(np.append(at.price, 1.0) @ (found - outcome)) <= close_enough * outcome[-1]
            corrected = mixture if is_best else _correct(problem, chorded, at, mixture.joined(ranking, found))
            if corrected is None or is_best:
                break
            mixture = corrected
    scores = problem.true_log_score(np.array([problem.outcome(ranking) for ranking in met]))
    value = float(_log_score(problem, chorded, mixture.outcome))
    tangent = tangent_of(problem, chorded, at)
    return Relaxation(mixture, value, at.price, tangent, met[int(np.argmax(scores))], len(met))


def _log_score(
    problem: CompoundProblem, chorded: ChordedDivergence, outcomes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The objective of the relaxation."""
    return problem.log_score(outcomes, problem.unit * (chorded.value(shares(outcomes)) + problem.unreachable))


def _correct(
    problem: CompoundProblem, chorded: ChordedDivergence, at: Linearisation, mixture: Mixture
) -> Mixture | None:
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
    problem: CompoundProblem, chorded: ChordedDivergence, at: Linearisation, mixture: Mixture
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Q and b of the quadratic model ½ wᵀ Q w − bᵀ w of minus the objective around the mixture.

    Its Hessian is that of −log relevance, that of the divergence for a fixed total exposure, and the square of the
    gradient that −log(1 − JSD) adds; in scaled coordinates it is the identity.
    """
    outcome = mixture.outcome
    total = max(float(outcome[:-1].sum()), LEAST)
    gradient = np.append(at.price, 1.0) / outcome[-1]
    curvature = problem.unit * np.maximum(chorded.curvature(shares(outcome)), LEAST_CURVATURE) / total**2
    scale = np.sqrt(problem.fairness * curvature / max(1.0 - at.divergence, LEAST))
    along = mixture.outcomes[:, :-1] @ gradient[:-1] / np.sqrt(problem.fairness)
    scaled = np.column_stack([mixture.outcomes[:, :-1] * scale, mixture.outcomes[:, -1] / outcome[-1], along])
    quadratic = scaled @ scaled.T
    return quadratic, quadratic @ mixture.weights + mixture.outcomes @ gradient
