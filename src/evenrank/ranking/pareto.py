"""The frontier between relevance and fairness: what `optimal` gives at each weight of fairness."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenrank.errors import EvenrankError
from evenrank.parallel import map_batches
from evenrank.policies.candidates import Candidates
from evenrank.policies.optimal import Optimal
from evenrank.policies.policy import Request
from evenrank.ranking.job import RankingJob
from evenrank.records import Task
from evenrank.rng import derive
from evenrank.targets.target import EstimatedTarget

WEIGHTS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Weights of fairness from the order by relevance to fairness nearly alone."""
MEASURES: dict[Task, str] = {1: "AWRF", 2: "EE-L"}
"""The measure of fairness of each task, estimated from what the policy knows."""
SECOND: dict[Task, str] = {1: "Score", 2: "expected_precision"}
"""A second number of each task: relevance share × AWRF, or the expected share of relevant pages."""


@dataclass(frozen=True)
class FrontierPoint:
    """One trade-off, in the estimate of the policy."""

    fairness: float
    """Weight of fairness."""
    relevance_share: float
    """Discounted relevance, relative to the order by relevance."""
    measure: float
    """AWRF (Task 1, higher is better) or EE-L (Task 2, lower is better)."""
    second: float
    """Score (Task 1) or expected precision (Task 2)."""
    gap: float
    """How far the objective can be from its best at most: relative in Task 1, in units of EE-L in Task 2."""

    def row(self, task: Task) -> dict[str, float]:
        """The point with the names that its numbers have in a task."""
        return {
            "fairness": self.fairness,
            "relevance_share": self.relevance_share,
            MEASURES[task]: self.measure,
            SECOND[task]: self.second,
            "gap": self.gap,
        }


def frontier(
    candidates: Candidates,
    target: EstimatedTarget,
    request: Request,
    weights: Sequence[float] = WEIGHTS,
    policy: Optimal | None = None,
) -> list[FrontierPoint]:
    """The trade-offs of one topic, one for each weight of fairness; none without candidates."""
    policy, rng = policy or Optimal(), derive(0, candidates.topic_id)
    at_weights = (replace(policy, fairness=weight).rank(candidates, target, request, rng) for weight in weights)
    pairs = zip(weights, (rankings.certificate for rankings in at_weights), strict=True)
    return [_point(request.task, weight, certificate) for weight, certificate in pairs if certificate]


def topic_frontiers(
    job: RankingJob, topic_ids: Sequence[int], weights: Sequence[float] = WEIGHTS, n_workers: int = 1
) -> Iterator[tuple[int, list[FrontierPoint]]]:
    """(topic id, trade-offs) of each topic that has candidates, for a job whose policy is `optimal`."""
    parts = ((job, topic_id, weights) for topic_id in topic_ids)
    for topic_id, points in map_batches(_topic_frontier, parts, min(n_workers, len(topic_ids))):
        if points:
            yield topic_id, points


def mean_frontier(frontiers: Iterable[Sequence[FrontierPoint]]) -> list[FrontierPoint]:
    """The mean over topics of the trade-offs at each weight."""
    by_weight = zip(*frontiers, strict=True)
    return [
        FrontierPoint(
            fairness=points[0].fairness,
            relevance_share=float(np.mean([point.relevance_share for point in points])),
            measure=float(np.mean([point.measure for point in points])),
            second=float(np.mean([point.second for point in points])),
            gap=float(np.mean([point.gap for point in points])),
        )
        for points in by_weight
    ]


def _topic_frontier(part: tuple[RankingJob, int, Sequence[float]]) -> tuple[int, list[FrontierPoint]]:
    job, topic_id, weights = part
    if not isinstance(job.policy, Optimal):
        raise EvenrankError(f"the frontier is that of optimal, not of {job.policy.name}")
    prepared = job.prepare(topic_id)
    if prepared is None:
        return topic_id, []
    return topic_id, frontier(*prepared, job.request, weights, job.policy)


def _point(task: Task, weight: float, certificate: dict[str, float]) -> FrontierPoint:
    """The measure itself is the second number in Task 1, whatever the weight; the expected precision in Task 2."""
    score = certificate["relevance_share"] * certificate["AWRF"] if task == 1 else certificate["expected_precision"]
    return FrontierPoint(
        fairness=weight,
        relevance_share=certificate["relevance_share"],
        measure=certificate[MEASURES[task]],
        second=score,
        gap=certificate["gap"],
    )
