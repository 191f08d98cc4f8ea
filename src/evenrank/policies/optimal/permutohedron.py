"""The set of exposures that rankings can give, its linear oracle (one partial sort) and the projection onto it.

A ranking gives its pages the discounts of their ranks and all other pages nothing. The mixtures of rankings give the
convex hull of these vectors, a permutohedron; a linear function is largest there on the ranking by its coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


def best_ranking(scores: NDArray[np.float64], length: int) -> NDArray[np.intp]:
    """Positions of the `length` largest scores, largest first; equal scores stay in candidate order."""
    surely_in = np.arange(len(scores))
    if len(scores) > 2 * length > 0:
        least = np.partition(scores, len(scores) - length)[len(scores) - length]
        surely_in = np.flatnonzero(scores >= least)
    order = np.argsort(-scores[surely_in], kind="stable")[:length]
    return surely_in[order]


def support(scores: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The largest Σ scores · exposure over all rankings with discounts `weights`."""
    return float(supports(scores, weights))


def supports(scores: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same for many scores at once, pages on the last axis."""
    n_pages = scores.shape[-1]
    length = min(len(weights), n_pages)
    top = np.partition(scores, n_pages - length)[..., n_pages - length :] if length < n_pages else scores
    return np.asarray(np.sort(top)[..., ::-1] @ weights[:length])


def strongest_per_type(page_type: NDArray[np.intp], gain: NDArray[np.float64], length: int) -> NDArray[np.intp]:
    """Positions, in candidate order, of the `length` pages with the largest gain within each page type.

    Pages of one type differ in their gain alone, so a best ranking never needs any other page.
    """
    order = np.lexsort((-gain, page_type))
    types = page_type[order]
    first_of_type = np.searchsorted(types, types)
    return np.sort(order[np.arange(len(order)) - first_of_type < length])


@dataclass(frozen=True)
class Projection:
    """The nearest point of the permutohedron, and what changes with the point that was projected."""

    point: NDArray[np.float64]
    order: NDArray[np.intp]
    """Pages in falling order of the point that was projected."""
    starts: NDArray[np.intp]
    """Where blocks of that order begin: pages of one block share its ranks, and a page alone has a rank to itself."""

    def squares(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """rowsᵀ J rows, where J is the derivative of the projection: the scatter of the rows within blocks."""
        sizes = np.diff(self.starts, append=len(self.order))
        is_shared = np.repeat(sizes > 1, sizes)
        shared, sizes = rows[self.order[is_shared]], sizes[sizes > 1]
        if not len(sizes):
            return np.zeros((rows.shape[1], rows.shape[1]))
        sums = np.add.reduceat(shared, np.cumsum(sizes) - sizes)
        return np.asarray(shared.T @ shared - (sums / sizes[:, None]).T @ sums)


def project(point: NDArray[np.float64], weights: NDArray[np.float64]) -> Projection:
    """The exposures nearest to `point` that mixtures of rankings with discounts `weights` can give.

    With x sorted falling they are x − v, where v is the falling sequence nearest to x − weights (isotonic regression;
    Blondel et al., Fast differentiable sorting and ranking, ICML 2020).
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(-point, kind="stable")
    falling = point[order]
    above = falling.copy()
    above[: len(weights)] -= weights
    found = isotonic_regression(above, increasing=False)
    nearest = np.empty(len(point))
    nearest[order] = falling - found.x
    return Projection(np.maximum(nearest, 0.0), order, np.asarray(found.blocks[:-1], np.intp))


@dataclass(frozen=True)
class Mixture:
    """Rankings with weights. The outcome of a ranking is its exposure of each group, and last its relevance."""

    rankings: tuple[NDArray[np.intp], ...]
    """Positions of pages, rank 1 first."""
    outcomes: NDArray[np.float64]
    """Ranking by outcome."""
    weights: NDArray[np.float64]
    """Share of each ranking; sums to 1."""

    @classmethod
    def of(cls, ranking: NDArray[np.intp], outcome: NDArray[np.float64]) -> Mixture:
        """The mixture of a single ranking."""
        return cls((ranking,), outcome[None, :], np.ones(1))

    @property
    def outcome(self) -> NDArray[np.float64]:
        """Expected outcome."""
        return np.asarray(self.weights @ self.outcomes)

    def exposure(self, discounts: NDArray[np.float64], n_pages: int) -> NDArray[np.float64]:
        """Expected exposure of each page."""
        exposure = np.zeros(n_pages)
        for ranking, weight in zip(self.rankings, self.weights, strict=True):
            exposure[ranking] += weight * discounts
        return exposure

    def joined(self, ranking: NDArray[np.intp], outcome: NDArray[np.float64], weight: float = 0.0) -> Mixture:
        """The same mixture with one more ranking, of share `weight`."""
        weights = np.append(self.weights * (1.0 - weight), weight)
        return Mixture((*self.rankings, ranking), np.vstack([self.outcomes, outcome]), weights)

    def reweighted(self, weights: NDArray[np.float64]) -> Mixture:
        """Other shares for the same rankings; those left without any are dropped."""
        kept = np.flatnonzero(weights > 0.0)
        return Mixture(tuple(self.rankings[i] for i in kept), self.outcomes[kept], weights[kept] / weights[kept].sum())


RIDGE = 1e-10
"""Added to the diagonal, relative to its largest entry: rankings of equal outcome would make the system singular."""
NOTHING = 1e-12
"""Weights below this are zero."""


def minimise_on_simplex(
    quadratic: NDArray[np.float64], linear: NDArray[np.float64], start: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weights w ≥ 0 with Σ w = 1 and a small ½ wᵀ Q w − bᵀ w, never worse than the feasible `start`.

    Walks from `start` towards the minimum on the current face; where a weight would turn negative it stops, drops
    the vertex and goes on with the smaller face (the inner loop of Wolfe's and of Lawson and Hanson's method).
    """
    system, right = _optimality(quadratic, linear)
    face, here = np.arange(len(start)), start
    goal: NDArray[np.float64] = np.linalg.solve(system, right)[:-1].astype(np.float64, copy=False)
    while goal.min() < -NOTHING:
        moved = here + _step_to_boundary(here, goal) * (goal - here)
        stays = moved > NOTHING
        stays[np.argmin(np.where(goal < 0.0, moved, np.inf))] = False
        face, here = face[stays], moved[stays]
        kept = np.append(np.flatnonzero(stays), len(stays))
        system, right = system[kept][:, kept], right[kept]
        goal = np.linalg.solve(system, right)[:-1]
    weights = np.zeros(len(start))
    weights[face] = np.where(goal < NOTHING, 0.0, goal)
    return np.asarray(weights / weights.sum())


def _optimality(
    quadratic: NDArray[np.float64], linear: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The conditions of a minimum under Σ w = 1 alone, as a linear system; its last unknown is a multiplier.

    The minimum on a face solves the system with the rows and columns of the face.
    """
    size = len(linear)
    system = np.ones((size + 1, size + 1))
    system[:size, :size] = quadratic
    system.flat[: size * (size + 2) : size + 2] += RIDGE * (quadratic.diagonal().max() or 1.0)
    system[size, size] = 0.0
    return system, np.append(linear, 1.0)


def _step_to_boundary(here: NDArray[np.float64], goal: NDArray[np.float64]) -> float:
    """Share of the way from `here` to `goal` that keeps all weights non-negative; some weight shrinks below zero."""
    shrinking = goal < -NOTHING
    return float((here[shrinking] / (here[shrinking] - goal[shrinking])).min())
