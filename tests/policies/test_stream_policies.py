"""Stream policies against formulas written out another way, and the guarantee of `optimal`."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from evenrank import STREAM_POLICIES, Stream, StreamRanking
from evenrank.core.allowed import limits_of
from evenrank.core.settings import describe_settings
from evenrank.scoring.stream_measures import hindsight_gap

GROUP_OF = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "z"}
ITEMS = st.dictionaries(st.sampled_from(sorted(GROUP_OF)), st.floats(0.0, 1.0).map(lambda v: round(v, 2)), min_size=1)


def dcg_weights(n: int) -> list[float]:
    return [1 / math.log2(rank + 1) for rank in range(1, n + 1)]


def published_fairco(history: list[StreamRanking], items: dict[str, float], gain: float) -> dict[str, float]:
    """The controller as the paper writes it: relevance plus gain × error of the group, from means over time."""
    tau = len(history) + 1
    if tau == 1:
        return items
    exposure, merit = dict.fromkeys("xyz", 0.0), dict.fromkeys("xyz", 0.0)
    for ranking in history:
        for one, weight in zip(ranking.ranked(), dcg_weights(len(ranking)), strict=True):
            exposure[GROUP_OF[str(one.item)]] += weight / (tau - 1)
            merit[GROUP_OF[str(one.item)]] += one.relevance / (tau - 1)
    served = {group: exposure[group] / merit[group] for group in exposure if merit[group] > 0.0}
    best = max(served.values(), default=0.0)
    return {item: value + gain * (tau - 1) * (best - served.get(GROUP_OF[item], best)) for item, value in items.items()}


@given(st.lists(ITEMS, min_size=2, max_size=12), st.sampled_from([0.01, 0.1, 1.0]))
def test_fairco_is_the_published_controller(requests: list[dict[str, float]], gain: float) -> None:
    stream = Stream(f"fairco:gain={gain}", GROUP_OF, attention="dcg")
    history: list[StreamRanking] = []
    for items in requests:
        expected = published_fairco(history, items, gain)
        ranking = stream.rank("q", items)
        values = [expected[str(item)] for item in ranking]
        assert all(one >= other - 1e-6 * max(1.0, abs(one)) for one, other in pairwise(values))
        history.append(ranking)


@given(st.lists(ITEMS, min_size=1, max_size=10), st.sampled_from([0.0, 0.8, 0.95, 1.0]))
def test_amortised_keeps_its_floor_in_every_ranking(requests: list[dict[str, float]], floor: float) -> None:
    stream = Stream(f"amortised:min_quality={floor}", GROUP_OF, attention="dcg")
    for items in requests:
        gained = [items[str(item)] for item in stream.rank("q", items)]
        weights = dcg_weights(len(items))
        ideal = np.dot(weights, sorted(items.values(), reverse=True))
        assert np.dot(weights, gained) >= floor * ideal - 1e-9


def test_amortised_gives_the_group_that_is_owed_most_the_first_rank() -> None:
    stream = Stream("amortised:min_quality=0.5", GROUP_OF, attention="dcg")
    order = [stream.rank("q", {"a": 0.6, "c": 0.5})[0] for _ in range(6)]
    assert set(order) == {"a", "c"}
    assert order[0] == "a"


def test_relevance_ignores_groups_and_random_ignores_relevance() -> None:
    items = {"a": 0.1, "c": 0.9, "e": 0.5}
    plain, chance = Stream("relevance", GROUP_OF), Stream("random", GROUP_OF, seed=3)
    assert {tuple(plain.rank("q", items)) for _ in range(20)} == {("c", "e", "a")}
    assert len({tuple(chance.rank("q", items)) for _ in range(60)}) == 6


def test_fair_policies_bring_groups_to_their_target() -> None:
    rng = np.random.default_rng(1)
    requests = [
        {f"p{at}": round(float(rng.beta(2, 2) + 0.1 * (at % 3)), 3) for at in rng.choice(30, 6, replace=False)}
        for _ in range(600)
    ]
    distance = {}
    for policy in STREAM_POLICIES:
        stream = Stream(policy, lambda item: f"g{int(item[1:]) % 3}")
        for items in requests:
            stream.rank("q", items)
        distance[policy] = max(abs(one.exposure - one.target) for one in stream.shares().values())
    assert max(distance[one] for one in ("fairco", "amortised", "optimal")) < 0.01
    assert min(distance["relevance"], distance["random"]) > 0.01


class World:
    """Five queries of four items, drawn independently: what `optimal` can reach, found without its code."""

    fairness = 4.0
    shares = np.array([0.5, 0.3, 0.2])

    def __init__(self) -> None:
        rng = np.random.default_rng(8)
        self.weights = np.array(dcg_weights(4))
        self.level = float(self.weights.sum())
        self.relevance = rng.random((5, 4)).round(3)
        self.group = rng.integers(0, 3, (5, 4))
        self.group[0, :3] = [0, 1, 2]
        self.points = [self._points(query) for query in range(5)]

    def _points(self, query: int) -> NDArray[np.float64]:
        """Utility and excess exposure, as shares of what is offered, of every ranking of a query."""
        found = []
        for order in permutations(range(4)):
            exposure = np.bincount(self.group[query, list(order)], self.weights, minlength=3)
            utility = self.weights @ self.relevance[query, list(order)]
            found.append(np.r_[utility, exposure - self.shares * exposure.sum()] / self.level)
        return np.array(found)

    def objective(self, point: NDArray[np.float64]) -> float:
        return float(point[0] - self.fairness / 2 * (point[1:] @ point[1:]))

    def optimum(self) -> float:
        """An upper bound on what any policy that knows the queries can reach: objective plus duality gap."""
        point = np.mean([points[0] for points in self.points], axis=0)
        bound = math.inf
        for step in range(2000):
            gradient = np.r_[1.0, -self.fairness * point[1:]]
            best = np.mean([points[np.argmax(points @ gradient)] for points in self.points], axis=0)
            bound = min(bound, self.objective(point) + float(gradient @ (best - point)))
            point = point + (best - point) * 2 / (step + 2)
        assert bound - self.objective(point) < 1e-3
        return bound

    def constant(self) -> float:
        """B of the guarantee: fairness / 2 × the squared diameter of excess exposures."""
        every = np.concatenate(self.points)[:, 1:]
        return self.fairness / 2 * max(float(((every - one) ** 2).sum(axis=1).max()) for one in every)

    def run(self, n_requests: int, seed: int) -> float:
        """The objective that the policy reaches."""
        rng = np.random.default_rng(seed)
        target = {str(group): float(share) for group, share in enumerate(self.shares)}
        stream = Stream(f"optimal:fairness={self.fairness}", target=target, attention="dcg")
        total = np.zeros(4)
        for query in rng.integers(0, 5, n_requests).tolist():
            rows = [(at, float(self.relevance[query, at]), str(int(self.group[query, at]))) for at in range(4)]
            order = list(stream.rank(str(query), rows).order)
            exposure = np.bincount(self.group[query, order], self.weights, minlength=3)
            excess = exposure - self.shares * exposure.sum()
            total += np.r_[self.weights @ self.relevance[query, order], excess] / self.level
        return self.objective(total / n_requests)


@pytest.mark.parametrize("n_requests", [30, 300, 1000])
def test_optimal_keeps_its_guarantee_on_independent_requests(n_requests: int) -> None:
    world = World()
    reached = np.array([world.run(n_requests, seed) for seed in range(8)])
    regret = world.optimum() - reached.mean()
    noise = 3 * reached.std(ddof=1) / math.sqrt(len(reached))
    assert regret <= world.constant() * (1 + math.log(n_requests)) / n_requests + noise


def test_the_gap_in_hindsight_is_proved_and_small_for_optimal_alone() -> None:
    rng = np.random.default_rng(4)
    requests = [{item: float(rng.random()) for item in GROUP_OF} for _ in range(400)]
    gaps, reached = {}, {}
    for policy in ("relevance", "random", "optimal:fairness=50"):
        stream = Stream(policy, GROUP_OF)
        rankings = [stream.rank("q", items) for items in requests]
        reached[policy], gaps[policy] = hindsight_gap(rankings, 50.0)
    assert 0.0 <= gaps["optimal:fairness=50"] < 0.2 * min(gaps["relevance"], gaps["random"])
    best = max(reached.values())
    assert all(reached[policy] + gaps[policy] >= best - 1e-12 for policy in gaps)


def test_every_setting_is_explained_and_limited() -> None:
    for policy in STREAM_POLICIES.values():
        assert policy.citation
        assert all(setting.explanation for setting in describe_settings(policy))
        assert all(limits_of(policy).values())
