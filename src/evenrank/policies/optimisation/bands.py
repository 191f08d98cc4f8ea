"""Task 1: relaxations where they matter, and the upper bound that they prove.

Pages of no counted group take exposure from all groups at once. A relaxation over all totals would let this exposure
go to nothing, in perfect proportions that no ranking can show. So relaxations keep to a band of totals: first around
the order by relevance, then wherever the bound is highest, until that is a place already looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evenrank.policies.optimisation.compound import Band, CompoundProblem
from evenrank.policies.optimisation.permutohedron import Mixture
from evenrank.policies.optimisation.relaxation import Relaxation, Tangent, relax
from evenrank.policies.optimisation.upper_bound import RATES, BandBounds

MAX_RELAXATIONS = 12
"""Whatever the bound: a relaxation may end outside of its band, and leave the highest bound where it was."""
ENOUGH = 2e-4
"""Share by which looking again at the same place must lower the bound to be worth it."""


COARSE = 0.005
"""Share of all exposure that the last rank has in a short ranking, where whole pages matter."""


@dataclass(frozen=True)
class Effort:
    """How exactly relaxations are solved."""

    tolerance: float
    """Share of the score that a relaxation may miss."""
    max_iterations: int
    """Of one relaxation."""
    budget: int
    """Iterations of all relaxations together."""
    first_width: float
    """The first relaxation looks at totals from 1 / width to width times that of the order by relevance."""
    width: float
    """The same for the others."""
    n_rates: int = len(RATES)
    """Multiples of each relaxation's rate that the bound is tried with."""
    n_between: int = 5
    """Prices between those of neighbouring relaxations that the bound is tried with."""
    assigns: bool = False
    """Whether the bounds of short lists are made tighter by assignments, which takes as long as all the rest."""


ON_THE_WAY = Effort(1e-3, max_iterations=12, budget=30, first_width=1.1, width=1.05, n_rates=2, n_between=2)
"""For a depth above the end of a list, where the bound is a by-product."""
AT_THE_END = Effort(1e-4, max_iterations=60, budget=100, first_width=1.1, width=1.05, n_rates=3)
"""For the depth of the whole list."""
BRIEF = Effort(1e-3, max_iterations=12, budget=12, first_width=1.1, width=1.05, n_rates=1)
"""One relaxation for a depth above the end of a list, for people who wait."""
BRIEF_END = Effort(1e-3, max_iterations=30, budget=30, first_width=1.1, width=1.05, n_rates=2)
"""The same for the whole list."""


def thorough_effort(problem: CompoundProblem, tolerance: float, max_iterations: int) -> Effort:
    """With few ranks whole pages cost more than an inexact relaxation: many rough relaxations prove more there."""
    is_coarse = problem.discounts[-1] > COARSE * problem.discounts.sum()
    if is_coarse:
        budget = min(150, max_iterations)
        return Effort(2e-4, max_iterations=30, budget=budget, first_width=1.05, width=1.05, assigns=True)
    return Effort(tolerance, max_iterations, budget=max_iterations, first_width=1.2, width=1.03)


def solve_bands(
    problem: CompoundProblem, start: Mixture, effort: Effort, floor: float
) -> tuple[list[Relaxation], BandBounds]:
    """Relaxations, and bounds: no ranking has a higher score than that of its band, or than the known score `floor`."""
    bounds = BandBounds.of(problem, floor)
    solved: list[Relaxation] = []
    looked_at: list[float] = []
    total, width, mixture, left = float(start.outcome[:-1].sum()), effort.first_width, start, effort.budget
    while True:
        banded = replace(problem, band=Band(total / width, total * width))
        relaxation = relax(banded, mixture, effort.tolerance, min(left, effort.max_iterations))
        before = bounds.highest()[1]
        _learn(bounds, relaxation.tangent, [other.tangent for other in solved], effort)
        solved.append(relaxation)
        looked_at += [total, relaxation.tangent.total]
        total, bound = bounds.highest()
        left -= relaxation.n_iterations
        nearest = min(solved, key=lambda other: abs(np.log(other.tangent.total / total)))
        is_stuck = nearest.n_iterations < effort.max_iterations or bound > before * (1.0 - ENOUGH)
        is_known = any(1.0 / effort.width < total / other < effort.width for other in looked_at)
        if left <= 0 or len(solved) >= MAX_RELAXATIONS or (is_stuck and is_known):
            return solved, bounds
        mixture, width = nearest.mixture, effort.width


def _learn(bounds: BandBounds, tangent: Tangent, others: list[Tangent], effort: Effort) -> None:
    """Lower the bounds with new prices, and with those between them and the ones of neighbouring totals."""
    bounds.learn(tangent, effort.n_rates)
    below = [other for other in others if other.total < tangent.total]
    above = [other for other in others if other.total >= tangent.total]
    if below:
        bounds.learn_between(max(below, key=lambda other: other.total), tangent, effort.n_between)
    if above:
        bounds.learn_between(tangent, min(above, key=lambda other: other.total), effort.n_between)
