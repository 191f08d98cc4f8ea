"""`relevance-share`: positions to each group in proportion to its total relevance among the candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import PageCountOrAll
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.greedy import TypeQueues, fill_row
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request
from evenrank.policies.relevance import relevance_order

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
    reconstructed: ClassVar[bool] = True

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
