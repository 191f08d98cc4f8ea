"""Greedy rankings in the space of page types, and `greedy`: at every rank the page that raises the measure the most.

There is one queue per distinct alignment row, most useful page first. What a policy adds for fairness is the same for
all pages of a type, so only the head of each queue can be the best choice: a step costs a few operations on a hundred
numbers, however many candidates there are.

`greedy` is the plainest use of a probability of relevance and an estimated target, and so the method that anything
cleverer has to beat: in Task 1 the measure is nDCG × AWRF of the prefix, in Task 2 the exposure loss of the rankings so
far.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import Weight
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.optimal.compound import total_divergence
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request, counted_rows


class Chooser(Protocol):
    """What makes one greedy policy differ from another: the value of each type's best page at a slot."""

    def values(self, slot: int, heads: NDArray[np.float64]) -> NDArray[np.float64]:
        """Value per type, in an array that the caller may change; `heads` is the utility of the best page left."""
        ...

    def picked(self, slot: int, page_type: int, utility: float) -> None:
        """Take note of the choice."""
        ...


class TypeQueues:
    """Candidates by page type, in order of utility; ties go to the page that search put first."""

    def __init__(self, candidates: Candidates, utility: NDArray[np.float64], length: int) -> None:
        page_type, n_types = candidates.alignment.page_type, len(candidates.alignment.rows)
        order = np.lexsort((-utility, page_type))
        counts = np.bincount(page_type, minlength=n_types)
        place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        order = order[place < length]  # no ranking can take more of one type
        counts = np.minimum(counts, length)
        ends = np.cumsum(counts)
        self.n_pages = len(order)
        self.starts: list[int] = (ends - counts + np.arange(n_types)).tolist()
        self.positions: list[int] = np.insert(order, ends, -1).tolist()
        """Queue after queue, each closed by −1."""
        self.utilities: list[float] = np.insert(utility[order], ends, 0.0).tolist()
        self.heads = np.array([self.utilities[start] for start in self.starts])
        self.closed = np.where(counts > 0, 0.0, -np.inf)


class OpenRanking:
    """One ranking that is being filled from the queues."""

    def __init__(self, queues: TypeQueues) -> None:
        self._queues = queues
        self._next = queues.starts.copy()
        self._closed = queues.closed.copy()
        self.heads = queues.heads.copy()
        self.positions: list[int] = []

    def take_best(self, values: NDArray[np.float64]) -> tuple[int, float]:
        """Append the page with the highest value; its type and utility."""
        values += self._closed
        page_type = int(values.argmax())
        queues, at = self._queues, self._next[page_type]
        self.positions.append(queues.positions[at])
        utility = queues.utilities[at]
        self._next[page_type] = at + 1
        self.heads[page_type] = queues.utilities[at + 1]
        if queues.positions[at + 1] < 0:
            self._closed[page_type] = -np.inf
        return page_type, utility


def fill_row(queues: TypeQueues, chooser: Chooser, length: int) -> list[int]:
    """One ranking, filled from rank 1 on."""
    ranking = OpenRanking(queues)
    for slot in range(min(length, queues.n_pages)):
        chooser.picked(slot, *ranking.take_best(chooser.values(slot, ranking.heads)))
    return ranking.positions


def fill_columns(queues: TypeQueues, chooser: Chooser, n_rankings: int, length: int) -> list[list[int]]:
    """Rank 1 of all rankings, then rank 2 of all, and so on; a slot is the number of the ranking."""
    rankings = [OpenRanking(queues) for _ in range(n_rankings)]
    for _ in range(min(length, queues.n_pages)):
        for slot, ranking in enumerate(rankings):
            chooser.picked(slot, *ranking.take_best(chooser.values(slot, ranking.heads)))
    return [ranking.positions for ranking in rankings]


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
