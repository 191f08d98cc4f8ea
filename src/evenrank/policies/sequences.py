"""Sequences by chance: `controller`, whose errors are corrected by later rankings, and `plackett-luce`."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import Range, Share, Weight
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.diversification import rows_without_holes
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request


def log_weights(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms; a page of weight 0 comes after all others, in random order among its like."""
    positive = weights > 0.0
    floor = np.log(weights[positive].min()) - 50.0 if positive.any() else 0.0
    return np.where(positive, np.log(np.where(positive, weights, 1.0)), floor)


def top(keys: NDArray[np.float64], length: int) -> NDArray[np.intp]:
    """Positions of the `length` largest keys along the last axis, largest first."""
    n_keys = keys.shape[-1]
    if length < n_keys:
        best = np.argpartition(-keys, length - 1, axis=-1)[..., :length]
    else:
        best = np.broadcast_to(np.arange(n_keys), keys.shape)
    order = np.argsort(-np.take_along_axis(keys, best, axis=-1), axis=-1, kind="stable")
    return np.asarray(np.take_along_axis(best, order, axis=-1), np.intp)


def plackett_luce(
    log_weight: NDArray[np.float64], length: int, n_samples: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Samples by rank: pages drawn one after the other, without return, in proportion to their weights."""
    keys = rng.gumbel(size=(n_samples, len(log_weight)))
    keys += log_weight
    return top(keys, min(length, len(log_weight)))


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
class PlackettLuce(CheckedPolicy):
    """Two-stage sampling; every editor gets an independent draw."""

    name: ClassVar[str] = "plackett-luce"
    tasks: ClassVar[tuple[Task, ...]] = (2,)
    near_runs: ClassVar[tuple[str, ...]] = ("PL_IRLab_05", "PL_IRLab_07")
    near_because: ClassVar[str] = "no paper describes them; their names are read as balance=0.5 and balance=0.7"
    citation: ClassVar[str] = "Plackett, The analysis of permutations, 1975; two stages as in the track's overview"

    sharpness: Weight = 1.0
    """Power of the weight relevance × work needed; higher draws good pages more surely."""
    balance: Share = 1.0
    """Share of the ranks at which a group is drawn first; at the others a page is drawn from all by its weight. We read
    the names of the track's runs as 0.5 and 0.7: no paper describes them."""

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


def control_terms(exposure: NDArray[np.float64], merit: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each group lags behind the best served one, given the exposure of all rankings before.

    (τ − 1) · max_G' [E(G')/M(G') − E(G)/M(G)] for ranking τ, where E is the mean exposure of the rankings before:
    with the sum in place of the mean the factor τ − 1 is in it already.
    """
    served = exposure / merit
    return np.asarray(served.max(initial=0.0) - served, np.float64)


@dataclass(frozen=True)
class Controller(CheckedPolicy):
    """Relevance × work needed plus control × lag of the page's groups; one Plackett–Luce sample per ranking."""

    name: ClassVar[str] = "controller"
    tasks: ClassVar[tuple[Task, ...]] = (2,)
    paper_runs: ClassVar[tuple[str, ...]] = ("pl_control_0.6", "pl_control_0.8", "pl_control_0.92")
    run_settings: ClassVar[dict[str, str]] = {
        "pl_control_0.6": "control=0.6",
        "pl_control_0.8": "control=0.8",
        "pl_control_0.92": "control=0.92",
    }
    citation: ClassVar[str] = (
        "Morik et al., Controlling fairness and bias in dynamic learning-to-rank (FairCo), SIGIR 2020"
    )

    control: Weight = 0.6
    """Weight of the control term, λ of the formula; the track's runs used 0.6, 0.8 and 0.92."""
    temperature: Weight = 0.1
    """Randomness of a ranking: Plackett–Luce weights are exp(value / temperature); 0 sorts by value."""
    floor: Annotated[float, Range(above=0.0, most=1.0)] = 0.001
    """Smallest share of merit of a group, so that a group of almost no merit does not steer everything."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        rows, page_type = candidates.divided.rows, candidates.alignment.page_type
        utility = candidates.utility(request.task)
        weights = request.weights(min(request.length, len(candidates)))
        merit = np.maximum(target.values, self.floor) * max(float(weights.sum()), 1.0)
        exposure = np.zeros(len(merit))
        rankings = np.empty((request.n_rankings, len(weights)), np.intp)
        for number in range(request.n_rankings):
            lag = rows @ control_terms(exposure, merit)
            rankings[number] = self._sample(utility + self.control * lag[page_type], len(weights), rng)
            exposure += np.bincount(page_type[rankings[number]], weights, minlength=len(rows)) @ rows
        return Rankings(rankings)

    def _sample(self, values: NDArray[np.float64], length: int, rng: np.random.Generator) -> NDArray[np.intp]:
        if self.temperature <= 0.0:
            return np.asarray(np.argsort(-values, kind="stable")[:length], np.intp)
        return np.asarray(plackett_luce(values / self.temperature, length, 1, rng)[0], np.intp)
