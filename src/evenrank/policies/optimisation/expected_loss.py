"""Task 2: the stochastic policy of least expected loss, found through prices of groups and proved by a linear oracle.

Minimises F(e) = ‖Aᵀe − T‖² + Σ pull · (e − share)² − gain · e over the expected exposures e that mixtures of rankings
can give. The first part is the paper's EE-L for the groups as they are expected to be; the second draws each page to
its own fair share, the more so the less is known about it; the third rewards relevance and work. F is convex.

Groups enter through few numbers. For given prices of the groups what is left is a projection onto the permutohedron,
which is a sort and an isotonic regression, so the search for the prices is a smooth problem in as many dimensions as
there are groups (semismooth Newton). At the exposures found, one linear oracle gives the duality gap of Frank and
Wolfe, and with it a bound that holds for every stochastic policy, whatever led there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.permutohedron import Projection, project, support

LEAST_PULL = 0.02
"""Curvature that a step adds where pages have none of their own; the exposures of the last step are then its centre."""
MAX_NEWTON_STEPS = 30
SUFFICIENT_RISE = 1e-4
"""Share of the rise promised by the slope that a Newton step must bring (Armijo)."""
SHORTEST_STEP = 1e-6
PRICE_ACCURACY = 1e-9
"""How well prices must fit the exposures that they lead to, relative to the target."""


@dataclass(frozen=True)
class ExposureProblem:
    """What is to be shown to whom, in arrays."""

    groups: NDArray[np.float64]
    """Page by group: what a unit of a page's exposure is expected to give to each group."""
    target: NDArray[np.float64]
    """Wanted exposure of each group."""
    pull: NDArray[np.float64]
    """How strongly each page is drawn to its fair share."""
    share: NDArray[np.float64]
    """Fair share of exposure of each page."""
    gain: NDArray[np.float64]
    """Reward of a page per unit of exposure, in units of the loss."""
    discounts: NDArray[np.float64]
    """Attention of each rank; no more ranks than pages."""

    def loss(self, exposure: NDArray[np.float64]) -> float:
        """F of the pages' exposures."""
        of_pages = float(self.pull @ (exposure - self.share) ** 2 - self.gain @ exposure)
        return self.group_loss(exposure) + of_pages

    def group_loss(self, exposure: NDArray[np.float64]) -> float:
        """‖Aᵀe − T‖² alone: EE-L for the groups as they are expected to be."""
        return float(np.sum((exposure @ self.groups - self.target) ** 2))

    def slope(self, exposure: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gradient of F."""
        missed = exposure @ self.groups - self.target
        return np.asarray(2.0 * (self.groups @ missed + self.pull * (exposure - self.share)) - self.gain)

    def lower_bound(self, exposure: NDArray[np.float64]) -> float:
        """No stochastic policy has a smaller loss: F is above its tangent plane, whose minimum is one sort."""
        slope = self.slope(exposure)
        return self.loss(exposure) - float(slope @ exposure) - support(-slope, self.discounts)


@dataclass(frozen=True)
class LeastLoss:
    """The expected exposures found, and how far from the best they can be at most."""

    exposure: NDArray[np.float64]
    """Of each page."""
    loss: float
    lower_bound: float
    """No stochastic policy has a smaller loss."""
    n_iterations: int


def least_loss(problem: ExposureProblem, tolerance: float, max_iterations: int) -> LeastLoss:
    """Exposures whose loss is within `tolerance` of the smallest possible, or the best after all iterations.

    Pages are pulled with different strengths, and a projection knows only one: each step puts the largest in place of
    all, around a centre that makes it an upper bound of F, and the centres are extrapolated (Nesterov).
    """
    pull = max(float(problem.pull.max(initial=0.0)), LEAST_PULL)
    centre = exposure = project(problem.share, problem.discounts).point
    prices = 2.0 * (exposure @ problem.groups - problem.target)
    best, bound, momentum, n_iterations = exposure, -np.inf, 1.0, 0
    while True:
        anchor = centre - problem.pull * (centre - problem.share) / pull
        prices, new, n_steps = _solve_prices(problem, anchor, pull, prices)
        n_iterations += max(n_steps, 1)
        bound = max(bound, problem.lower_bound(new))
        if problem.loss(new) < problem.loss(best):
            best = new
        loss = problem.loss(best)
        if loss - bound <= tolerance or n_iterations >= max_iterations:
            return LeastLoss(best, loss, bound, n_iterations)
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        centre = new + (momentum - 1.0) / faster * (new - exposure)
        exposure, momentum = new, faster


def _solve_prices(
    problem: ExposureProblem, anchor: NDArray[np.float64], pull: float, prices: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Minimise ‖Aᵀe − T‖² + pull ‖e − anchor‖² − gain · e: its prices, its exposures, and the Newton steps taken.

    The dual function of the prices π is concave, with the slope Aᵀe(π) − T − π / 2, where e(π) is a projection.
    """
    accuracy = PRICE_ACCURACY * (1.0 + float(np.abs(problem.target).max(initial=0.0)))
    value, found = _dual(problem, anchor, pull, prices)
    n_steps = 0
    while n_steps < MAX_NEWTON_STEPS:
        slope = found.point @ problem.groups - problem.target - 0.5 * prices
        if np.abs(slope).max(initial=0.0) <= accuracy:
            break
        n_steps += 1
        curvature = 0.5 * np.eye(len(prices)) + found.squares(problem.groups) / (2.0 * pull)
        way = np.linalg.solve(curvature, slope)
        rise, length = float(slope @ way), 1.0
        while True:
            moved = prices + length * way
            new_value, new_found = _dual(problem, anchor, pull, moved)
            if new_value >= value + SUFFICIENT_RISE * length * rise or length < SHORTEST_STEP:
                break
            length *= 0.5
        if length < SHORTEST_STEP:
            break
        prices, value, found = moved, new_value, new_found
    return prices, found.point, n_steps


def _dual(
    problem: ExposureProblem, anchor: NDArray[np.float64], pull: float, prices: NDArray[np.float64]
) -> tuple[float, Projection]:
    """The dual function at prices of the groups, and the projection that gives the exposures."""
    reward = problem.gain - problem.groups @ prices
    found = project(anchor + reward / (2.0 * pull), problem.discounts)
    of_pages = pull * float(np.sum((found.point - anchor) ** 2)) - float(reward @ found.point)
    return of_pages - float(prices @ problem.target) - 0.25 * float(prices @ prices), found


def distance_bound(problem: ExposureProblem, exposure: NDArray[np.float64]) -> float:
    """A lower bound on ‖Aᵀe − T‖² alone, whatever else counts.

    All reachable exposures lie beyond the plane through the best ranking for the direction from what `exposure` gives
    the groups to the target, so none is nearer to the target than that plane.
    """
    direction = problem.target - exposure @ problem.groups
    length = float(np.linalg.norm(direction))
    if length < PRICE_ACCURACY:
        return 0.0
    farthest = support(problem.groups @ (direction / length), problem.discounts)
    return max(0.0, float(direction @ problem.target) / length - farthest) ** 2


def mean_exposure(positions: NDArray[np.intp], weights: NDArray[np.float64], n_pages: int) -> NDArray[np.float64]:
    """Exposure of each page, mean over the rankings."""
    total = np.bincount(positions.reshape(-1), np.tile(weights, len(positions)), minlength=n_pages)
    return np.asarray(total / len(positions))
