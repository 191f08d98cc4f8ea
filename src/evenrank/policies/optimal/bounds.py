"""Task 1: a score that no ranking exceeds, from the prices of relaxations and tables of sorts.

Write s for the exposure that a ranking gives to all groups together and j for its divergence. A plane below the
divergence, JSD(P) ≥ height + slope · P, gives slope · x ≤ (j − height) s. With any rate ≥ 0 and any total price K, the
best ranking for the prices K − rate · slope has the value V(rate, K), one sort, and so every ranking has

    relevance ≤ V(rate, K) + (rate (j − height) − K) s.

For s within a band this is largest at an end of the band, and relevance · (1 − j)^fairness has its maximum over j in
closed form. The height depends on the band: the less exposure in all, the larger the least share of a group.

`lower_bounds` makes the bounds of short lists tighter with what mixtures cannot know: a rank shows one page, whole. A
group with a small target is best off with a trace of exposure, which mixtures give it and rankings do not. Write ψ(x)
for what exposure x of such a group adds to total · JSD. It is convex with ψ(0) = 0, so ψ of a sum is at least the sum
of the ψ of each page at its rank. With this instead of the plane, the best ranking for given prices is no longer a sort
but an assignment of pages to ranks, which is solved exactly. A group that the assignment shows more than once is better
described by its plane, and goes back to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimal.compound import SMALLEST, CompoundProblem, Tangent, divergence_by_group, plane_heights
from evenrank.policies.optimal.permutohedron import support, supports

N_BANDS = 400
RATES = (1.0, 0.75, 1.4, 0.5, 2.0)
"""Multiples of the tangent's rate."""
OFFSETS = np.array([0.0, 0.003, 0.007, 0.015, 0.03, 0.05, 0.08, 0.13, 0.2, 0.35, 0.6, 1.2])
"""What is added to the tangent's total price, and taken from it, in units of the largest relevance."""
FEW_OFFSETS = OFFSETS[:5]
CELLS_AT_ONCE = 1_000_000
"""Values of pages at prices that are sorted at once; up to forty thousand pages all prices are."""


