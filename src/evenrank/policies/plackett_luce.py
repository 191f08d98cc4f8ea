"""`plackett-luce`: first a group by its target share, then a page of it by relevance × work needed."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError
from evenrank.policies.candidates import Candidates
from evenrank.policies.policy import Rankings, Request
from evenrank.policies.relevance_share import rows_without_holes
from evenrank.policies.sampling import log_weights, plackett_luce
from evenrank.records import Task
from evenrank.targets.target import EstimatedTarget


class GroupQueues:
    """For every ranking and group, the group's pages in the order in which a Plackett–Luce sample draws them.

    Taking a page out of such an order leaves an order of the rest with the right distribution, so a page that was
    drawn for another group is simply passed over.
    """

    def __init__(
        self,
        page_by_group: NDArray[np.float64],
        log_utility: NDArray[np.float64],
        n_rankings: int,
        length: int,
        rng: np.random.Generator,
    ) -> None:
        self.groups: list[int] = np.flatnonzero((page_by_group > 0.0).any(axis=0)).tolist()
        self._orders: dict[int, list[list[int]]] = {}
        for group in self.groups:
            members = np.flatnonzero(page_by_group[:, group] > 0.0)
            keys = log_utility[members] + np.log(page_by_group[members, group])
            self._orders[group] = members[plackett_luce(keys, length, n_rankings, rng)].tolist()

    def of_ranking(self, number: int) -> dict[int, list[int]]:
        """The group's pages for one ranking, the next one to draw last."""
        return {group: self._orders[group][number][::-1] for group in self.groups}


class GroupDraw:
    """Draws groups in proportion to their shares, among those that are still open."""

    def __init__(self, groups: list[int], share: NDArray[np.float64]) -> None:
        self._open = groups.copy()
        self._share = share
        self._spread()

    def _spread(self) -> None:
        share = self._share[self._open]
        total = share.sum()
        parts = share / total if total > 0.0 else np.full(len(share), 1.0 / max(len(share), 1))
        self._upper_ends: list[float] = np.cumsum(parts).tolist()[:-1]

    def at(self, point: float) -> int:
        """The group whose part of [0, 1) the point falls into; equal parts when no open group has a share."""
        return self._open[bisect_right(self._upper_ends, point)]

    def close(self, group: int) -> None:
        """The group has no page left."""
        self._open.remove(group)
        self._spread()


def draw_ranking(
    queues: dict[int, list[int]], share: NDArray[np.float64], length: int, rng: np.random.Generator
) -> list[int]:
    """Groups drawn by share among those with pages left, each time the next page of the group."""
    draw = GroupDraw(list(queues), share)
    ranking: list[int] = []
    shown: set[int] = set()
    points: list[float] = []
    while len(ranking) < length:
        points = points or rng.random(length).tolist()
        group = draw.at(points.pop())
        queue = queues[group]
        while queue and queue[-1] in shown:
            queue.pop()
        if queue:
            ranking.append(queue.pop())
            shown.add(ranking[-1])
        else:
            draw.close(group)
    return ranking


@dataclass(frozen=True)
class PlackettLuce:
    """Two-stage sampling; every editor gets an independent draw."""

    name: ClassVar[str] = "plackett-luce"
    tasks: ClassVar[tuple[Task, ...]] = (2,)
    paper_runs: ClassVar[tuple[str, ...]] = ("PL_IRLab_05", "PL_IRLab_07")
    citation: ClassVar[str] = "Plackett, The analysis of permutations, 1975; two stages as in the track's overview"

    sharpness: float = 1.0
    """Power of the weight relevance × work needed; higher draws good pages more surely."""
    balance: float = 1.0
    """Share of the ranks at which a group is drawn first; at the others a page is drawn from all by its weight. We read
    the names of the track's runs as 0.5 and 0.7: no paper describes them."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.balance <= 1.0:
            raise EvenrankError(f"plackett-luce: balance is {self.balance}, but must be from 0 to 1")

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        length = min(request.length, len(candidates))
        log_utility = self.sharpness * log_weights(candidates.utility(request.task))
        page_by_group = rows_without_holes(candidates)[candidates.alignment.page_type]
        share = target.values
        if self.balance < 1.0:  # all pages are one more group
            page_by_group = np.hstack([page_by_group, np.ones((len(candidates), 1))])
            share = np.append(self.balance * share, 1.0 - self.balance)
        queues = GroupQueues(page_by_group, log_utility, request.n_rankings, request.length, rng)
        rankings = [draw_ranking(queues.of_ranking(number), share, length, rng) for number in range(request.n_rankings)]
        return Rankings(np.array(rankings, np.intp).reshape(request.n_rankings, length))
