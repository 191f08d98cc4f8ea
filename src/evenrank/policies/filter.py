"""`filter`: only the most relevant candidates are passed to another policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import PageCount
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.inner import InnerPolicy
from evenrank.policies.policy import Candidates, CheckedPolicy, Policy, Rankings, Request
from evenrank.policies.relevance import relevance_order


def rank_among(
    policy: Policy,
    chosen: NDArray[np.intp],
    candidates: Candidates,
    target: EstimatedTarget,
    request: Request,
    rng: np.random.Generator,
) -> Rankings:
    """What `policy` makes of the chosen candidates, as positions among all of them."""
    rankings = policy.rank(candidates.take(chosen), target, request, rng)
    return Rankings(chosen[rankings.positions], rankings.certificate)


@dataclass(frozen=True)
class Filter(CheckedPolicy):
    """The most relevant candidates, ranked by another policy."""

    name: ClassVar[str] = "filter"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    paper_runs: ClassVar[tuple[str, ...]] = ("1step_pair",)
    citation: ClassVar[str] = "the track's overview, 'a filtering approach to select top ranked documents'"

    keep: PageCount = 1500
    """How many candidates stay (never fewer than a ranking is long). The track's run kept 4500 of a whole corpus; with
    the usual 2000 candidates and more for groups that would keep them all."""
    then: InnerPolicy = "swap"
    """Policy that ranks them: a name, or name:setting=value,…"""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        from evenrank.policies.registry import make_policy

        chosen = relevance_order(candidates)[: max(self.keep, request.length)]
        return rank_among(make_policy(self.then, request.task), chosen, candidates, target, request, rng)
