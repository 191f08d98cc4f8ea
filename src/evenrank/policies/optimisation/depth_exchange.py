"""Task 1: local search over a whole list, for all depths at once.

A list that is made head first knows later depths by their prices alone. Here two ranks exchange their pages, or a rank
takes an unused page, when that raises the weighted sum of the scores at all depths. Of the pages of one type between
two depths only the weakest are offered for a lower rank, and only the strongest for a higher one. Exchanges are
estimated to the second order; the most promising ones are evaluated exactly, and made one after the other as long as
each still helps after those before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.compound import LEAST, CompoundProblem
from evenrank.policies.optimisation.divergence import total_divergence

OFFERED = (1, 8)
"""Pages of one type between two depths that are offered in a step: first the best of each kind, for quick gains, then
more of them."""
N_EVALUATED = 300
"""Exchanges that are evaluated exactly in a step."""
N_TRIED = 60
"""The best of those, which are tried one after the other."""
MAX_STEPS = 40
"""With each number of pages offered."""
LEAST_GAIN = 1e-7
"""Share of the sum over depths that an exchange must add."""
LEAST_WEIGHT = 1e-3
"""Of a depth, such as the end of a list that nobody reads to: it decides between lists that are alike otherwise."""
UNSEEN = 0.5
"""A group without exposure has the slope of the divergence at this many times the weight of the last rank; at 0 it
would be infinite."""
MOST_UNUSED = 1000
"""Unused pages that are offered, the most relevant of those that are among the first of their type."""
MOST_TYPES = 400
"""Of pages offered up to which curvatures are computed for all pairs of types; above, only for some exchanges."""
N_BENT = 4000
"""Exchanges with the largest gains to the first order for which they are computed then."""


@dataclass(frozen=True)
class Depth:
    """One of the depths at which a list counts, over all pages."""

    problem: CompoundProblem
    """Of the ranks down to here."""
    weight: float
    power: float
    """Exponent of AWRF."""
    limit: int
    """How many of the most relevant pages may be shown down to here."""

    @property
    def n_ranks(self) -> int:
        return len(self.problem.discounts)


def improve_at_all_depths(
    depths: Sequence[Depth], ranking: NDArray[np.intp], rank_by_relevance: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The ranking after exchanges that raise the sum over depths, until no promising one does.

    `rank_by_relevance` is the rank of each page in the order by relevance, from 0.
    """
    search = _Search(depths, ranking, rank_by_relevance)
    for n_offered in OFFERED:
        for _ in range(MAX_STEPS):
            if not search.step(n_offered):
                break
    return search.places[: len(ranking)]


