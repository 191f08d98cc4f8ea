"""From the weights of a mixture to whole numbers of rankings, and to an order that is balanced all along."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def largest_remainder(weights: NDArray[np.float64], n_slots: int) -> NDArray[np.int64]:
    """Whole numbers with sum `n_slots` in proportion to `weights` (which sum to 1), by largest remainder."""
    quota = weights * n_slots
    counts = np.floor(quota + 1e-9).astype(np.int64)
    by_remainder = np.argsort(counts - quota, kind="stable")
    counts[by_remainder[: n_slots - counts.sum()]] += 1
    return counts


def move_units(
    counts: NDArray[np.int64], quadratic: NDArray[np.float64], linear: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Counts after all single-unit moves that lower ½ wᵀ Q w − bᵀ w, where w = counts / Σ counts."""
    counts, unit = counts.copy(), 1.0 / counts.sum()
    diagonal = quadratic.diagonal()
    curvature = 0.5 * unit**2 * (diagonal[:, None] + diagonal[None, :] - 2.0 * quadratic)
    for _ in range(10 * int(counts.sum())):
        slope = unit * (quadratic @ (counts * unit) - linear)
        change = slope[None, :] - slope[:, None] + curvature
        change[counts == 0] = np.inf
        source, goal = np.unravel_index(np.argmin(change), change.shape)
        if change[source, goal] >= -1e-12:
            break
        counts[source] -= 1
        counts[goal] += 1
    return counts


def balanced_order(outcomes: NDArray[np.float64]) -> NDArray[np.intp]:
    """Which ranking comes when, so that every prefix has nearly the mean outcome.

    The next ranking is always the one that keeps the sum so far nearest to its share of the whole (herding).
    """
    offsets = outcomes - outcomes.mean(axis=0)
    distance = np.einsum("ij,ij->i", offsets, offsets)
    order = np.empty(len(outcomes), np.intp)
    for slot in range(len(order)):
        order[slot] = chosen = int(np.argmin(distance))
        distance += 2.0 * (offsets @ offsets[chosen])
        distance[chosen] = np.inf
    return order