@dataclass
class BandBounds:
    """Bounds for the rankings of each of many narrow bands; they only ever fall."""

    problem: CompoundProblem
    ends: NDArray[np.float64]
    """Exposure in groups where bands begin and end, rising."""
    bounds: NDArray[np.float64]
    """One for each band: no ranking of it has a higher score."""
    floor: float
    """A score that some ranking has: bands with a bound below it are of no interest."""

    @classmethod
    def of(cls, problem: CompoundProblem, floor: float = 0.0) -> BandBounds:
        """Bands of equal ratio over all totals that a ranking of any score can have."""
        in_groups = problem.rows.sum(axis=1)[problem.page_type]
        most, least = support(in_groups, problem.discounts), -support(-in_groups, problem.discounts)
        smallest = float(problem.rows[problem.rows > 0.0].min()) * float(problem.discounts[-1])
        ends = np.geomspace(max(least, smallest), most, N_BANDS + 1)
        most_relevant = support(problem.relevance, problem.discounts)
        awrf = 1.0 - _least_divergence(problem, ends[1:])
        return cls(problem, ends, most_relevant * np.maximum(awrf, 0.0) ** problem.fairness, floor)

    def learn(self, tangent: Tangent, n_rates: int = len(RATES)) -> None:
        """Lower the bounds with the prices of a tangent, and with others for the same proportions."""
        for factor in RATES[:n_rates]:
            self._lower(tangent, factor, OFFSETS)

    def learn_between(self, first: Tangent, second: Tangent, n_between: int) -> None:
        """Lower the bounds with prices between those of two tangents."""
        for step in range(1, n_between + 1):
            self._lower(first.towards(second, step / (n_between + 1)), 1.0, FEW_OFFSETS)

    def lower_by_rank(
        self, bands: NDArray[np.intp], tangent: Tangent, value: float, by_rank: NDArray[np.bool_]
    ) -> None:
        """Lower the bounds of some bands, where planes stand for all groups but those `by_rank`.

        `value` is that of the best ranking at the tangent's prices, when groups `by_rank` cost it what they do rank by
        rank.
        """
        problem, unit = self.problem, self.problem.unit
        least = problem.least_share(self.ends[bands + 1, None])
        heights = plane_heights(problem.target, least, np.where(by_rank, -np.inf, tangent.slope / unit))
        height = unit * (heights.sum(axis=-1) + problem.unreachable)
        self._lower_to(bands, np.array([value]), np.array([tangent.total_price]), tangent.rate, height)

    def highest(self) -> tuple[float, float]:
        """The middle of the band with the highest bound, and that bound."""
        index = int(np.argmax(self.bounds))
        return float(np.sqrt(self.ends[index] * self.ends[index + 1])), float(self.bounds[index])

    def _lower(self, tangent: Tangent, factor: float, offsets: NDArray[np.float64]) -> None:
        """Lower the bounds with multiples of a tangent's prices, shifted by each offset and back."""
        bands = np.flatnonzero(self.bounds > self.floor)
        shifts = np.concatenate([offsets, -offsets[1:]]) * self.problem.relevance.max()
        rate, prices = factor * tangent.rate, factor * tangent.total_price + shifts
        values = self._values(prices, rate * tangent.slope)
        self._lower_to(bands, values, prices, rate, self._heights(tangent.slope, bands))

    def _lower_to(
        self,
        bands: NDArray[np.intp],
        values: NDArray[np.float64],
        prices: NDArray[np.float64],
        rate: float,
        heights: NDArray[np.float64],
    ) -> None:
        """Lower the bounds of some bands with the value of the best ranking at each total price."""
        most = support(self.problem.relevance, self.problem.discounts)
        found = [
            _largest_scores(values, prices, rate, heights, totals, most, self.problem.fairness)
            for totals in (self.ends[bands], self.ends[bands + 1])
        ]
        self.bounds[bands] = np.minimum(self.bounds[bands], np.maximum(*found).min(axis=0, initial=np.inf))

    def _values(self, prices: NDArray[np.float64], discount: NDArray[np.float64]) -> NDArray[np.float64]:
        """Value of the best ranking, for each price that exposure has in any group, less a discount by group."""
        in_groups = self.problem.rows.sum(axis=1)[self.problem.page_type]
        scores, step = self.problem.page_scores(-discount), max(1, CELLS_AT_ONCE // len(in_groups))
        parts = [prices[first : first + step] for first in range(0, len(prices), step)]
        values = [supports(scores + np.multiply.outer(part, in_groups), self.problem.discounts) for part in parts]
        return np.concatenate(values)

    def _heights(self, slope: NDArray[np.float64], bands: NDArray[np.intp]) -> NDArray[np.float64]:
        """Height of the plane for each band; least shares are smallest at its upper end."""
        unit, least = self.problem.unit, self.problem.least_share(self.ends[bands + 1, None])
        heights = plane_heights(self.problem.target, least, slope / unit)
        return np.asarray(unit * (heights.sum(axis=-1) + self.problem.unreachable))


def _least_divergence(problem: CompoundProblem, totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the divergence is at least with these totals, because little exposure can only reach few groups.

    With n groups in sight the divergence is least when they are the n largest of the target, in its proportions.
    """
    n_groups = np.searchsorted(np.cumsum(np.sort(problem.least_exposure)), totals * (1.0 + 1e-12), side="right")
    target = np.sort(problem.target)[::-1]
    in_sight = np.cumsum(target)
    share = np.where(np.tri(len(target), dtype=np.bool_), target / np.maximum(in_sight[:, None], SMALLEST), 0.0)
    least = problem.unit * (divergence_by_group(share, target).sum(axis=1) + problem.unreachable)
    return np.asarray(least[np.maximum(n_groups, 1) - 1])


def _largest_scores(
    values: NDArray[np.float64],
    prices: NDArray[np.float64],
    rate: float,
    heights: NDArray[np.float64],
    totals: NDArray[np.float64],
    most_relevant: float,
    fairness: float,
) -> NDArray[np.float64]:
    """Maximum over j in [0, 1] of min(line, most_relevant) · (1 − j)^fairness, price by band.

    The line is V(rate, K) + (rate (j − height) − K) s. Its product with (1 − j)^fairness rises up to a peak; where the
    line is above `most_relevant` there, the maximum is where it reaches that.
    """
    rise = rate * totals
    at_zero = values[:, None] - prices[:, None] * totals - rise * heights
    peak = np.clip((rise - fairness * at_zero) / (rise * (1.0 + fairness)), 0.0, 1.0)
    capped = np.clip((most_relevant - at_zero) / rise, 0.0, 1.0)
    best = np.minimum(peak, capped)
    relevance = np.minimum(at_zero + rise * best, most_relevant)
    return np.asarray(relevance * (1.0 - best if fairness == 1.0 else (1.0 - best) ** fairness))


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
