"""Task 2: the stochastic policy of least expected loss, found through prices of groups and proved by a linear oracle,
and the rankings that stand for it.

Minimises F(e) = ‖Aᵀe − T‖² + Σ pull · (e − share)² − gain · e over the expected exposures e that mixtures of rankings
can give. The first part is the paper's EE-L for the groups as they are expected to be; the second draws each page to
its own fair share, the more so the less is known about it; the third rewards relevance and work. F is convex.

Groups enter through few numbers. For given prices of the groups what is left is a projection onto the permutohedron,
which is a sort and an isotonic regression, so the search for the prices is a smooth problem in as many dimensions as
there are groups (semismooth Newton). At the exposures found, one linear oracle gives the duality gap of Frank and
Wolfe, and with it a bound that holds for every stochastic policy, whatever led there.

Rounding: rank by rank a page is chosen that brings what has been given, over all rankings so far, nearest to what is
due: to the groups and to the page itself. Groups do not tell pages of one type apart, so of each type only the page to
which most is due can be chosen. Each rank makes as much of a ranking's exposure due as it has, so that what is given
stays within about one rank of what is due at every moment: every prefix of the sequence is balanced, and so is the head
of every ranking. (Were all of it due at the start of a ranking, the largest group would always come first, the small
ones last.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimal.permutohedron import (
    Mixture,
    Projection,
    best_ranking,
    minimise_on_simplex,
    project,
    support,
)

LEAST_PULL = 0.02
"""Curvature that a step adds where pages have none of their own; the exposures of the last step are then its centre."""
MAX_NEWTON_STEPS = 30
SUFFICIENT_RISE = 1e-4
"""Share of the rise promised by the slope that a Newton step must bring (Armijo)."""
SHORTEST_STEP = 1e-6
MAX_VERTICES = 100
"""Rankings that are looked at for a bound on the distance from the target alone."""
NEAR = 1e-6
"""Share of the squared total exposure that such a bound may miss."""
STIFFNESS = 30.0
"""What all of the relevance asked for counts in it, in units of the target."""
PRICE_ACCURACY = 1e-9
"""How well prices must fit the exposures that they lead to, relative to the target."""


@dataclass(frozen=True)
class ExposureProblem:
    """What is to be shown to whom, in arrays."""

    groups: NDArray[np.float64]
    """Page by group: what a unit of a page's exposure is expected to give to each group."""
    target: NDArray[np.float64]
    """Wanted exposure of each group."""
    pull: NDArray[np.float64]
    """How strongly each page is drawn to its fair share."""
    share: NDArray[np.float64]
    """Fair share of exposure of each page."""
    gain: NDArray[np.float64]
    """Reward of a page per unit of exposure, in units of the loss."""
    discounts: NDArray[np.float64]
    """Attention of each rank; no more ranks than pages."""

    def loss(self, exposure: NDArray[np.float64]) -> float:
        """F of the pages' exposures."""
        of_pages = float(self.pull @ (exposure - self.share) ** 2 - self.gain @ exposure)
        return self.group_loss(exposure) + of_pages

    def group_loss(self, exposure: NDArray[np.float64]) -> float:
        """‖Aᵀe − T‖² alone: EE-L for the groups as they are expected to be."""
        return float(np.sum((exposure @ self.groups - self.target) ** 2))

    def slope(self, exposure: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gradient of F."""
        missed = exposure @ self.groups - self.target
        return np.asarray(2.0 * (self.groups @ missed + self.pull * (exposure - self.share)) - self.gain)

    def lower_bound(self, exposure: NDArray[np.float64]) -> float:
        """No stochastic policy has a smaller loss: F is above its tangent plane, whose minimum is one sort."""
        slope = self.slope(exposure)
        return self.loss(exposure) - float(slope @ exposure) - support(-slope, self.discounts)


@dataclass(frozen=True)
class LeastLoss:
    """The expected exposures found, and how far from the best they can be at most."""

    exposure: NDArray[np.float64]
    """Of each page."""
    loss: float
    lower_bound: float
    """No stochastic policy has a smaller loss."""
    n_iterations: int


def least_loss(
    problem: ExposureProblem, tolerance: float, max_iterations: int, start: NDArray[np.float64] | None = None
) -> LeastLoss:
    """Exposures whose loss is within `tolerance` of the smallest possible, or the best after all iterations.

    Pages are pulled with different strengths, and a projection knows only one: each step puts the largest in place of
    all, around a centre that makes it an upper bound of F, and the centres are extrapolated (Nesterov).
    """
    pull = max(float(problem.pull.max(initial=0.0)), LEAST_PULL)
    centre = exposure = project(problem.share, problem.discounts).point if start is None else start
    prices = 2.0 * (exposure @ problem.groups - problem.target)
    best, bound, momentum, n_iterations = exposure, -np.inf, 1.0, 0
    while True:
        anchor = centre - problem.pull * (centre - problem.share) / pull
        prices, new, n_steps = _solve_prices(problem, anchor, pull, prices)
        n_iterations += max(n_steps, 1)
        bound = max(bound, problem.lower_bound(new))
        if problem.loss(new) < problem.loss(best):
            best = new
        loss = problem.loss(best)
        if loss - bound <= tolerance or n_iterations >= max_iterations:
            return LeastLoss(best, loss, bound, n_iterations)
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        centre = new + (momentum - 1.0) / faster * (new - exposure)
        exposure, momentum = new, faster


def _solve_prices(
    problem: ExposureProblem, anchor: NDArray[np.float64], pull: float, prices: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Minimise ‖Aᵀe − T‖² + pull ‖e − anchor‖² − gain · e: its prices, its exposures, and the Newton steps taken.

    The dual function of the prices π is concave, with the slope Aᵀe(π) − T − π / 2, where e(π) is a projection.
    """
    accuracy = PRICE_ACCURACY * (1.0 + float(np.abs(problem.target).max(initial=0.0)))
    value, found = _dual(problem, anchor, pull, prices)
    n_steps = 0
    while n_steps < MAX_NEWTON_STEPS:
        slope = found.point @ problem.groups - problem.target - 0.5 * prices
        if np.abs(slope).max(initial=0.0) <= accuracy:
            break
        n_steps += 1
        curvature = 0.5 * np.eye(len(prices)) + found.squares(problem.groups) / (2.0 * pull)
        way = np.linalg.solve(curvature, slope)
        rise, length = float(slope @ way), 1.0
        while True:
            moved = prices + length * way
            new_value, new_found = _dual(problem, anchor, pull, moved)
            if new_value >= value + SUFFICIENT_RISE * length * rise or length < SHORTEST_STEP:
                break
            length *= 0.5
        if length < SHORTEST_STEP:
            break
        prices, value, found = moved, new_value, new_found
    return prices, found.point, n_steps


def _dual(
    problem: ExposureProblem, anchor: NDArray[np.float64], pull: float, prices: NDArray[np.float64]
) -> tuple[float, Projection]:
    """The dual function at prices of the groups, and the projection that gives the exposures."""
    reward = problem.gain - problem.groups @ prices
    found = project(anchor + reward / (2.0 * pull), problem.discounts)
    of_pages = pull * float(np.sum((found.point - anchor) ** 2)) - float(reward @ found.point)
    return of_pages - float(prices @ problem.target) - 0.25 * float(prices @ prices), found


def least_distance(
    problem: ExposureProblem, relevance: NDArray[np.float64] | None = None, least_relevance: float = 0.0
) -> float:
    """A lower bound on ‖Aᵀe − T‖² alone, whatever else counts: of all stochastic policies, or of those alone whose
    relevance · e is at least `least_relevance`.

    Missing the relevance costs its square, in units in which all of it is `STIFFNESS` times the target: nothing for a
    policy that has enough, so that what is proved with this cost holds for each of them.
    """
    bound, relevance_met = _nearest(problem.groups, problem.target, problem.discounts, relevance)
    if relevance is None or relevance_met >= least_relevance:
        return bound
    unit = STIFFNESS * (float(np.linalg.norm(problem.target)) or 1.0) / least_relevance
    groups = np.column_stack([problem.groups, unit * relevance])
    target = np.append(problem.target, unit * least_relevance)
    return max(bound, _nearest(groups, target, problem.discounts, relevance, last_may_exceed=True)[0])


def _nearest(
    groups: NDArray[np.float64],
    target: NDArray[np.float64],
    discounts: NDArray[np.float64],
    relevance: NDArray[np.float64] | None,
    *,
    last_may_exceed: bool = False,
) -> tuple[float, float]:
    """A lower bound on the squared distance of mixtures of rankings from a target, and the relevance of the nearest.

    Fully corrective Frank–Wolfe. All mixtures lie beyond the plane through the best ranking for the direction from one
    of them to the target, so none is nearer to the target than that plane, nor to any point that has more of the last
    group where the direction asks for more of it.
    """
    mixture, direction, bound = None, target, 0.0
    tolerance = NEAR * float(discounts.sum()) ** 2
    for _ in range(MAX_VERTICES):
        ranking = best_ranking(groups @ direction, len(discounts))
        vertex = discounts @ groups[ranking]
        length = float(np.linalg.norm(direction))
        if length**2 <= tolerance:
            break
        if not last_may_exceed or direction[-1] >= 0.0:
            bound = max(bound, float(direction @ (target - vertex)) / length)
        if mixture is not None and length**2 - max(bound, 0.0) ** 2 <= tolerance:
            break
        mixture = Mixture.of(ranking, vertex) if mixture is None else mixture.joined(ranking, vertex)
        points = mixture.outcomes
        mixture = mixture.reweighted(minimise_on_simplex(points @ points.T, points @ target, mixture.weights))
        direction = target - mixture.outcome
    met = 0.0
    if mixture is not None and relevance is not None:
        met = float(mixture.weights @ [discounts @ relevance[ranking] for ranking in mixture.rankings])
    return max(bound, 0.0) ** 2, met


def mean_exposure(positions: NDArray[np.intp], weights: NDArray[np.float64], n_pages: int) -> NDArray[np.float64]:
    """Exposure of each page, mean over the rankings."""
    total = np.bincount(positions.reshape(-1), np.tile(weights, len(positions)), minlength=n_pages)
    return np.asarray(total / len(positions))


LEAST_EXPOSURE = 1e-7
"""Pages with less expected exposure are not shown."""
GROUP_WEIGHT = 4.0
"""How much a unit of exposure due to a group counts beside one due to a page."""


@dataclass(frozen=True)
class TypedPages:
    """The pages that are shown, sorted by page type."""

    pages: NDArray[np.intp]
    exposure: NDArray[np.float64]
    """Expected exposure of each of them in one ranking."""
    counted: NDArray[np.float64]
    """How far the exposure of each of them counts for its groups: 1, or its probability of relevance."""
    types: NDArray[np.intp]
    """Type of each of them, numbered from 0 without gaps."""
    rows: NDArray[np.float64]
    """Type by group."""

    @classmethod
    def of(
        cls,
        exposure: NDArray[np.float64],
        counted: NDArray[np.float64],
        page_type: NDArray[np.intp],
        rows: NDArray[np.float64],
        length: int,
    ) -> TypedPages:
        """The pages with any exposure, and never fewer than a ranking is long."""
        least = min(LEAST_EXPOSURE, float(np.partition(exposure, len(exposure) - length)[len(exposure) - length]))
        pages = np.flatnonzero(exposure >= least)
        pages = pages[np.argsort(page_type[pages], kind="stable")]
        present, types = np.unique(page_type[pages], return_inverse=True)
        return cls(pages, exposure[pages], counted[pages], types, rows[present])


def include_probable(
    exposure: NDArray[np.float64],
    page_type: NDArray[np.intp],
    relevance: NDArray[np.float64],
    probable: NDArray[np.intp],
    least: NDArray[np.float64],
    most_moved: float,
) -> NDArray[np.float64]:
    """Exposures in which `probable` pages have at least `least`, taken from pages of the same type that have more.

    The exposure of each type stays the same. Pages are served by falling relevance until a share `most_moved` of the
    type's exposure has moved. It moves from pages that keep more than any page is given, so the result is still the
    mean of some rankings.
    """
    missing = np.zeros_like(exposure)
    missing[probable] = np.maximum(least - exposure, 0.0)[probable]
    order = np.lexsort((-relevance, page_type))
    types = page_type[order]
    of_type = np.bincount(page_type, exposure)
    used = np.cumsum(missing[order])
    before = np.concatenate([[0.0], used])[np.searchsorted(types, types)]
    missing[order[used - before > most_moved * of_type[types]]] = 0.0
    raised = exposure + missing
    surplus = np.where(missing > 0.0, 0.0, np.maximum(exposure - least.max(), 0.0))
    available, needed = np.bincount(page_type, surplus), np.bincount(page_type, missing)
    share = np.where(needed <= available, needed / np.where(available > 0.0, available, 1.0), 0.0)
    raised = np.where((needed <= available)[page_type], raised, exposure)
    return np.asarray(raised - share[page_type] * surplus)


def round_exposure(
    shown: TypedPages, discounts: NDArray[np.float64], n_rankings: int, above: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Rankings (ranking by rank) whose mean exposure is as near to the expected one as whole pages allow.

    `above` are pages that each ranking shows already, in ranks above these: they are not shown again.
    """
    nearness = GROUP_WEIGHT * shown.rows @ shown.rows.T
    groups_per_ranking = nearness @ np.bincount(shown.types, shown.exposure * shown.counted, minlength=len(nearness))
    dues_by_rank = np.outer(discounts / discounts.sum(), groups_per_ranking)
    due_to_groups, due_to_pages = np.zeros(len(nearness)), np.zeros(len(shown.pages))
    positions = np.empty((n_rankings, len(discounts)), np.intp)
    for number in range(n_rankings):
        due_to_pages += shown.exposure
        queues = _Queues(shown, due_to_pages, None if above is None else np.isin(shown.pages, above[number]))
        for rank, weight in enumerate(discounts.tolist()):
            due_to_groups += dues_by_rank[rank]
            chosen, page = queues.take(due_to_groups, nearness, weight)
            due_to_groups -= weight * shown.counted[page] * nearness[chosen]
            due_to_pages[page] -= weight
            positions[number, rank] = shown.pages[page]
    return positions


class _Queues:
    """The pages of each type that one ranking can still show, the most due first."""

    def __init__(self, shown: TypedPages, due: NDArray[np.float64], is_taken: NDArray[np.bool_] | None) -> None:
        free = np.arange(len(due)) if is_taken is None else np.flatnonzero(~is_taken)
        self._order = free[np.lexsort((-due[free], shown.types[free]))].tolist()
        n_of_type = np.bincount(shown.types[free], minlength=len(shown.rows))
        ends = np.cumsum(n_of_type)
        self._next: list[int] = (ends - n_of_type).tolist()
        self._ends: list[int] = ends.tolist()
        self._due, self._counted = due, shown.counted
        heads = np.array([self._order[at] if at < end else -1 for at, end in zip(self._next, self._ends, strict=True)])
        self._head_due = np.where(heads >= 0, due[heads], -np.inf)
        self._head_counted = np.where(heads >= 0, shown.counted[heads], 0.0)

    def take(self, due_to_groups: NDArray[np.float64], nearness: NDArray[np.float64], weight: float) -> tuple[int, int]:
        """The type and the page that bring what is given nearest to what is due, when it gets this discount."""
        overshoot = 0.5 * weight * self._head_counted * nearness.diagonal()
        chosen = int((self._head_due + self._head_counted * (due_to_groups - overshoot)).argmax())
        at = self._next[chosen]
        page = self._order[at]
        self._next[chosen] = at + 1
        if at + 1 < self._ends[chosen]:
            head = self._order[at + 1]
            self._head_due[chosen] = self._due[head]
            self._head_counted[chosen] = self._counted[head]
        else:
            self._head_due[chosen] = -np.inf
        return chosen, page
