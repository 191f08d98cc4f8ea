"""`proportional`: explicit diversification (xQuAD or PM-2) towards the world's shares of the groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import PageCount, Share
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.greedy import Chooser, TypeQueues, fill_row
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request
from evenrank.policies.shares import background_share, relevance_share

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
    """Groups as important as their share of the world; a sequence owes each group what earlier rankings missed."""

    name: ClassVar[str] = "proportional"
    tasks: ClassVar[tuple[Task, ...]] = (1, 2)
    paper_runs: ClassVar[tuple[str, ...]] = ("UoGTrDivPropT1", "UoGTrDivPropT2")
    citation: ClassVar[str] = "Santos et al., xQuAD, WWW 2010; Dang and Croft, PM-2, SIGIR 2012"
    reconstructed: ClassVar[bool] = True

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
        share = background_share(relevance_share(candidates, request.task), target.space)
        weights = request.weights(min(request.length, len(candidates)))
        exposure = np.zeros(target.space.n_groups)
        rankings = []
        for number in range(1, request.n_rankings + 1):
            importance = still_due(share, exposure, number, float(weights.sum()))
            row = fill_row(queues, self._chooser(candidates, importance), request.length)
            exposure += candidates.divided.take(np.array(row, np.intp)).total(weights)
            rankings.append(row)
        return Rankings(np.array(rankings, np.intp).reshape(request.n_rankings, -1))

    def _chooser(self, candidates: Candidates, importance: NDArray[np.float64]) -> Chooser:
        rows = candidates.divided.rows
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
