"""`inferred`: another policy over the groups that pages are believed to be in, where the system does not know them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.inner import InnerPolicy
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request


@dataclass(frozen=True)
class Inferred(CheckedPolicy):
    """Another policy, over groups inferred from totals of the collection where they are unknown to the system."""

    name: ClassVar[str] = "inferred"
    tasks: ClassVar[tuple[Task, ...]] = (1, 2)
    paper_runs: ClassVar[tuple[str, ...]] = ()
    needs_beliefs: ClassVar[bool] = True
    citation: ClassVar[str] = "the track's overview: attributes of pages may be known or inferred"

    policy: InnerPolicy = "exposure-disparity"
    """Policy that ranks: a name, or name:setting=value,… Without a dimension that is scored and unknown (set
    information=geography) it ranks as ever; a page never gets a group of its own, only what pages like it have."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        from evenrank.policies.registry import make_policy

        policy = make_policy(self.policy, request.task)
        beliefs = candidates.beliefs
        if beliefs is not None:
            candidates, target = replace(candidates, alignment=beliefs.alignment, beliefs=None), beliefs.target
        return policy.rank(candidates, target, request, rng)
