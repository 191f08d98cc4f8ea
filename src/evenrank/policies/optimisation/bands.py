"""Task 1: relaxations where they matter, and the upper bound that they prove.

Pages of no counted group take exposure from all groups at once. A relaxation over all totals would let this exposure
go to nothing, in perfect proportions that no ranking can show. So relaxations keep to a band of totals: first around
the order by relevance, then wherever the bound is highest, until that is a place already looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from evenrank.policies.optimisation.band import Band
from evenrank.policies.optimisation.compound import CompoundProblem
from evenrank.policies.optimisation.mixture import Mixture
from evenrank.policies.optimisation.relaxation import Relaxation, relax
from evenrank.policies.optimisation.upper_bound import BandBounds

MAX_RELAXATIONS = 12


@dataclass(frozen=True)
class Effort:
    """How exactly relaxations are solved."""

    tolerance: float
    max_iterations: int
    width: float
    """A relaxation looks at totals from 1 / width to width times the one in question."""


FIRST_WIDTH = 1.2
"""Of the relaxation around the order by relevance."""
COARSE = 0.005
"""Share of all exposure at the last rank above which whole pages cost more than an inexact relaxation."""
COARSE_EFFORT = Effort(tolerance=5e-4, max_iterations=25, width=1.1)
FINE_WIDTH = 1.03


def solve_bands(
    problem: CompoundProblem, start: Mixture, tolerance: float, max_iterations: int
) -> tuple[list[Relaxation], float]:
    """Relaxations, and a score that no ranking exceeds.

    With few ranks `tolerance` and `max_iterations` give way to `COARSE_EFFORT`: many rough relaxations prove more.
    """
    is_coarse = problem.discounts[-1] > COARSE * problem.discounts.sum()
    effort = COARSE_EFFORT if is_coarse else Effort(tolerance, max_iterations, FINE_WIDTH)
    bounds = BandBounds.of(problem)
    solved: list[Relaxation] = []
    totals: list[float] = []
    mixture, total, width = start, float(start.outcome[:-1].sum()), FIRST_WIDTH
    while len(solved) < MAX_RELAXATIONS and not _is_near(total, totals, effort.width):
        band = Band(total / width, total * width)
        relaxation = relax(replace(problem, band=band), mixture, effort.tolerance, effort.max_iterations)
        solved.append(relaxation)
        totals.append(float(relaxation.mixture.outcome[:-1].sum()))
        bounds.learn(relaxation.tangent)
        highest, bound = bounds.highest()
        mixture, total, width = relaxation.mixture, (highest.low * highest.high) ** 0.5, effort.width
    return solved, bound


def _is_near(total: float, others: list[float], width: float) -> bool:
    """Is one of the others within a factor of `width`?"""
    return any(1.0 / width < total / other < width for other in others)
