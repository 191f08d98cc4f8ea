"""`mmr`: maximal marginal relevance on the similarity of texts, without groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import PageCount, Share
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.errors import EvenrankError
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request
from evenrank.policies.relevance import relevance_order, repeat_ranking


def scaled(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Values moved and stretched to [0, 1]; zeros when they are all the same."""
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def marginal_relevance_order(
    relevance: NDArray[np.float32], similarity: NDArray[np.float32], balance: float, length: int
) -> NDArray[np.intp]:
    """Positions by argmax of balance × relevance − (1 − balance) × largest similarity to those chosen before."""
    n_pages = len(relevance)
    worth = np.float32(balance) * relevance
    closest = np.zeros(n_pages, np.float32)
    values = np.empty_like(worth)
    order = np.empty(min(length, n_pages), np.intp)
    for rank in range(len(order)):
        np.multiply(closest, np.float32(balance - 1.0), out=values)
        values += worth
        best = int(values.argmax())
        order[rank] = best
        worth[best] = -np.inf
        np.maximum(closest, similarity[best], out=closest)
    return order


@dataclass(frozen=True)
class MMR(CheckedPolicy):
    """Relevant pages that say something new: both parts are scaled to [0, 1] over the topic's candidates.

    The track's own runs of this kind fell to an nDCG of 0.0035 because the parts had different scales.
    """

    name: ClassVar[str] = "mmr"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    paper_runs: ClassVar[tuple[str, ...]] = ("RMITRetRerank_1", "RMITRetRerank_2")
    run_settings: ClassVar[dict[str, str]] = {"RMITRetRerank_1": "balance=0.5", "RMITRetRerank_2": "balance=0.3"}
    citation: ClassVar[str] = "Carbonell and Goldstein, The use of MMR, SIGIR 1998"
    needs_text: ClassVar[bool] = True

    balance: Share = 0.5
    """Weight of relevance against novelty, λ of the formula; the track's runs used 0.5 and 0.3."""
    pool: PageCount = 2000
    """Only this many of the most relevant candidates take part (never fewer than a ranking is long)."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        if candidates.vectors is None:
            raise EvenrankError("mmr compares texts, and these candidates have none: import the corpus with titles")
        pool = relevance_order(candidates)[: max(self.pool, request.length)]
        vectors = candidates.vectors[pool]
        relevance = scaled(candidates.relevance[pool].astype(np.float32))
        similarity = scaled(np.maximum(vectors @ vectors.T, np.float32(0.0)))
        return repeat_ranking(
            pool[marginal_relevance_order(relevance, similarity, self.balance, request.length)], request
        )
