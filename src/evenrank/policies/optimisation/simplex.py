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
