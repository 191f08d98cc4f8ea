"""`exposure-disparity`: at every rank the page that most shrinks wanted minus given exposure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import Share, Weight
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.greedy import TypeQueues, fill_row
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request, TrainingTopic
from evenrank.policies.shares import (
    background_share,
    counted_rows,
    ignores_unknown,
    mixed_share,
    relevance_share,
)


class ExposureGap:
    """Utility + weight × alignment · (wanted share × exposure given so far and now − exposure given to the group).

    Exposure of pages that count for no group is left out on both sides. The gap runs on over the rankings.
    """

    def __init__(
        self, rows: NDArray[np.float64], wanted: NDArray[np.float64], weights: NDArray[np.floating], weight: float
    ) -> None:
        self._wanted_of_type = weight * (rows @ wanted)
        self._gain = np.outer(rows.sum(axis=1), self._wanted_of_type) - weight * (rows @ rows.T)
        """What one unit of exposure for a page of the row's type does to the gap of the column's type."""
        self._gap = np.zeros(len(rows))
        self._discounts: list[float] = weights.tolist()

    def values(self, slot: int, heads: NDArray[np.float64]) -> NDArray[np.float64]:
        values = self._wanted_of_type * self._discounts[slot]
        values += self._gap
        values += heads
        return values

    def picked(self, slot: int, page_type: int, utility: float) -> None:
        self._gap += self._discounts[slot] * self._gain[page_type]


def best_background(
    shares: Sequence[NDArray[np.float64]], worlds: Sequence[NDArray[np.float64]], wanted: Sequence[NDArray[np.float64]]
) -> float:
    """The weight w in [0, 1] for which (1 − w) · share + w · world is nearest to what was wanted (least squares)."""
    direction = np.concatenate([world - share for world, share in zip(worlds, shares, strict=True)])
    distance = np.concatenate([target - share for target, share in zip(wanted, shares, strict=True)])
    length = float(direction @ direction)
    return float(np.clip(direction @ distance / length, 0.0, 1.0)) if length > 0.0 else 0.5


@dataclass(frozen=True)
class ExposureDisparity(CheckedPolicy):
    """Wanted exposure is a mix of the world and of the candidates' relevance by group."""

    name: ClassVar[str] = "exposure-disparity"
    tasks: ClassVar[tuple[Task, ...]] = (1, 2)
    paper_runs: ClassVar[tuple[str, ...]] = ("UoGTrDExpDisT1", "UoGTrDExpDisT2")
    near_runs: ClassVar[tuple[str, ...]] = ("UoGTrDExpDisLT1", "UoGTrLambT2")
    near_because: ClassVar[str] = "they trained LambdaMART; here one number is fitted (learned=true), or none"
    citation: ClassVar[str] = "the track's overview; exposure as in Biega et al., Equity of attention, SIGIR 2018"
    reconstructed: ClassVar[bool] = True

    weight: Weight = 0.1
    """Value of one unit of missing exposure against the best page's relevance."""
    background: Share = 0.5
    """Part of the wanted exposure that follows the world; the rest follows the relevance of the candidates."""
    learned: bool = False
    """Fit `background`, one number, on the training topics before ranking (least squares). The track's learned runs
    trained LambdaMART; this stands beside them and does not reproduce them."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        share = relevance_share(candidates, request.task, drop_unknown=ignores_unknown(target, request))
        wanted = mixed_share(share, target.space, self.background)
        gap = ExposureGap(counted_rows(candidates, target, request), wanted, request.weights(), self.weight)
        queues = TypeQueues(candidates, candidates.utility(request.task), request.length)
        rankings = [fill_row(queues, gap, request.length) for _ in range(request.n_rankings)]
        return Rankings(np.array(rankings, np.intp).reshape(request.n_rankings, -1))

    def fit(self, training: Sequence[TrainingTopic], request: Request) -> ExposureDisparity:
        """This policy with `background` learned from topics whose wanted exposure is known."""
        shares, worlds, wanted = [], [], []
        for topic in training:
            drop = ignores_unknown(topic.wanted, request)
            share = relevance_share(topic.candidates, request.task, drop_unknown=drop)
            if share is not None:
                shares.append(share)
                worlds.append(background_share(share, topic.wanted.space))
                wanted.append(topic.wanted.values)
        if not shares:
            return self
        return replace(self, background=best_background(shares, worlds, wanted))
