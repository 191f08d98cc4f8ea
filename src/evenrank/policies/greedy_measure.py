"""`greedy`: at every rank the page that raises the expected measure of the ranks so far the most.

The plainest use of a probability of relevance and an estimated target, and so the method that anything cleverer has to
beat: in Task 1 the measure is nDCG × AWRF of the prefix, in Task 2 the exposure loss of the rankings so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import Weight
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.diversification import counted_rows
from evenrank.policies.greedy import TypeQueues, fill_row
from evenrank.policies.optimal.compound import total_divergence
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request


class PrefixScore:
    """Expected relevance of the prefix × (1 − JSD of its group exposure and the target)^fairness.

    What the best prefix of that depth would have divides the score of every page alike, and is left out.
    """

    def __init__(
        self, rows: NDArray[np.float64], target: NDArray[np.float64], weights: NDArray[np.float64], fairness: float
    ) -> None:
        self._rows = rows
        self._target = target
        self._weights: list[float] = weights.tolist()
        self._fairness = fairness
        self._exposure = np.zeros(rows.shape[1])
        self._relevance = 0.0

    def values(self, slot: int, heads: NDArray[np.float64]) -> NDArray[np.float64]:
        exposure = self._exposure + self._weights[slot] * self._rows
        total = exposure.sum(axis=1)
        share = exposure / np.where(total > 0.0, total, 1.0)[:, None]
        awrf = np.where(total > 0.0, 1.0 - total_divergence(share, self._target) / np.log(2.0), 0.0)
        return np.asarray((self._relevance + self._weights[slot] * heads) * np.maximum(awrf, 0.0) ** self._fairness)

    def picked(self, slot: int, page_type: int, utility: float) -> None:
        self._exposure += self._weights[slot] * self._rows[page_type]
        self._relevance += self._weights[slot] * utility


class ExposureLoss:
    """Utility less fairness × growth of ‖given − wanted exposure‖², over the rankings so far and this one."""

    def __init__(
        self, rows: NDArray[np.float64], wanted: NDArray[np.float64], weights: NDArray[np.float64], fairness: float
    ) -> None:
        self._products = rows @ rows.T
        self._wanted = rows @ wanted
        self._weights: list[float] = weights.tolist()
        self._fairness = fairness
        self._owed = np.zeros(len(rows))

    def values(self, slot: int, heads: NDArray[np.float64]) -> NDArray[np.float64]:
        if slot == 0:
            self._owed += self._wanted
        shrinks = 2.0 * self._owed - self._weights[slot] * self._products.diagonal()
        return np.asarray(heads + self._fairness * shrinks)

    def picked(self, slot: int, page_type: int, utility: float) -> None:
        self._owed -= self._weights[slot] * self._products[page_type]


@dataclass(frozen=True)
class Greedy(CheckedPolicy):
    """The best next page by the expected measure itself: the simplest rival of `optimal`."""

    name: ClassVar[str] = "greedy"
    tasks: ClassVar[tuple[Task, ...]] = (1, 2)
    paper_runs: ClassVar[tuple[str, ...]] = ()
    citation: ClassVar[str] = (
        "greedy maximisation of an expected measure, as Wang and Zhu, Portfolio theory of information retrieval, SIGIR "
        "2009, for diversity; here of the track's measures"
    )

    fairness: Weight = 1.0
    """Task 1: power of AWRF in the product; Task 2: cost of a unit of squared exposure, in units of the best page."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        rows = counted_rows(candidates, target, request, candidates.alignment)
        weights = request.weights()
        queues = TypeQueues(candidates, candidates.utility(request.task), request.length)
        if request.task == 1:
            counts = (rows > 0.0).any(axis=0) | (target.values > 0.0)
            rankings = [
                fill_row(
                    queues, PrefixScore(rows[:, counts], target.values[counts], weights, self.fairness), request.length
                )
            ] * request.n_rankings
        else:
            loss = ExposureLoss(rows, target.values * float(weights.sum()), weights, self.fairness)
            rankings = [fill_row(queues, loss, request.length) for _ in range(request.n_rankings)]
        return Rankings(np.array(rankings, np.intp).reshape(request.n_rankings, -1))
