"""`epsilon-greedy`: the order by relevance, with a random page at some of the ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenrank.core.allowed import PageCount, Share
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request


@dataclass(frozen=True)
class EpsilonGreedy(CheckedPolicy):
    """Each rank shows a random candidate with probability ε, else the best that is left; groups are not looked at."""

    name: ClassVar[str] = "epsilon-greedy"
    tasks: ClassVar[tuple[Task, ...]] = (1, 2)
    paper_runs: ClassVar[tuple[str, ...]] = ()
    citation: ClassVar[str] = "Feng and Shah, Has CEO gender bias really been fixed?, AAAI 2022 (ε-greedy)"

    epsilon: Share = 0.1
    """Probability of a random page at a rank."""
    pool: PageCount = 500
    """Random pages are drawn from this many of the most useful candidates (never fewer than a ranking is long)."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        utility = candidates.utility(request.task)
        order = np.lexsort((-candidates.scores, -utility))[: max(self.pool, request.length)]
        length = min(request.length, len(order))
        rankings = [self._draw(order, length, rng) for _ in range(request.n_rankings)]
        return Rankings(np.array(rankings, np.intp).reshape(request.n_rankings, length))

    def _draw(self, order: np.ndarray, length: int, rng: np.random.Generator) -> list[int]:
        """One ranking; a random page comes from all that are left."""
        left: list[int] = order.tolist()
        is_random = rng.random(length) < self.epsilon
        return [left.pop(int(rng.integers(len(left))) if random else 0) for random in is_random.tolist()]
