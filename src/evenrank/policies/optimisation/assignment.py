"""Task 1: the upper bound made tighter with what mixtures cannot know: a rank shows one page, whole.

A group with a small target is best off with a trace of exposure, which mixtures give it and rankings do not: a page of
it takes a whole rank. Write ψ(x) for what exposure x of such a group adds to total · JSD. It is convex with ψ(0) = 0,
so ψ of a sum is at least the sum of the ψ of each page at its rank. With this instead of the plane, the best ranking
for given prices is no longer a sort but an assignment of pages to ranks, which is solved exactly.

A group that the assignment shows more than once is better described by its plane, and goes back to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.compound import CompoundProblem
from evenrank.policies.optimisation.divergence import divergence_by_group
from evenrank.policies.optimisation.relaxation import Tangent
from evenrank.policies.optimisation.upper_bound import BandBounds

SMALL_TARGET = 0.9
"""Groups whose target is below this many times the exposure of the last rank are tried rank by rank."""
BLOCK = 8
"""Neighbouring bands that share an assignment."""
MAX_BLOCKS = 30
MAX_ROUNDS = 6
"""Assignments in a row, with fewer and fewer groups rank by rank."""


def lower_bounds(bounds: BandBounds, tangents: list[Tangent], score: float) -> None:
    """Lower the highest bounds until the highest of all has been lowered already, or none is above `score`."""
    is_done = np.zeros(len(bounds.bounds), np.bool_)
    for _ in range(MAX_BLOCKS):
        highest = int(np.argmax(bounds.bounds))
        if is_done[highest] or bounds.bounds[highest] <= score:
            return
        bands = np.arange(max(0, highest - BLOCK // 2), min(len(is_done), highest + BLOCK // 2 + 1))
        _settle_block(bounds, bands, prices_at(tangents, float(bounds.ends[highest])))
        is_done[bands] = True


def prices_at(tangents: list[Tangent], total: float) -> Tangent:
    """Prices for a total exposure of the groups, between those of the neighbouring tangents."""
    below = max((t for t in tangents if t.total <= total), key=lambda t: t.total, default=None)
    above = min((t for t in tangents if t.total > total), key=lambda t: t.total, default=None)
    if below is None or above is None:
        return below or above or tangents[0]
    return below.towards(above, (total - below.total) / (above.total - below.total))


def _settle_block(bounds: BandBounds, bands: NDArray[np.intp], tangent: Tangent) -> None:
    """Lower the bounds of some neighbouring bands."""
    block = AssignmentBlock(bounds.problem, float(bounds.ends[bands[-1] + 1]))
    by_rank = block.small
    for _ in range(MAX_ROUNDS):
        value, pages = block.assign(tangent, by_rank)
        bounds.lower_by_rank(bands, tangent, value, by_rank)
        is_repeated = (bounds.problem.rows[bounds.problem.page_type[pages]] > 0.0).sum(axis=0) > 1
        if not (by_rank & is_repeated).any():
            return
        by_rank = by_rank & ~is_repeated


@dataclass(frozen=True)
class AssignmentBlock:
    """Rankings that give all groups together at most the exposure `most`."""

    problem: CompoundProblem
    most: float

    @property
    def small(self) -> NDArray[np.bool_]:
        """Is the target of a group so small that a page of it takes more than its share?"""
        return np.asarray(self.problem.target * self.most < SMALL_TARGET * self.problem.discounts[-1])

    def assign(self, tangent: Tangent, by_rank: NDArray[np.bool_]) -> tuple[float, NDArray[np.intp]]:
        """The highest value of a ranking, and its pages: groups `by_rank` cost ψ, the others have prices."""
        from scipy.optimize import linear_sum_assignment

        problem = self.problem
        price = np.where(by_rank, tangent.total_price, tangent.price)
        costs = sum(cost[:, by_rank] @ has[:, by_rank].T for cost, has in self._costs)
        values = np.multiply.outer(problem.discounts, problem.page_scores(price))
        values -= tangent.rate * np.asarray(costs)[:, problem.page_type]
        kept = _best_of_some_rank(values)
        ranks, chosen = linear_sum_assignment(values[:, kept], maximize=True)
        return float(values[ranks, kept[chosen]].sum()), kept[chosen]

    @cached_property
    def _costs(self) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """For each share of a page that a group can have: ψ, rank by group, and which types have it, type by group.

        ψ falls with the total, so that at `most` it is a lower bound for all smaller totals.
        """
        problem, costs = self.problem, []
        nothing = divergence_by_group(np.zeros_like(problem.target), problem.target)
        for part in np.unique(problem.rows[problem.rows > 0.0]):
            share = part * problem.discounts[:, None] / self.most
            psi = problem.unit * self.most * (divergence_by_group(share, problem.target) - nothing)
            costs.append((psi, (problem.rows == part).astype(np.float64)))
        return costs


def _best_of_some_rank(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Pages that can be in a best assignment: with n ranks, one of the n best pages of a rank is always left for it."""
    n_ranks, n_pages = values.shape
    if n_pages <= n_ranks:
        return np.arange(n_pages)
    return np.unique(np.argpartition(values, n_pages - n_ranks, axis=1)[:, n_pages - n_ranks :])
