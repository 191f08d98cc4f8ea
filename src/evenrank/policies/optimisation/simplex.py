"""Best weights of a mixture: a convex quadratic on the simplex, solved by dropping what turns negative."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
    weights = start.copy()
    face = np.arange(len(weights))
    while True:
        goal = _minimum_on_face(quadratic[np.ix_(face, face)], linear[face])
        here = weights[face]
        step = _step_to_boundary(here, goal)
        moved = np.maximum(here + step * (goal - here), 0.0)
        weights[face] = moved
        if step >= 1.0:
            weights[weights < NOTHING] = 0.0
            return np.asarray(weights / weights.sum())
        blocking = np.argmin(np.where(goal < 0.0, moved, np.inf))
        weights[face[blocking]] = 0.0
        face = face[(moved > NOTHING) & (np.arange(len(face)) != blocking)]


def _minimum_on_face(quadratic: NDArray[np.float64], linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimum under Σ w = 1 alone (the optimality conditions as one linear system)."""
    size = len(linear)
    system = np.ones((size + 1, size + 1))
    system[:size, :size] = quadratic
    diagonal = quadratic.diagonal()
    system.flat[: size * (size + 2) : size + 2] += RIDGE * (diagonal.max() or 1.0)
    system[size, size] = 0.0
    return np.asarray(np.linalg.solve(system, np.append(linear, 1.0))[:size])


def _step_to_boundary(here: NDArray[np.float64], goal: NDArray[np.float64]) -> float:
    """Share of the way from `here` to `goal` that keeps all weights non-negative."""
    shrinking = goal < -NOTHING
    if not shrinking.any():
        return 1.0
    return float(np.min(here[shrinking] / (here[shrinking] - goal[shrinking])))