class _Search:
    """A list with unused pages below it, its outcome at each depth, and what these are worth together.

    At first a depth is worth its weight · relevance · AWRF. That grows as relevance · AWRF^power does, and as its root
    of the order of fairness where that is above 1: however strong fairness is, no depth outgrows the others.
    """

    def __init__(self, depths: Sequence[Depth], ranking: NDArray[np.intp], rank_by_relevance: NDArray[np.intp]) -> None:
        self.problem = problem = depths[-1].problem
        self.n_ranks, n_pages = len(ranking), len(problem.relevance)
        self.rank_by_relevance = rank_by_relevance
        unused = np.argsort(rank_by_relevance)
        unused = unused[~np.isin(unused, ranking)]
        by_type = np.argsort(problem.page_type[unused], kind="stable")
        is_offered = _n_equal_before(problem.page_type[unused][by_type]) < max(OFFERED)
        self.places = np.concatenate([ranking, unused[np.sort(by_type[is_offered])[:MOST_UNUSED]]])

        ends = np.array([depth.n_ranks for depth in depths])
        self.band = np.searchsorted(ends, np.arange(len(self.places)), side="right")
        self.limit = np.array([*(depth.limit for depth in depths), n_pages])[self.band]
        self.discounts = np.zeros((len(depths), len(self.places)))
        for number, end in enumerate(ends):
            self.discounts[number, :end] = problem.discounts[:end]
        self.unseen = UNSEEN * problem.discounts[ends - 1][:, None]
        self.relevance_of = np.array([depth.problem.relevance for depth in depths])
        self.rows = problem.rows[problem.page_type]
        self.power = np.array([depth.power for depth in depths])
        self.root = max(problem.fairness, 1.0)

        self.exposure = self.discounts @ self.rows[self.places]
        self.relevance = (self.discounts * self.relevance_of[:, self.places]).sum(axis=1)
        weight = np.maximum([depth.weight for depth in depths], LEAST_WEIGHT)
        self.first_worths = weight * self.relevance * self._awrf(self.exposure)
        self.first_log_scores = self._log_scores(self.exposure, self.relevance)
        self.worth = float(self.first_worths.sum())

    def step(self, n_offered: int) -> bool:
        """Make exchanges that help, each after those before it; False when there is none."""
        upper, lower = self._promising(n_offered)
        worth = self._worths(*self._after(upper, lower)).sum(axis=1)
        is_moved, before = np.zeros(len(self.places), np.bool_), self.worth
        for number in np.argsort(-worth, kind="stable")[:N_TRIED]:
            pair = [upper[number], lower[number]]
            if worth[number] <= before * (1.0 + LEAST_GAIN):
                break
            if is_moved[pair].any():
                continue
            exposure, relevance = self._after(upper[[number]], lower[[number]])
            found = float(self._worths(exposure, relevance).sum())
            if found > self.worth * (1.0 + LEAST_GAIN):
                self.worth, self.exposure, self.relevance = found, exposure[0], relevance[0]
                self.places[pair] = self.places[pair[::-1]]
                is_moved[pair] = True
        return bool(is_moved.any())

    def _promising(self, n_offered: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Upper and lower places of the exchanges with the largest estimated gains, or of all if they are few."""
        upper, lower = self._offered(n_offered)
        by_rank = self.rank_by_relevance[self.places]
        is_allowed = (upper[:, None] < lower) & (by_rank[lower] < self.limit[upper][:, None])
        if np.count_nonzero(is_allowed) <= N_EVALUATED:
            first, second = np.nonzero(is_allowed)
            return upper[first], lower[second]
        slope, curvature = self._slope_and_curvature()
        above, below = self.discounts[:, upper], self.discounts[:, lower]
        down, up = slope[:, upper], slope[:, lower]
        gain = above.T @ up + down.T @ below - (above * down).sum(axis=0)[:, None] - (below * up).sum(axis=0)
        first, second = np.nonzero(is_allowed & (gain > 0.0))
        gains, first, second = gain[first, second], upper[first], lower[second]
        types = self.problem.page_type[self.places]
        if len(np.unique(types)) > MOST_TYPES and len(gains) > N_BENT:
            best = np.argpartition(-gains, N_BENT - 1)[:N_BENT]
            gains, first, second = gains[best], first[best], second[best]
        passed = self.discounts[:, first] - self.discounts[:, second]
        gains = gains - (passed**2 * self._bends(curvature, types[first], types[second])).sum(axis=0)
        n_best = min(N_EVALUATED, len(gains))
        best = np.argpartition(-gains, n_best - 1)[:n_best] if n_best else first
        best = best[gains[best] > 0.0]
        return first[best], second[best]

    def _offered(self, n_offered: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Places whose page may go down, and those whose page may come up."""
        cell = self.band * len(self.problem.rows) + self.problem.page_type[self.places]
        by_rank = self.rank_by_relevance[self.places]
        weakest, strongest = np.lexsort((-by_rank, cell)), np.lexsort((by_rank, cell))
        upper = weakest[_n_equal_before(cell[weakest]) < n_offered]
        lower = strongest[_n_equal_before(cell[strongest]) < n_offered]
        return upper[upper < self.n_ranks], lower

    def _slope_and_curvature(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of the worth of each depth: what a unit of exposure adds for the page of each place, and what half the
        square of a unit of exposure costs for each group."""
        problem = self.problem
        total = np.maximum(self.exposure.sum(axis=1, keepdims=True), LEAST)
        share = np.maximum(self.exposure, self.unseen) / total
        both = share + problem.target
        worths = self._worths(self.exposure, self.relevance) / self.root
        fairly = (worths * self.power / self._awrf(self.exposure))[:, None] * problem.unit
        log_ratio = 0.5 * np.log(2.0 * share / both)
        price = ((log_ratio * self.exposure).sum(axis=1, keepdims=True) / total - log_ratio) / total
        of_relevance = (worths / np.maximum(self.relevance, LEAST))[:, None] * self.relevance_of[:, self.places]
        slope = of_relevance + ((fairly * price) @ problem.rows.T)[:, problem.page_type[self.places]]
        return slope, 0.25 * fairly * problem.target / (share * both * total**2)

    def _bends(
        self, curvature: NDArray[np.float64], down: NDArray[np.intp], up: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """What the square of a unit of exposure costs each depth that passes between pages of two types."""
        of_types, place = np.unique(np.concatenate([down, up]), return_inverse=True)
        if len(of_types) > MOST_TYPES:
            return np.asarray(curvature @ ((self.problem.rows[down] - self.problem.rows[up]) ** 2).T)
        rows = self.problem.rows[of_types]
        own = curvature @ (rows**2).T
        between = own[:, :, None] + own[:, None, :] - 2.0 * (rows * curvature[:, None, :]) @ rows.T
        return np.asarray(between[:, place[: len(down)], place[len(down) :]])

    def _after(
        self, upper: NDArray[np.intp], lower: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Exposures (exchange by depth by group) and relevance (exchange by depth) after each exchange alone."""
        passed = (self.discounts[:, upper] - self.discounts[:, lower]).T
        up, down = self.places[lower], self.places[upper]
        exposure = self.exposure + passed[:, :, None] * (self.rows[up] - self.rows[down])[:, None, :]
        return exposure, self.relevance + passed * (self.relevance_of[:, up] - self.relevance_of[:, down]).T

    def _worths(self, exposure: NDArray[np.float64], relevance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Worth of each depth (the last axis but that of the groups)."""
        growth = (self._log_scores(exposure, relevance) - self.first_log_scores) / self.root
        return np.asarray(self.first_worths * np.exp(growth))

    def _log_scores(self, exposure: NDArray[np.float64], relevance: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.log(np.maximum(relevance, LEAST)) + self.power * np.log(self._awrf(exposure)))

    def _awrf(self, exposure: NDArray[np.float64]) -> NDArray[np.float64]:
        """AWRF of exposures (the last axis are groups); next to 0 where no group has any."""
        total = exposure.sum(axis=-1)
        share = exposure / np.maximum(total, LEAST)[..., None]
        divergence = total_divergence(share, self.problem.target) + self.problem.unreachable
        return np.maximum(np.where(total > LEAST, 1.0 - self.problem.unit * divergence, 0.0), LEAST)


def _n_equal_before(ordered: NDArray[np.intp]) -> NDArray[np.intp]:
    """For each entry of a sorted array, how many equal ones precede it."""
    return np.asarray(np.arange(len(ordered)) - np.searchsorted(ordered, ordered))
