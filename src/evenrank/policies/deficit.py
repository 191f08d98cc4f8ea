"""Methods that make up what groups lack: page by page (`deficit`), and by swaps in a finished list (`swap`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import PageCount, PageCountOrAll, Weight
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.greedy import TypeQueues, fill_columns, fill_row
from evenrank.policies.optimal.compound import CompoundProblem
from evenrank.policies.optimal.exchange import improve
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request, counted_rows
from evenrank.policies.relevance import relevance_order, repeat_ranking


class OwedPages:
    """Utility + weight × alignment · (wanted share × slots opened so far − pages shown) / window.

    Slots open in windows: the first 20 ranks owe each group its share of 20 pages, the next 20 as many again. Beyond
    the last slot that can be owed, relevance alone decides.
    """

    def __init__(
        self, rows: NDArray[np.float64], wanted: NDArray[np.float64], window: int, n_owed: int, weight: float
    ) -> None:
        self._per_slot = weight / window * (rows @ wanted)
        self._paid = weight / window * (rows @ rows.T)
        self._owed = np.zeros(len(rows))
        self._window = window
        self._n_owed = n_owed

    def values(self, slot: int, heads: NDArray[np.float64]) -> NDArray[np.float64]:
        if slot >= self._n_owed:
            return heads.copy()
        if slot % self._window == 0:
            self._owed += min(self._window, self._n_owed - slot) * self._per_slot
        return np.asarray(heads + self._owed, np.float64)

    def picked(self, slot: int, page_type: int, utility: float) -> None:
        if slot < self._n_owed:
            self._owed -= self._paid[page_type]


@dataclass(frozen=True)
class Deficit(CheckedPolicy):
    """The page with the highest sum of relevance, debt to its groups and, in Task 2, work needed."""

    name: ClassVar[str] = "deficit"
    tasks: ClassVar[tuple[Task, ...]] = (1, 2)
    paper_runs: ClassVar[tuple[str, ...]] = ("RUN1", "RUN_task2")
    citation: ClassVar[str] = (
        "the track's overview, 'iteratively selecting documents by combining relevance, fairness and quality'"
    )
    sequence_settings: ClassVar[tuple[str, ...]] = ("quality", "order")

    weight: Weight = 1.0
    """How much a group that is one whole window behind counts, against the relevance of the best page."""
    window: PageCount = 20
    """Length of a window: within it, each group should get its share of the pages, row by row."""
    n_windows: PageCountOrAll = 1
    """Number of windows in which groups should get their share, row by row (the track's run: 1); 0 means all."""
    quality: Weight = 0.25
    """Task 2: value of the work a page needs against its relevance."""
    order: Literal["column", "row"] = "column"
    """Task 2: fill rank 1 of all rankings, then rank 2 of all (column), or ranking after ranking (row)."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        utility = candidates.utility(1)
        if request.task == 2:
            utility = utility + self.quality * candidates.work_needed
        queues = TypeQueues(candidates, utility, request.length)
        rows = counted_rows(candidates, target, request)
        if request.task == 2 and self.order == "column":
            owed = OwedPages(rows, target.values, request.n_rankings, request.n_rankings, self.weight)
            rankings = fill_columns(queues, owed, request.n_rankings, request.length)
        else:
            n_owed = min(self.window * self.n_windows or request.length, request.length)
            owed = OwedPages(rows, target.values, self.window, n_owed, self.weight)
            rankings = [fill_row(queues, owed, request.length) for _ in range(request.n_rankings)]
        return Rankings(np.array(rankings, np.intp).reshape(request.n_rankings, -1))


N_EVALUATED = 16
"""Exchanges that are evaluated exactly in each step, those that look best to the second order."""
LEAST_GAIN = 1e-7
"""Relative gain below which an exchange is not worth making."""


@dataclass(frozen=True)
class Swap(CheckedPolicy):
    """The best pair swaps of relevance × fairness, over all pairs in the ranking and outside it."""

    name: ClassVar[str] = "swap"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    paper_runs: ClassVar[tuple[str, ...]] = ("1step_pair", "2step_pair")
    citation: ClassVar[str] = "the track's overview; pair swaps as in local search for assignment problems"

    n_swaps: PageCountOrAll = 100
    """Exchanges at most."""
    fairness: Weight = 1.0
    """Power of fairness in the product relevance × fairness."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        depth = min(request.length, len(candidates))
        if not depth:
            return repeat_ranking(relevance_order(candidates), request)
        problem = CompoundProblem.of(
            counted_rows(candidates, target, request, candidates.alignment),
            candidates.alignment.page_type,
            candidates.relevance,
            target.values,
            request.weights(depth),
            fairness=self.fairness,
        )
        by_relevance = relevance_order(candidates)[None, :depth]
        (ranking,) = improve(problem, by_relevance, depth, N_EVALUATED, self.n_swaps, LEAST_GAIN)
        return repeat_ranking(ranking, request)
