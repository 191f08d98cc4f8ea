"""Task 1: local search over exchanges: two ranks swap pages, or a rank takes the best unused page of a type.

An unused page is a page with the discount 0, so both are exchanges between two places. All of them are estimated to the
second order; the most promising ones are evaluated exactly, and the best of these is made. In a long ranking only the
ranks with the most to gain at first order take part.

`best_improved` searches for the score of one depth, `improve_at_all_depths` for the weighted sum of the scores at all
of them: a list that is made head first knows later depths by their prices alone. Of the pages of one type between two
depths only the weakest are offered for a lower rank there, and only the strongest for a higher one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimal.compound import LEAST, CompoundProblem, divergence_by_group, shares, total_divergence
from evenrank.policies.optimal.permutohedron import best_ranking

SEARCHED_WEIGHT = 0.01
"""Ranks with a smaller share of all exposure are left as they are: there the relaxation has left nothing to gain."""
MAX_SEARCHED = 64
"""Ranks of one ranking that take part in a search step."""
FEW, MANY = 24, 400
"""Exchanges of a ranking that are evaluated exactly: of each of several rankings, and of the best in the end."""
CELLS_AT_ONCE = 2_000_000
"""Exposures of groups by ranking and rank above which rankings are improved one by one, for the memory's sake."""
MAX_MOVES = 200
IMPROVEMENT = 1e-10


def best_improved(problem: CompoundProblem, rankings: NDArray[np.intp]) -> NDArray[np.intp]:
    """The best ranking that exchanges lead to from any of `rankings` (one in each row).

    Several rankings are improved at once with few exchanges evaluated; the best of them continues alone with many. With
    up to `MANY` exchanges, no single one of them raises its score.
    """
    n_ranks = int(np.sum(problem.discounts >= SEARCHED_WEIGHT * problem.attention))
    if n_ranks:
        step = len(rankings) if rankings.size * problem.rows.shape[1] <= CELLS_AT_ONCE else 1
        parts = [rankings[first : first + step] for first in range(0, len(rankings), step)]
        rankings = np.concatenate([improve(problem, part, n_ranks, FEW) for part in parts])
    best = rankings[[np.argmax([problem.score(ranking) for ranking in rankings])]]
    return np.asarray(improve(problem, best, n_ranks, MANY)[0] if n_ranks else best[0])


def improve(
    problem: CompoundProblem,
    rankings: NDArray[np.intp],
    n_ranks: int,
    n_evaluated: int,
    max_moves: int = MAX_MOVES,
    least_gain: float = IMPROVEMENT,
) -> NDArray[np.intp]:
    """Rankings after exchanges among the first `n_ranks` ranks and unused pages, until no promising one helps.

    At most `max_moves` exchanges are made in each ranking, and none that adds less than `least_gain` to the log score.
    """
    rankings, by_type = rankings.copy(), _pages_by_type(problem)
    effects = np.column_stack([problem.rows[problem.page_type], problem.relevance])
    active = np.arange(len(rankings))
    for _ in range(max_moves):
        current = rankings[active]
        outcomes = np.einsum("k,rkg->rg", problem.discounts, effects[current]) + problem.given
        searched = _searched_ranks(problem, effects[current], outcomes, n_ranks)
        places = np.hstack([np.take_along_axis(current, searched, axis=1), _unused(by_type, current)])
        weights = np.zeros(places.shape)
        weights[:, : searched.shape[1]] = problem.discounts[searched]
        of_places = effects[places]
        estimates = estimate_exchanges(problem, of_places, outcomes, weights, searched.shape[1])
        estimates = np.where(places[:, None] >= 0, estimates, -np.inf)
        rank, place, score = _best_exchange(problem, of_places, outcomes, weights, estimates, n_evaluated)
        row = np.flatnonzero(score > problem.true_log_score(outcomes) + least_gain)
        if not len(row):
            break
        active, rank, place = active[row], rank[row], place[row]
        is_swap = place < searched.shape[1]
        swapped = row[is_swap]
        rankings[active[is_swap], searched[swapped, place[is_swap]]] = places[swapped, rank[is_swap]]
        rankings[active, searched[row, rank]] = places[row, place]
    return rankings


