"""`relevance`: the order of the search engine, without a thought for fairness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.policy import Candidates, Rankings, Request


def relevance_order(candidates: Candidates) -> NDArray[np.intp]:
    """Candidates by falling relevance; equally relevant ones by falling score, then as they came."""
    return np.lexsort((-candidates.scores, -candidates.relevance))


def repeat_ranking(ranking: NDArray[np.intp], request: Request) -> Rankings:
    """The same ranking as often as the request wants, cut at its length."""
    return Rankings(np.tile(ranking[: request.length], (request.n_rankings, 1)))


@dataclass(frozen=True)
class Relevance:
    """Pages by falling probability of relevance; in Task 2 every editor sees the same list."""

    name: ClassVar[str] = "relevance"
    tasks: ClassVar[tuple[Task, ...]] = (1, 2)
    paper_runs: ClassVar[tuple[str, ...]] = ("RMITRet",)
    near_runs: ClassVar[tuple[str, ...]] = ("UoGTrRelT1", "UoGTrRelT2")
    near_because: ClassVar[str] = "they ranked with Terrier's DPH: use --model dph, whose words are those of our index"
    citation: ClassVar[str] = "Robertson, The probability ranking principle in IR, 1977"

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        return repeat_ranking(relevance_order(candidates), request)
