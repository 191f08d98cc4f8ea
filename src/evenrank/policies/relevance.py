"""Orders by relevance: as it is, with varied texts (`mmr`), and with chance (`epsilon-greedy`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import PageCount, Share
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.errors import EvenrankError
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request


def relevance_order(candidates: Candidates) -> NDArray[np.intp]:
    """Candidates by falling relevance; equally relevant ones by falling score, then as they came."""
    return np.lexsort((-candidates.scores, -candidates.relevance))


def repeat_ranking(ranking: NDArray[np.intp], request: Request) -> Rankings:
    """The same ranking as often as the request wants, cut at its length."""
    return Rankings(np.tile(ranking[: request.length], (request.n_rankings, 1)))


def shown_share(rows: NDArray[np.float64], candidates: Candidates, request: Request) -> NDArray[np.float64]:
    """The share of exposure that the order by relevance gives to each group."""
    first = relevance_order(candidates)[: request.length]
    exposure = request.weights(len(first)) @ rows[candidates.alignment.page_type[first]]
    return np.asarray(exposure / max(float(exposure.sum()), 1e-12))


@dataclass(frozen=True)
class Relevance(CheckedPolicy):
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

    The track's own runs of this kind fell to an nDCG of 0.0035: their parts had different scales, and similarity
    decided almost alone. `scaling=none` does as they did.
    """

    name: ClassVar[str] = "mmr"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    paper_runs: ClassVar[tuple[str, ...]] = ("RMITRetRerank_1", "RMITRetRerank_2")
    run_settings: ClassVar[dict[str, str]] = {
        "RMITRetRerank_1": "balance=0.5,scaling=none",
        "RMITRetRerank_2": "balance=0.3,scaling=none",
    }
    citation: ClassVar[str] = "Carbonell and Goldstein, The use of MMR, SIGIR 1998"
    needs_text: ClassVar[bool] = True

    balance: Share = 0.5
    """Weight of relevance against novelty, λ of the formula; the track's runs used 0.5 and 0.3."""
    pool: PageCount = 2000
    """Only this many of the most relevant candidates take part (never fewer than a ranking is long)."""
    scaling: Literal["both", "none"] = "both"
    """Scale relevance and similarity to [0, 1] (both), or leave a page's share of all relevance beside cosines (none):
    with thousands of candidates that share is below a thousandth, as it must have been in the track's runs."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        if candidates.vectors is None:
            raise EvenrankError("mmr compares texts, and these candidates have none: import the corpus with titles")
        pool = relevance_order(candidates)[: max(self.pool, request.length)]
        vectors = candidates.vectors[pool]
        relevance = candidates.relevance[pool].astype(np.float32)
        similarity = np.maximum(vectors @ vectors.T, np.float32(0.0))
        if self.scaling == "both":
            relevance, similarity = scaled(relevance), scaled(similarity)
        else:
            relevance = relevance / max(float(relevance.sum()), 1e-12)
        return repeat_ranking(
            pool[marginal_relevance_order(relevance, similarity, self.balance, request.length)], request
        )


@dataclass(frozen=True)
class EpsilonGreedy(CheckedPolicy):
    """Each rank shows a random candidate with probability ε, else the best that is left; groups are not looked at."""

    name: ClassVar[str] = "epsilon-greedy"
    tasks: ClassVar[tuple[Task, ...]] = (1, 2)
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