def estimate_exchanges(
    problem: CompoundProblem,
    effects: NDArray[np.float64],
    outcomes: NDArray[np.float64],
    weights: NDArray[np.float64],
    n_ranks: int,
) -> NDArray[np.float64]:
    """About what the exchange of a rank and a place adds to the log score: ranking by rank by place.

    `effects` are those of a unit of exposure at each place, `weights` the discounts of the places: `n_ranks` ranks,
    then unused pages. Exact up to the first order of the logarithm where an unused page enters, no group has both pages
    and the total exposure of the groups stays.
    """
    total = np.maximum(outcomes[:, :-1].sum(axis=1), LEAST)[:, None, None]
    awrf = np.maximum(1.0 - problem.divergence(outcomes), LEAST)[:, None, None]
    rate = problem.fairness * problem.unit / awrf
    share = shares(outcomes)[:, None]
    slope, bend = _slope_and_bend(problem, share, total)
    drop = weights[:, :n_ranks, None] - weights[:, None]
    inside, unused = effects[:, :n_ranks, :-1], effects[:, n_ranks:, :-1]
    fairer = (
        _fairer_by_swap(inside, slope, bend, drop[:, :, :n_ranks] / total),
        _fairer_by_entry(problem.target, share, inside, unused, bend, weights[:, :n_ranks, None] / total),
    )
    in_groups = effects[..., :-1].sum(axis=-1) * (rate / total * (slope * share).sum(axis=2, keepdims=True))[:, 0]
    worth = effects[..., -1] / np.maximum(outcomes[:, -1:], LEAST) + in_groups
    return np.asarray(drop * (worth[:, None] - worth[:, :n_ranks, None]) + rate * np.concatenate(fairer, axis=2))


