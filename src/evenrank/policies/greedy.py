"""Greedy rankings in the space of page types: one queue per distinct alignment row, most useful page first.

What a policy adds for fairness is the same for all pages of a type, so only the head of each queue can be the
best choice: a step costs a few operations on a hundred numbers, however many candidates there are.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.policy import Candidates


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
