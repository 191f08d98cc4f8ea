"""`swap`: relevance order, improved by the best exchange of two pages until none helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenrank.core.allowed import PageCountOrAll, Weight
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.optimal.compound import CompoundProblem
from evenrank.policies.optimal.exchange import improve
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request
from evenrank.policies.relevance import relevance_order, repeat_ranking
from evenrank.policies.shares import counted_rows

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
