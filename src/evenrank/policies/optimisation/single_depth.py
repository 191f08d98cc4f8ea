"""Task 1: the best that one depth allows, whatever the list is like above or below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.bands import Effort, solve_bands
from evenrank.policies.optimisation.compound import LEAST, Band, CompoundProblem
from evenrank.policies.optimisation.permutohedron import Mixture, best_ranking, strongest_per_type, support
from evenrank.policies.optimisation.relaxation import Relaxation, relax
from evenrank.policies.optimisation.upper_bound import BandBounds

GROUPS_FIRST = 1e3
"""Worth of a page of some group, when a ranking shows such pages first."""
GROUPS_FIRST_SHARE = 0.1
"""Share of that ranking in the mixture that a relaxation starts from, so that no group has no exposure."""
REVALUED_BAND = 1.1
"""How far the total exposure of groups may move when pages are valued anew."""
REVALUED_TOLERANCE, REVALUED_ITERATIONS = 1e-3, 12
"""Of the relaxation with other values, which starts near its optimum."""


@dataclass(frozen=True)
class FreeSolution:
    """The best that a depth alone allows."""

    problem: CompoundProblem
    """Over all candidates."""
    kept: NDArray[np.intp]
    """Pages that the relaxations looked at: no others can be in a best ranking."""
    relaxations: Sequence[Relaxation]
    """None when fairness does not count, or no candidate is in a group."""
    bounds: BandBounds | None

    @property
    def best(self) -> Relaxation:
        return max(self.relaxations, key=lambda relaxation: relaxation.log_score)

    def awrf(self) -> float:
        """Of the best mixture."""
        log_relevance = np.log(max(float(self.best.mixture.outcome[-1]), LEAST))
        return float(np.exp((self.best.log_score - log_relevance) / self.problem.fairness))

    def slope(self) -> NDArray[np.float64]:
        """What a unit of exposure of each page adds to the score, at the best mixture.

        Divided by AWRF^(fairness − 1), so that depths are comparable whatever the weight of fairness.
        """
        return self.awrf() * self.problem.page_scores(self.best.tangent.price)

    def exposure(self) -> NDArray[np.float64]:
        """Expected exposure of each page in the best mixture."""
        exposure = np.zeros(len(self.problem.relevance))
        for ranking, weight in zip(self.best.mixture.rankings, self.best.mixture.weights, strict=True):
            exposure[self.kept[ranking]] += weight * self.problem.discounts
        return exposure

    def revalued(self, relevance_power: float) -> FreeSolution:
        """The best when pages are worth a power of their relevance; the bounds stay those of the measure."""
        if relevance_power == 1.0 or not self.relaxations:
            return self
        worth = (self.problem.relevance / self.problem.relevance.max()) ** relevance_power
        worth /= support(worth, self.problem.discounts) or 1.0
        problem = replace(self.problem, relevance=worth)
        total, found = self.best.tangent.total, self.best.mixture
        kept = replace(problem.restricted(self.kept), band=Band(total / REVALUED_BAND, total * REVALUED_BAND))
        outcomes = np.array([kept.outcome(ranking) for ranking in found.rankings])
        start = Mixture(found.rankings, outcomes, found.weights)
        relaxation = relax(kept, start, REVALUED_TOLERANCE, REVALUED_ITERATIONS)
        return replace(self, problem=problem, relaxations=(relaxation,))


def solve_free(problem: CompoundProblem, effort: Effort) -> FreeSolution:
    """Relaxations and bounds for one depth."""
    length = len(problem.discounts)
    kept = strongest_per_type(problem.page_type, problem.relevance, length)
    free = problem.restricted(kept)
    by_relevance = best_ranking(free.relevance, length)
    start = _start(free, by_relevance)
    if problem.fairness <= 0.0 or not start.outcome[:-1].any():
        return FreeSolution(problem, kept, (), None)
    return FreeSolution(problem, kept, *solve_bands(free, start, effort, floor=free.score(by_relevance)))


def _start(problem: CompoundProblem, by_relevance: NDArray[np.intp]) -> Mixture:
    """Relevance order, and a share of the order that shows pages of some group first, so that none has no exposure."""
    in_groups = problem.rows.sum(axis=1)[problem.page_type]
    groups_first = best_ranking(problem.relevance + GROUPS_FIRST * in_groups, len(problem.discounts))
    start = Mixture.of(by_relevance, problem.outcome(by_relevance))
    return start.joined(groups_first, problem.outcome(groups_first), weight=GROUPS_FIRST_SHARE)
