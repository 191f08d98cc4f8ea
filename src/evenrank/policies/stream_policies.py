"""Policies for a stream of queries: each ranks one request, knowing only what the groups have had so far.

What a policy may use is in `StreamRequest`: the candidates' relevance and groups, the attention of each rank, and the
sums over the requests before (`GroupTotals`). No policy keeps a state of its own, so servers that exchange these sums
agree, and the same sums give the same ranking.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import PageCount, Range, Share, Weight
from evenrank.core.rng import derive
from evenrank.core.settings import make_settings
from evenrank.errors import EvenrankError, UnknownNameError
from evenrank.policies.policy import CheckedPolicy, parse_policy

UNIT = 1 << 28
"""Sums are whole numbers of 1/UNIT, so that adding them is exact and their order does not matter."""


@dataclass(slots=True)
class GroupTotals:
    """What the groups have had so far and what they may claim, in whole numbers of 1/`UNIT`."""

    exposure: NDArray[np.int64]
    claims: NDArray[np.int64]
    """What the target gives to each group, on any scale: a group's share is its claim over the sum of claims."""
    total_exposure: int
    total_claims: int
    cross: int
    """Sum over groups of exposure × claim."""
    square: int
    """Sum over groups of claim²."""
    total_relevance: int
    """Relevance of all candidates, counted once for each of their groups."""
    offered: int
    """Exposure that the best ordered rankings would have given to single items."""
    n_requests: int

    def shares(self, groups: NDArray[np.intp]) -> NDArray[np.float64]:
        """Share of the target of some groups; 0 while nothing is claimed."""
        return self.claims[groups] / max(self.total_claims, 1)

    def excess(self, groups: NDArray[np.intp]) -> NDArray[np.float64]:
        """Exposure of some groups beyond their share of all exposure; negative for groups that lag behind."""
        return np.asarray((self.exposure[groups] - self.shares(groups) * self.total_exposure) / UNIT, np.float64)

    def highest_ratio(self) -> float:
        """Exposure over claim of the group that is served best; 0 while nothing is claimed."""
        has_claim = self.claims > 0
        return float(np.max(self.exposure[has_claim] / self.claims[has_claim], initial=0.0))

    def weighted_excess(self) -> float:
        """Sum over all groups of share × excess: how the excesses change together when total exposure grows."""
        if not self.total_claims:
            return 0.0
        mean = self.cross / self.total_claims - self.total_exposure * (self.square / self.total_claims**2)
        return mean / UNIT


