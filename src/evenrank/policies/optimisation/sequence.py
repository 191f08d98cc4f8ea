"""Task 2, from the best mixture to the rankings that editors see: apportioned, ordered, certified."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.apportion import balanced_order, largest_remainder, move_units
from evenrank.policies.optimisation.exposure_loss import ExposureProblem, LeastLoss, distance_bound, least_loss
from evenrank.policies.optimisation.polish import polish


@dataclass(frozen=True)
class Sequence:
    """Rankings in the order in which they are shown."""

    positions: NDArray[np.intp]
    """Ranking by rank."""
    outcome: NDArray[np.float64]
    """Mean exposure of each group, and last the mean gain."""
    best: LeastLoss
    """The mixture that the rankings stand for."""


def make_sequence(problem: ExposureProblem, n_rankings: int, tolerance: float, max_iterations: int) -> Sequence:
    """`n_rankings` rankings whose mean exposure is as near to the best mixture as whole numbers allow."""
    best = least_loss(problem, tolerance, max_iterations)
    mixture = best.mixture
    counts = largest_remainder(mixture.weights, n_rankings)
    counts = move_units(counts, *problem.quadratic(mixture.outcomes))
    positions = np.repeat(np.array(mixture.rankings), counts, axis=0)
    if problem.loss(counts @ mixture.outcomes / n_rankings) > best.loss + tolerance:
        positions = polish(problem, positions, good_enough=best.loss + tolerance)
    outcomes = np.array([problem.outcome(ranking) for ranking in positions])
    return Sequence(positions[balanced_order(outcomes)], outcomes.mean(axis=0), best)


def certify(problem: ExposureProblem, sequence: Sequence, unreachable: float) -> dict[str, float]:
    """How far the sequence is from the best stochastic policy.

    `unreachable` is the part of the loss that no candidate can serve: groups with a target and without a page.
    """
    loss = problem.loss(sequence.outcome)
    exposure = sequence.outcome[:-1]
    return {
        "objective": loss + unreachable,
        "lower_bound": sequence.best.lower_bound + unreachable,
        "gap": max(0.0, loss - sequence.best.lower_bound),
        "rounding": loss - sequence.best.loss,
        "EE-L": float(np.sum((exposure - problem.target) ** 2)) + unreachable,
        "EE-L_lower_bound": distance_bound(problem, exposure) + unreachable,
        "n_distinct": float(len(np.unique(sequence.positions, axis=0))),
        "n_iterations": float(sequence.best.n_iterations),
    }
