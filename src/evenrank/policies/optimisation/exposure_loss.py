"""Task 2: the stochastic policy of least expected exposure loss, by fully corrective Frank–Wolfe in group space.

Minimises F(e) = ‖Aᵀe − T‖² − gain · e over the expected exposures e that mixtures of rankings can give (the paper's
EE-L with a reward for relevance). Only the exposure of groups and the gain of a ranking enter, so the work is done on
few numbers per ranking: the gradient prices each page, the pages with the best prices make the next ranking, and the
weights of all rankings so far are found anew. F is convex: its linearisation anywhere bounds it from below.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.mixture import Mixture
from evenrank.policies.optimisation.permutohedron import best_ranking, support
from evenrank.policies.optimisation.simplex import minimise_on_simplex


@dataclass(frozen=True)
class ExposureProblem:
    """What is to be shown to whom, in arrays."""

    rows: NDArray[np.float64]
    """Page type by group."""
    page_type: NDArray[np.intp]
    page_weight: NDArray[np.float64]
    """What a page's exposure counts for: 1, or its probability of relevance."""
    gain: NDArray[np.float64]
    """Reward of a page per unit of exposure, in units of the loss."""
    target: NDArray[np.float64]
    """Wanted exposure of each group."""
    discounts: NDArray[np.float64]
    """Attention of each rank; no more ranks than pages."""

    def page_scores(self, price: NDArray[np.float64], gain_price: float = 1.0) -> NDArray[np.float64]:
        """Value of a unit of exposure of each page, when the groups have these prices."""
        return np.asarray((self.rows @ price)[self.page_type] * self.page_weight + gain_price * self.gain)

    def outcome(self, ranking: NDArray[np.intp]) -> NDArray[np.float64]:
        """Exposure of each group, and last the gain."""
        weights = self.discounts[: len(ranking)]
        by_type = np.bincount(self.page_type[ranking], weights * self.page_weight[ranking], minlength=len(self.rows))
        return np.append(by_type @ self.rows, weights @ self.gain[ranking])

    def loss(self, outcome: NDArray[np.float64]) -> float:
        """F of an outcome."""
        return float(np.sum((outcome[:-1] - self.target) ** 2) - outcome[-1])

    def quadratic(self, outcomes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Q and b such that F = ½ wᵀ Q w − bᵀ w + ‖T‖² for the mixture of `outcomes` with weights w."""
        exposure = outcomes[:, :-1]
        return 2.0 * exposure @ exposure.T, 2.0 * exposure @ self.target + outcomes[:, -1]


@dataclass(frozen=True)
class LeastLoss:
    """The mixture found, and how far from the best it can be at most."""

    mixture: Mixture
    loss: float
    lower_bound: float
    """No stochastic policy has a smaller loss."""
    n_iterations: int


def least_loss(problem: ExposureProblem, tolerance: float, max_iterations: int) -> LeastLoss:
    """A mixture of rankings whose loss is within `tolerance` of the smallest possible, or the last one tried."""
    ranking = best_ranking(problem.page_scores(2.0 * problem.target), len(problem.discounts))
    mixture = Mixture.of(ranking, problem.outcome(ranking))
    lower_bound, iteration = -np.inf, 0
    while True:
        outcome = mixture.outcome
        loss = problem.loss(outcome)
        slope = 2.0 * (outcome[:-1] - problem.target)
        ranking = best_ranking(problem.page_scores(-slope), len(problem.discounts))
        found = problem.outcome(ranking)
        lower_bound = max(lower_bound, loss - float(slope @ (outcome - found)[:-1] + (found - outcome)[-1]))
        if loss - lower_bound <= tolerance or iteration >= max_iterations:
            return LeastLoss(mixture, loss, lower_bound, iteration)
        larger = mixture.joined(ranking, found)
        mixture = larger.reweighted(minimise_on_simplex(*problem.quadratic(larger.outcomes), larger.weights))
        iteration += 1


def distance_bound(problem: ExposureProblem, exposure: NDArray[np.float64]) -> float:
    """A lower bound on ‖Aᵀe − T‖² alone, whatever the gain.

    All reachable exposures lie beyond the plane through the best ranking for the direction from `exposure` to the
    target, so none is nearer to the target than that plane.
    """
    direction = problem.target - exposure
    length = float(np.linalg.norm(direction))
    if length < 1e-12:
        return 0.0
    farthest = support(problem.page_scores(direction / length, gain_price=0.0), problem.discounts)
    return max(0.0, float(direction @ problem.target) / length - farthest) ** 2
