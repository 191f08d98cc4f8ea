"""Methods of the University of Glasgow in the track, reconstructed: diversification towards group shares.

Group shares that they compute for themselves come first: what the candidates are, and what the world is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.allowed import PageCount, PageCountOrAll, Share
from evenrank.core.groups import GroupSpace
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget, background_target, blend
from evenrank.policies.greedy import Chooser, TypeQueues, fill_row
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request, counted_rows, ignores_unknown
from evenrank.policies.relevance import relevance_order


def relevance_share(candidates: Candidates, task: Task, *, drop_unknown: bool = False) -> NDArray[np.float64] | None:
    """Share of each group in the total utility of the candidates; None when there is nothing to share."""
    mass = candidates.divided.total(candidates.utility(task))
    if drop_unknown:
        mass[0] = 0.0
    total = mass.sum()
    return mass / total if total > 0.0 else None


def background_share(share: NDArray[np.float64] | None, space: GroupSpace) -> NDArray[np.float64]:
    """The world's distribution within each section (pattern of known and unknown), sections as heavy as in `share`.

    The world says nothing about how many pages are unknown, so that is taken from the candidates.
    """
    if share is None:
        return background_target(space)
    return 2.0 * blend(share, space) - share


def mixed_share(share: NDArray[np.float64] | None, space: GroupSpace, background: float) -> NDArray[np.float64]:
    """`background` parts of the world and the rest of what the candidates are."""
    world = background_share(share, space)
    return world if share is None else (1.0 - background) * share + background * world


COVER = 3.0
"""How fast a need is met: a group that got all the pages it is due in a window has exp(−3) = 1/20 of its need left."""


class XQuAD:
    """Utility × ((1 − λ) + λ Σ_g importance_g · alignment_g · novelty_g): relevance and what is not covered yet.

    xQuAD multiplies (1 − P(page | group)) over the pages chosen. With 1000 ranks one page cannot cover a group: here
    it covers a part of what the group is due in a window of ranks, and the need is whole again in the next window.
    """

    def __init__(self, rows: NDArray[np.float64], importance: NDArray[np.float64], window: int, weight: float) -> None:
        due = np.maximum(importance * window, 1e-12)
        self._rows = rows
        self._left_over = np.exp(-COVER * rows / due)
        self._need_at_start = weight * importance / max(float(importance.max(initial=0.0)), 1e-12)
        self._need = self._need_at_start.copy()
        self._window = window
        self._relevance_weight = 1.0 - weight

    def values(self, slot: int, heads: NDArray[np.float64]) -> NDArray[np.float64]:
        if slot % self._window == 0:
            self._need[:] = self._need_at_start
        worth = self._rows @ self._need
        worth += self._relevance_weight
        worth *= heads
        return worth

    def picked(self, slot: int, page_type: int, utility: float) -> None:
        self._need *= self._left_over[page_type] ** utility


class PM2:
    """Utility × (λ q_g* alignment_g* + (1 − λ) Σ_{g≠g*} q_g alignment_g), quotients q_g = v_g / (2 s_g + 1)."""

    def __init__(self, rows: NDArray[np.float64], importance: NDArray[np.float64], weight: float) -> None:
        self._rows = rows
        self._importance = importance
        self._seats = np.zeros(len(importance))
        self._weight = weight

    def values(self, slot: int, heads: NDArray[np.float64]) -> NDArray[np.float64]:
        quotients = self._importance / (2.0 * self._seats + 1.0)
        due = int(quotients.argmax())
        first = quotients[due]
        quotients *= 1.0 - self._weight
        quotients[due] = self._weight * first
        worth = np.asarray(self._rows @ quotients, np.float64)
        worth *= heads
        return worth

    def picked(self, slot: int, page_type: int, utility: float) -> None:
        self._seats += self._rows[page_type]


@dataclass(frozen=True)
class Proportional(CheckedPolicy):
    """Groups as important as their share of the world; a sequence owes each group what earlier rankings missed.

    Where fully unknown pages count for no group, they are no group that is due a share either.
    """

    name: ClassVar[str] = "proportional"
    tasks: ClassVar[tuple[Task, ...]] = (1, 2)
    paper_runs: ClassVar[tuple[str, ...]] = ("UoGTrDivPropT1", "UoGTrDivPropT2")
    citation: ClassVar[str] = "Santos et al., xQuAD, WWW 2010; Dang and Croft, PM-2, SIGIR 2012"

    weight: Share = 0.5
    """Weight of diversity against relevance, λ of the formulas."""
    diversifier: Literal["xquad", "pm2"] = "xquad"
    """Which formula picks the next page."""
    window: PageCount = 20
    """xQuAD: ranks over which each group is due its share."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        queues = TypeQueues(candidates, candidates.utility(request.task), request.length)
        ignored = ignores_unknown(target, request)
        share = background_share(relevance_share(candidates, request.task, drop_unknown=ignored), target.space)
        rows = counted_rows(candidates, target, request)
        counted = Alignment(rows, candidates.alignment.page_type)
        weights = request.weights(min(request.length, len(candidates)))
        exposure = np.zeros(target.space.n_groups)
        rankings = []
        for number in range(1, request.n_rankings + 1):
            importance = still_due(share, exposure, number, float(weights.sum()))
            row = fill_row(queues, self._chooser(rows, importance), request.length)
            exposure += counted.take(np.array(row, np.intp)).total(weights)
            rankings.append(row)
        return Rankings(np.array(rankings, np.intp).reshape(request.n_rankings, -1))

    def _chooser(self, rows: NDArray[np.float64], importance: NDArray[np.float64]) -> Chooser:
        return (
            XQuAD(rows, importance, self.window, self.weight)
            if self.diversifier == "xquad"
            else PM2(rows, importance, self.weight)
        )


