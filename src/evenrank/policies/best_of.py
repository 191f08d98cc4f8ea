"""`best-of`: of several rankers the list that is expected to score highest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.inner import InnerPolicies
from evenrank.policies.optimal.compound import CompoundProblem
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request
from evenrank.policies.shares import counted_rows


@dataclass(frozen=True)
class BestOf(CheckedPolicy):
    """Topic by topic the list with the highest expected nDCG × AWRF among those of several rankers."""

    name: ClassVar[str] = "best-of"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    paper_runs: ClassVar[tuple[str, ...]] = ("1step_pair_list", "2step_pair_list")
    citation: ClassVar[str] = "the track's overview: the '_list' runs choose the better of two rankers' lists"

    rankers: InnerPolicies = ("filter", "union")
    """Policies to choose from, by what is expected from candidates and target, never from judgments: names, or
    name:setting=value."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        from evenrank.policies.registry import make_policy

        lists = [make_policy(ranker, request.task).rank(candidates, target, request, rng) for ranker in self.rankers]
        depth = lists[0].positions.shape[1]
        if not depth:
            return lists[0]
        rows = counted_rows(candidates, target, request, candidates.alignment)
        problem = CompoundProblem.of(
            rows, candidates.alignment.page_type, candidates.relevance, target.values, request.weights(depth)
        )
        return max(lists, key=lambda found: problem.score(found.positions[0]))