@dataclass(slots=True)
class StreamRequest:
    """One request as a policy sees it; arrays run over its candidates, in the order in which they were given."""

    relevance: NDArray[np.float64]
    weights: NDArray[np.float64]
    """Attention of ranks 1 … n, which does not rise."""
    per_attention: NDArray[np.float64]
    """Exposure that each candidate gets from one unit of attention: 1 by position, its relevance by clicks."""
    item_of: NDArray[np.intp]
    """Candidate of each membership."""
    group_of: NDArray[np.intp]
    """Group of each membership, a position in the arrays of `totals`."""
    share: NDArray[np.float64]
    """Weight of each membership, as it counts in sums."""
    totals: GroupTotals
    rng_ids: tuple[int, int, str]
    """Seed, number of the request and server."""

    def __len__(self) -> int:
        return len(self.relevance)

    def rng(self) -> np.random.Generator:
        """Randomness of this request, the same in every replay."""
        seed, number, server = self.rng_ids
        return derive(seed, "stream", server, number)

    def sum_over_groups(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each candidate the sum of the values of its memberships; 0 for a candidate without groups."""
        return np.asarray(np.bincount(self.item_of, values, minlength=len(self)), np.float64)


class StreamPolicy(Protocol):
    """One way to rank the requests of a stream. Its settings are the fields of a frozen dataclass."""

    name: ClassVar[str]
    """Name on the command line."""
    citation: ClassVar[str]
    """Where the method comes from."""

    def order(self, request: StreamRequest) -> NDArray[np.intp]:
        """Positions of the candidates, rank 1 first."""
        ...


def best_first(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Positions from the largest value to the smallest; ties keep the order in which they were given."""
    return np.asarray(np.argsort(-values, kind="stable"), np.intp)


@dataclass(frozen=True)
class RelevanceStream(CheckedPolicy):
    """Relevance alone, the baseline; ties keep the order in which the candidates were given."""

    name: ClassVar[str] = "relevance"
    citation: ClassVar[str] = "the probability ranking principle (Robertson 1977)"

    def order(self, request: StreamRequest) -> NDArray[np.intp]:
        return best_first(request.relevance)


@dataclass(frozen=True)
class RandomStream(CheckedPolicy):
    """A random order for each request, the reference for what no knowledge gives."""

    name: ClassVar[str] = "random"
    citation: ClassVar[str] = "none"

    def order(self, request: StreamRequest) -> NDArray[np.intp]:
        return np.asarray(request.rng().permutation(len(request)), np.intp)


@dataclass(frozen=True)
class FairCo(CheckedPolicy):
    """Relevance plus gain × how far the item's group lags behind the best served one: a proportional controller.

    Items are sorted by R(d) + λ·max_G'[E(G')/M(G') − E(G)/M(G)]·(τ − 1), where E is the mean exposure of the requests
    before, M the mean merit, and τ the number of the request. An item of several groups has the mean of their lags; one
    of no group has none.
    """

    name: ClassVar[str] = "fairco"
    citation: ClassVar[str] = (
        "Morik, Singh, Hong and Joachims, Controlling fairness and bias in dynamic learning-to-rank, SIGIR 2020"
    )

    gain: Weight = 0.01
    """λ of the paper, which used 0.01: relevance that one unit of lag outweighs."""
    prior: Weight = 0.0
    """Merit that a group counts as having had before the stream, served as well as all groups together: a new provider
    then starts with the lag that the average group has. 0 is the published controller."""

    def order(self, request: StreamRequest) -> NDArray[np.intp]:
        lag = self._lags(request.totals, request.group_of) * request.share
        n_shares = np.maximum(request.sum_over_groups(request.share), 1e-300)
        return best_first(request.relevance + self.gain * (request.sum_over_groups(lag) / n_shares))

    def _lags(self, totals: GroupTotals, groups: NDArray[np.intp]) -> NDArray[np.float64]:
        """Lag of each of `groups`; a group without merit and without a prior has none."""
        if not (totals.total_claims and totals.total_relevance):
            return np.zeros(len(groups))
        per_claim = totals.total_relevance / totals.total_claims
        merit = totals.claims[groups] * (per_claim / UNIT) + self.prior
        exposure = totals.exposure[groups] / UNIT + self.prior * (totals.total_exposure / totals.total_relevance)
        best = totals.highest_ratio() / per_claim
        served = np.divide(exposure, merit, out=np.full(len(groups), best), where=merit > 0.0)
        return np.asarray(totals.n_requests * (best - served), np.float64)


@dataclass(frozen=True)
class AmortisedGreedy(CheckedPolicy):
    """Rank by rank the item that brings groups nearest to their share, while the ranking keeps its relevance.

    Biega et al. choose the ranking that minimises Σ |exposure − due exposure| subject to a floor on its relevance by an
    integer programme; this fills the ranks greedily, with the same floor, which every ranking keeps. What is due
    follows from the shares of the whole stream.
    """

    name: ClassVar[str] = "amortised"
    citation: ClassVar[str] = "Biega, Gummadi and Weikum, Equity of attention, SIGIR 2018"

    min_quality: Share = 0.95
    """Least discounted relevance of a ranking, as a share of that of the relevance order: θ of the paper."""
    depth: PageCount = 30
    """Ranks that are chosen; those below follow by relevance."""

    def order(self, request: StreamRequest) -> NDArray[np.intp]:
        left = best_first(request.relevance)
        weights = request.weights
        slack = (1.0 - self.min_quality) * float(weights @ request.relevance[left])
        local, at = np.unique(request.group_of, return_inverse=True)
        deficit = self._deficits(request, local, at)
        given = request.share * request.per_attention[request.item_of]
        chosen = []
        for rank in range(min(self.depth, len(request) - 1)):
            relevance = request.relevance[left]
            loss = np.cumsum((relevance[:-1] - relevance[1:]) * (weights[rank] - weights[rank + 1 :]))
            n_allowed = 1 + int(np.searchsorted(loss, slack, side="right"))
            if n_allowed == 1:
                pick = 0
            else:
                held = deficit[at]
                gain = request.sum_over_groups(np.abs(held) - np.abs(held - weights[rank] * given))
                pick = int(np.argmax(gain[left[:n_allowed]]))
            slack -= float(loss[pick - 1]) if pick else 0.0
            item = left[pick]
            mine = request.item_of == item
            np.subtract.at(deficit, at[mine], weights[rank] * given[mine])
            chosen.append(item)
            left = np.delete(left, pick)
        return np.concatenate([np.array(chosen, np.intp), left])

    def _deficits(self, request: StreamRequest, local: NDArray[np.intp], at: NDArray[np.intp]) -> NDArray[np.float64]:
        """Due minus actual exposure of the groups among the candidates, this request's exposure included in the due."""
        totals = request.totals
        here = np.bincount(at, request.share * request.per_attention[request.item_of], minlength=len(local))
        coming = float(here.sum()) * float(request.weights.mean()) if len(request) else 0.0
        if not totals.total_claims:
            return np.asarray(coming * here / max(float(here.sum()), 1e-300), np.float64)
        return np.asarray(totals.shares(local) * coming - totals.excess(local), np.float64)


@dataclass(frozen=True)
class OptimalStream(CheckedPolicy):
    """The order that most improves mean utility − fairness/2 · ‖excess exposure‖² of the stream: online Frank–Wolfe.

    Mean utility and mean exposure of a stream are a point of a convex set, and a ranking moves it by 1/t. Sorting by
    relevance minus the prices of an item's groups, the gradient at that point, is the best move to the first order.
    Where requests are drawn independently from one distribution, all offer the same exposure, and the target's shares
    are fixed, the expected objective after T requests is at most B·(1 + ln T)/T below that of the best policy that
    knows the distribution, with B = fairness/2 × the squared diameter of excess exposures; where they offer different
    exposure, O(ln T/T), and where shares follow the relevance seen so far, O(1/√T). For requests in an adversarial
    order, and with a window, nothing is guaranteed.
    """

    name: ClassVar[str] = "optimal"
    citation: ClassVar[str] = (
        "Usunier, Do and Dohmatob, Fast online ranking with fairness of exposure, FAccT 2022; Frank and Wolfe 1956"
    )

    fairness: Annotated[float, Range(least=0.0, most=1e9)] = 10.0
    """Weight of unfairness against utility, both as shares of the exposure that was offered."""

    def order(self, request: StreamRequest) -> NDArray[np.intp]:
        totals = request.totals
        if not totals.offered:
            return best_first(request.relevance)
        prices = (totals.excess(request.group_of) - totals.weighted_excess()) * (self.fairness * UNIT / totals.offered)
        costs = request.sum_over_groups(prices * request.share) * request.per_attention
        return best_first(request.relevance - costs)


_ALL: tuple[type[StreamPolicy], ...] = (RelevanceStream, RandomStream, FairCo, AmortisedGreedy, OptimalStream)
STREAM_POLICIES: dict[str, type[StreamPolicy]] = {policy.name: policy for policy in _ALL}
"""Policies for streams by name."""


def make_stream_policy(policy: str | StreamPolicy, settings: Mapping[str, str] | None = None) -> StreamPolicy:
    """The policy that `name` or `name:setting=value,…` means, with more settings as text; an object passes as it is."""
    if not isinstance(policy, str):
        if not callable(getattr(policy, "order", None)) or isinstance(policy, type):
            raise EvenrankError(f"policy: {type(policy).__name__} has no method `order` (give a name or a policy)")
        if settings:
            raise EvenrankError("settings belong to a policy's name; give the object its own")
        return policy
    name, own = parse_policy(policy)
    if name not in STREAM_POLICIES:
        raise UnknownNameError("stream policy", name, STREAM_POLICIES)
    return make_settings(STREAM_POLICIES[name], {**own, **(settings or {})})