def _slope_and_bend(
    problem: CompoundProblem, share: NDArray[np.float64], total: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """First and second derivative of each group's divergence, at the least share that a ranking can show or above."""
    visible = np.maximum(share, problem.least_share(total))
    slope = 0.5 * np.log(2.0 * visible / (visible + problem.target))
    return slope, 0.5 * problem.target / (visible * (visible + problem.target))


def _fairer_by_swap(
    inside: NDArray[np.float64], slope: NDArray[np.float64], bend: NDArray[np.float64], step: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Fall of the divergence, to the second order, when the first of two ranks gives the second a share `step`."""
    values, scaled = (inside * slope).sum(axis=2), inside * np.sqrt(bend)
    lengths = (scaled * scaled).sum(axis=2)
    distance = lengths[:, :, None] + lengths[:, None] - 2.0 * scaled @ scaled.transpose(0, 2, 1)
    return np.asarray(step * (values[:, :, None] - values[:, None]) - 0.5 * step**2 * distance)


def _fairer_by_entry(
    target: NDArray[np.float64],
    share: NDArray[np.float64],
    inside: NDArray[np.float64],
    unused: NDArray[np.float64],
    bend: NDArray[np.float64],
    step: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Fall of the divergence when an unused page takes the place of each rank, whose share is `step`."""
    now = divergence_by_group(share, target)
    fall = step**2 * ((inside * bend) @ unused.transpose(0, 2, 1))  # where both pages have a group in common
    ranking, page, group = np.nonzero(unused > 0.0)
    amount = unused[ranking, page, group]
    for part in np.unique(amount):
        more = now - divergence_by_group(share + part * step, target)
        less = now - divergence_by_group(np.maximum(share - part * step, 0.0), target)
        for number, of_groups in enumerate(more.transpose(0, 2, 1).copy()):
            is_here = (ranking == number) & (amount == part)
            fall[number] += _sums_by_page(of_groups, page[is_here], group[is_here], unused.shape[1]).T
        fall += (less * (inside == part)).sum(axis=2, keepdims=True)
    return np.asarray(fall)


def _sums_by_page(
    of_groups: NDArray[np.float64], page: NDArray[np.intp], group: NDArray[np.intp], n_pages: int
) -> NDArray[np.float64]:
    """The sum of the rows of each page's groups; pages are few of all, in order, each with few groups."""
    sums, place = np.zeros((n_pages, of_groups.shape[1])), _n_equal_before(page)
    for number in range(int(place.max(initial=-1)) + 1):
        is_next = place == number
        sums[page[is_next]] += of_groups[group[is_next]]
    return sums


def _searched_ranks(
    problem: CompoundProblem, effects: NDArray[np.float64], outcomes: NDArray[np.float64], n_ranks: int
) -> NDArray[np.intp]:
    """The ranks of each ranking that take part, ranking by rank: all, or those with the most to gain at first order.

    A page can only be the upper one of the best swap if all pages above it are worth more, and the lower one if all
    below it are worth less; half of the ranks are spread over those, half over the others.
    """
    if n_ranks <= MAX_SEARCHED:
        return np.broadcast_to(np.arange(n_ranks), (len(outcomes), n_ranks))
    total = np.maximum(outcomes[:, :-1].sum(axis=1), LEAST)[:, None, None]
    share = shares(outcomes)[:, None]
    slope, _ = _slope_and_bend(problem, share, total)
    awrf = np.maximum(1.0 - problem.divergence(outcomes), LEAST)[:, None]
    by_group = (slope - (slope * share).sum(axis=2, keepdims=True)) / total
    worth = effects[:, :n_ranks, -1] / np.maximum(outcomes[:, -1:], LEAST)
    worth = worth - problem.fairness * problem.unit / awrf * (effects[:, :n_ranks, :-1] * by_group).sum(axis=2)
    return np.array([_spread_over(row, MAX_SEARCHED) for row in worth])


def _spread_over(worth: NDArray[np.float64], n_kept: int) -> NDArray[np.intp]:
    """`n_kept` ranks: some with the least worth so far, some with the most from there on, others from all over."""
    least_so_far = np.flatnonzero(worth <= np.minimum.accumulate(worth))
    most_from_here = np.flatnonzero(worth >= np.maximum.accumulate(worth[::-1])[::-1])
    half = n_kept // 2
    chosen = np.unique(np.concatenate([_thinned(least_so_far, half), _thinned(most_from_here, half)]))
    others = np.setdiff1d(np.arange(len(worth)), chosen)
    return np.sort(np.concatenate([chosen, _thinned(others, n_kept - len(chosen))]))


def _thinned(places: NDArray[np.intp], n_kept: int) -> NDArray[np.intp]:
    """At most `n_kept` of the places, evenly spread."""
    if len(places) <= n_kept:
        return places
    return places[np.linspace(0, len(places) - 1, n_kept).astype(np.intp)]


def _pages_by_type(problem: CompoundProblem) -> NDArray[np.intp]:
    """The pages of each type (a row each), most relevant first, and −1 after the last one."""
    order = np.lexsort((-problem.relevance, problem.page_type))
    types = problem.page_type[order]
    place = np.arange(len(order)) - np.searchsorted(types, types)
    pages = np.full((len(problem.rows), int(place.max()) + 2), -1, np.intp)
    pages[types, place] = order
    return pages


def _unused(by_type: NDArray[np.intp], rankings: NDArray[np.intp]) -> NDArray[np.intp]:
    """The most relevant page of each type that is not in the ranking, ranking by type; −1 where there is none."""
    is_used = np.zeros((len(rankings), int(by_type.max()) + 2), np.bool_)
    is_used[np.arange(len(rankings))[:, None], rankings] = True
    return np.asarray(by_type[np.arange(len(by_type)), np.argmin(is_used[:, by_type], axis=2)])


def _best_exchange(
    problem: CompoundProblem,
    effects: NDArray[np.float64],
    outcomes: NDArray[np.float64],
    weights: NDArray[np.float64],
    estimates: NDArray[np.float64],
    n_evaluated: int,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """(place of the rank, other place, log score) of the best exchange for each ranking, among the most promising."""
    n_rankings, _, n_places = estimates.shape
    flat = estimates.reshape(n_rankings, -1)
    n_kept = min(n_evaluated, flat.shape[1])
    tried = np.sort(np.argpartition(flat, flat.shape[1] - n_kept, axis=1)[:, flat.shape[1] - n_kept :], axis=1)
    rank, place = np.divmod(tried, n_places)
    row = np.arange(n_rankings)[:, None]
    drop = weights[row, rank] - weights[row, place]
    change = drop[..., None] * (effects[row, place] - effects[row, rank])
    scores = problem.true_log_score(np.maximum(outcomes[:, None] + change, 0.0))
    scores = np.where(np.isfinite(flat[row, tried]), scores, -np.inf)
    best = (row[:, 0], np.argmax(scores, axis=1))
    return rank[best], place[best], scores[best]


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
MOST_TYPES = 150
"""Of pages offered up to which curvatures are computed for all pairs of types; above, only for some exchanges."""
N_BENT = 16_000
"""Exchanges with the largest gains to the first order for which they are computed then."""


@dataclass(frozen=True)
class Depth:
    """One of the depths at which a list counts, over all pages."""

    problem: CompoundProblem
    """Of the ranks down to here."""
    weight: float

    @property
    def n_ranks(self) -> int:
        return len(self.problem.discounts)


def improve_at_all_depths(depths: Sequence[Depth], ranking: NDArray[np.intp]) -> NDArray[np.intp]:
    """The ranking after exchanges that raise the sum over depths, until no promising one does."""
    search = _Search(depths, ranking)
    for n_offered in OFFERED:
        for _ in range(MAX_STEPS):
            if not search.step(n_offered):
                break
    return search.places[: len(ranking)]


class _Search:
    """A list with unused pages below it, its outcome at each depth, and what these are worth together.

    At first a depth is worth its weight · relevance · AWRF. That grows as relevance · AWRF^fairness does,
    and as its root of the order of fairness where that is above 1: however strong fairness is, no depth outgrows the
    others.
    """

    def __init__(self, depths: Sequence[Depth], ranking: NDArray[np.intp]) -> None:
        self.problem = problem = depths[-1].problem
        self.n_ranks, n_pages = len(ranking), len(problem.relevance)
        by_relevance = best_ranking(problem.relevance, n_pages)
        self.rank_by_relevance = np.empty(n_pages, np.intp)
        self.rank_by_relevance[by_relevance] = np.arange(n_pages)
        unused = by_relevance[~np.isin(by_relevance, ranking)]
        by_type = np.argsort(problem.page_type[unused], kind="stable")
        is_offered = _n_equal_before(problem.page_type[unused][by_type]) < max(OFFERED)
        self.places = np.concatenate([ranking, unused[np.sort(by_type[is_offered])[:MOST_UNUSED]]])

        ends = np.array([depth.n_ranks for depth in depths])
        self.band = np.searchsorted(ends, np.arange(len(self.places)), side="right")
        self.discounts = np.zeros((len(depths), len(self.places)))
        for number, end in enumerate(ends):
            self.discounts[number, :end] = problem.discounts[:end]
        self.unseen = UNSEEN * problem.discounts[ends - 1][:, None]
        self.relevance_of = np.array([depth.problem.relevance for depth in depths])
        self.rows = problem.rows[problem.page_type]
        self.power = problem.fairness
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
        is_allowed = upper[:, None] < lower
        if np.count_nonzero(is_allowed) <= N_EVALUATED:
            first, second = np.nonzero(is_allowed)
            return upper[first], lower[second]
        slope, curvature = self._slope_and_curvature()
        above, below = self.discounts[:, upper], self.discounts[:, lower]
        down, up = slope[:, upper], slope[:, lower]
        gain = above.T @ up
        gain += down.T @ below
        gain -= (above * down).sum(axis=0)[:, None]
        gain -= (below * up).sum(axis=0)
        rising = np.flatnonzero(is_allowed & (gain > 0.0))
        first = rising // len(lower)
        gains, first, second = gain.ravel()[rising], upper[first], lower[rising - len(lower) * first]
        types = self.problem.page_type[self.places]
        if len(np.unique(types)) > MOST_TYPES and len(gains) > N_BENT:
            best = np.argpartition(-gains, N_BENT - 1)[:N_BENT]
            gains, first, second = gains[best], first[best], second[best]
        lost = np.take(self.discounts, first, axis=1)
        lost -= np.take(self.discounts, second, axis=1)
        lost *= lost
        lost *= self._bends(curvature, types[first], types[second])
        gains -= lost.sum(axis=0)
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
        occurs = np.zeros(len(self.problem.rows), np.bool_)
        occurs[down] = occurs[up] = True
        of_types, place = np.flatnonzero(occurs), np.cumsum(occurs) - 1
        if len(of_types) > MOST_TYPES:
            return np.asarray(curvature @ ((self.problem.rows[down] - self.problem.rows[up]) ** 2).T)
        rows = self.problem.rows[of_types]
        own = curvature @ (rows**2).T
        between = own[:, :, None] + own[:, None, :] - 2.0 * (rows * curvature[:, None, :]) @ rows.T
        pair = len(of_types) * place[down] + place[up]
        return np.take(between.reshape(len(between), -1), pair, axis=1)

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