def still_due(
    share: NDArray[np.float64], exposure: NDArray[np.float64], number: int, per_ranking: float
) -> NDArray[np.float64]:
    """Shares that ranking `number` should have, so that all rankings up to it have `share` of the exposure.

    This keeps the skew of the whole sequence small; for the first ranking it is `share` itself.
    """
    due = np.maximum(number * per_ranking * share - exposure, 0.0)
    total = due.sum()
    return due / total if total > 0.0 else share


TINY = 1e-12
"""Utility of a page that is certainly not relevant: it may still fill a position of its group."""


class Seats:
    """Gives each position to the group with the largest quotient share / (2 seats + 1) (Sainte-Laguë).

    The best page left in that group takes it, and counts as a seat for every group it belongs to.
    """

    def __init__(self, rows: NDArray[np.float64], n_of_type: NDArray[np.integer], share: NDArray[np.float64]) -> None:
        self._rows = rows
        self._columns = np.ascontiguousarray(rows.T)
        self._member = (rows > 0.0).astype(np.float64)
        self._n_left_at_start = n_of_type @ self._member
        self._share = share
        self._divisor = np.ones(len(share))
        self.next_ranking()

    def next_ranking(self) -> None:
        """All pages are free again; the seats given so far stay."""
        self._n_left = self._n_left_at_start.copy()

    def values(self, slot: int, heads: NDArray[np.float64]) -> NDArray[np.float64]:
        quotients = self._share / self._divisor
        quotients[self._n_left <= 0.0] = -1.0
        return np.asarray(self._columns[quotients.argmax()] * heads, np.float64)

    def picked(self, slot: int, page_type: int, utility: float) -> None:
        self._divisor += 2.0 * self._rows[page_type]
        self._n_left -= self._member[page_type]


def rows_without_holes(candidates: Candidates) -> NDArray[np.float64]:
    """Alignment rows by type, a page of no group counted as fully unknown."""
    rows = candidates.divided.rows.copy()
    rows[rows.sum(axis=1) <= 0.0, 0] = 1.0
    return rows


@dataclass(frozen=True)
class RelevanceShare(CheckedPolicy):
    """Positions by relevance share; in Task 2 relevance counts times the work needed, seats over the sequence."""

    name: ClassVar[str] = "relevance-share"
    tasks: ClassVar[tuple[Task, ...]] = (1, 2)
    paper_runs: ClassVar[tuple[str, ...]] = ("UoGTrDRelDiT1", "UoGTrDRelDiT2")
    citation: ClassVar[str] = "the track's overview, 'allocating positions … proportionally'; seats by Sainte-Laguë"

    pool: PageCountOrAll = 0
    """Shares are counted over this many of the most relevant candidates; 0 counts all."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        utility = np.maximum(candidates.utility(request.task), TINY)
        rows = rows_without_holes(candidates)
        counted = relevance_order(candidates)[: self.pool or None]
        page_type = candidates.alignment.page_type
        mass = np.bincount(page_type[counted], utility[counted], minlength=len(rows)) @ rows
        seats = Seats(rows, np.bincount(page_type, minlength=len(rows)), mass)
        queues = TypeQueues(candidates, utility, request.length)
        rankings = []
        for _ in range(request.n_rankings):
            seats.next_ranking()
            rankings.append(fill_row(queues, seats, request.length))
        return Rankings(np.array(rankings, np.intp).reshape(request.n_rankings, -1))
