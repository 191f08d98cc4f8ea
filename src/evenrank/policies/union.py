"""`union`: the heads of several rankers' lists, thrown together and ranked by another policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.filter import rank_among
from evenrank.policies.inner import InnerPolicies, InnerPolicy
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request


@dataclass(frozen=True)
class Union(CheckedPolicy):
    """Pages that any of the rankers puts into its list, ranked by another policy."""

    name: ClassVar[str] = "union"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    paper_runs: ClassVar[tuple[str, ...]] = ("2step_pair",)
    citation: ClassVar[str] = "the track's overview, 'top ranked documents from … the union of rankers'"

    rankers: InnerPolicies = ("deficit", "relevance-share")
    """Fair rankers whose lists are joined: names, or name:setting=value."""
    then: InnerPolicy = "swap"
    """Policy that ranks the union: a name, or name:setting=value,…"""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        from evenrank.policies.registry import make_policy

        rankers = [make_policy(ranker, request.task) for ranker in self.rankers]
        lists = [ranker.rank(candidates, target, request, rng).positions for ranker in rankers]
        chosen = np.unique(np.concatenate([positions.reshape(-1) for positions in lists]))
        return rank_among(make_policy(self.then, request.task), chosen, candidates, target, request, rng)
