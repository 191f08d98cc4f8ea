"""Task 2: what is lost when few rankings stand for a mixture is won back by swaps within single rankings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.exposure_loss import ExposureProblem
from evenrank.policies.optimisation.permutohedron import first_of_each_type

MAX_ROUNDS = 20
IMPROVEMENT = 1e-12


def polish(problem: ExposureProblem, positions: NDArray[np.intp], good_enough: float) -> NDArray[np.intp]:
    """The rankings after rounds of best swaps, one in each ranking, until the loss is `good_enough` or stays.

    A swap exchanges two ranks, or a rank and the most rewarding unused page of a type, which has the discount 0.
    """
    positions = positions.copy()
    by_type = np.lexsort((-problem.gain, problem.page_type))
    total = np.sum([problem.outcome(ranking) for ranking in positions], axis=0)
    for _ in range(MAX_ROUNDS):
        before = problem.loss(total / len(positions))
        for index in range(len(positions)):
            old = positions[index]
            new = _best_swap(problem, old, total / len(positions), len(positions), by_type)
            total += problem.outcome(new) - problem.outcome(old)
            positions[index] = new
        loss = problem.loss(total / len(positions))
        if loss <= good_enough or loss >= before - IMPROVEMENT:
            break
    return positions


def _best_swap(
    problem: ExposureProblem,
    ranking: NDArray[np.intp],
    mean: NDArray[np.float64],
    n_rankings: int,
    by_type: NDArray[np.intp],
) -> NDArray[np.intp]:
    """The ranking after the swap that lowers the loss most, or as it is."""
    is_used = np.zeros(len(problem.gain), np.bool_)
    is_used[ranking] = True
    free = by_type[~is_used[by_type]]
    pages = np.concatenate([ranking, free[first_of_each_type(problem.page_type[free])]])
    weights = np.zeros(len(pages))
    weights[: len(ranking)] = problem.discounts[: len(ranking)]
    change = _changes(problem, pages, weights / n_rankings, mean)
    first, second = np.unravel_index(np.argmin(change), change.shape)
    if change[first, second] < -IMPROVEMENT:
        pages[[first, second]] = pages[[second, first]]
    return pages[: len(ranking)]


def _changes(
    problem: ExposureProblem, pages: NDArray[np.intp], weights: NDArray[np.float64], mean: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Change of the loss by each swap: first ranks by all pages."""
    rows = problem.rows[problem.page_type[pages]] * problem.page_weight[pages, None]
    slope = 2.0 * rows @ (mean[:-1] - problem.target) - problem.gain[pages]
    products = rows @ rows.T
    lengths = products.diagonal()
    drop = weights[:, None] - weights[None, :]
    distance = lengths[:, None] + lengths[None, :] - 2.0 * products
    return np.asarray(drop * (slope[None, :] - slope[:, None]) + drop**2 * distance)
