"""Published methods for expected exposure: what their papers say of them, on cases small enough to enumerate."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from evenrank.core.exposure import discounts
from evenrank.core.rng import derive
from evenrank.policies.expected_exposure import (
    Expohedron,
    FrankWolfe,
    PLRank,
    decompose,
    deliver,
    pareto_point,
    pl_gradient,
    welfare_slope,
)
from evenrank.policies.policy import Candidates, Request
from evenrank.policies.sequences import plackett_luce

from .small import LEFT, RIGHT, pages, wanting

WEIGHTS = discounts(4).astype(float)
REQUEST = Request(2, 100, 4)


def exposure_of(candidates: Candidates, rankings: NDArray[np.intp], request: Request = REQUEST) -> NDArray[np.float64]:
    """Mean exposure of each group."""
    weights = request.weights(rankings.shape[1])
    types = candidates.alignment.page_type[rankings]
    return np.array([(weights * (types == group)).sum() / len(rankings) for group in range(3)])


@pytest.fixture
def two_sides() -> Candidates:
    return pages([LEFT] * 6 + [RIGHT] * 6, [0.9] * 6 + [0.5] * 6)


def test_welfare_is_that_of_the_paper() -> None:
    x = np.array([0.5, 2.0])
    assert welfare_slope(x, 1.0).tolist() == [1.0, 1.0]
    assert welfare_slope(x, 0.0).tolist() == [2.0, 0.5]
    assert welfare_slope(x, -1.0).tolist() == [4.0, 0.25]


def test_frank_wolfe_without_curvature_or_weight_is_the_order_by_utility(two_sides: Candidates) -> None:
    for policy in (FrankWolfe(fairness=0.0), FrankWolfe(alpha=1.0)):
        found = policy.rank(two_sides, wanting(0.5, 0.5), REQUEST, derive(0)).positions
        assert (two_sides.alignment.page_type[found] == LEFT).all()


def test_frank_wolfe_gives_the_worst_served_more_the_more_fairness_weighs(two_sides: Candidates) -> None:
    """Lorenz dominance: what the group worst served has, against what it is due, grows with the weight of welfare."""
    due = np.array([0.4, 0.6]) * REQUEST.weights().sum()
    worst = []
    for fairness in (0.0, 0.02, 0.05, 0.1, 0.3, 0.9):
        found = FrankWolfe(fairness=fairness).rank(two_sides, wanting(0.4, 0.6), REQUEST, derive(0)).positions
        worst.append(float((exposure_of(two_sides, found)[1:] / due).min()))
    assert worst == sorted(worst)
    assert worst[0] == 0.0
    assert worst[-1] == pytest.approx(1.0, abs=0.02)


def test_frank_wolfe_comes_nearer_with_every_ranking(two_sides: Candidates) -> None:
    """The error of the online method falls about as fast as the number of rankings grows."""
    due = np.array([0.0, 0.3712345, 0.6287655]) * REQUEST.weights().sum()
    errors = []
    for n in (10, 100, 1000):
        request = Request(2, n, 4)
        found = FrankWolfe(fairness=1.0).rank(two_sides, wanting(0.3712345, 0.6287655), request, derive(0)).positions
        errors.append(float(np.abs(exposure_of(two_sides, found, request) - due).max()))
    assert errors[1] < 0.3 * errors[0]
    assert errors[2] < 0.3 * errors[1]


@hypothesis_settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.01, 1.0), min_size=4, max_size=9), st.floats(0.0, 0.9))
def test_a_point_of_the_expohedron_is_a_mixture_of_few_rankings(utility: list[float], balance: float) -> None:
    point = pareto_point(np.array(utility), WEIGHTS, balance)
    parts = decompose(point, WEIGHTS)
    assert len(parts) <= len(utility)  # Carathéodory
    mean = np.zeros(len(utility))
    for share, ranking in parts:
        mean[ranking] += share * WEIGHTS
    assert sum(share for share, _ in parts) >= 0.999
    np.testing.assert_allclose(mean, point, atol=2e-3 * WEIGHTS.sum())


def test_no_ranking_policy_beats_a_pareto_point() -> None:
    """All mixtures of two of the 24 rankings of four pages, in steps of a tenth."""
    utility = np.array([1.0, 0.7, 0.4, 0.1])
    merit = utility / utility.sum() * WEIGHTS.sum()
    vertices = np.array([WEIGHTS[list(order)] for order in permutations(range(4))])
    mixtures = np.concatenate([(1 - s) * vertices[:, None] + s * vertices[None] for s in np.linspace(0, 1, 11)])
    others = mixtures.reshape(-1, 4)
    for balance in (0.0, 0.2, 0.5, 0.8):
        point = pareto_point(utility, WEIGHTS, balance)
        gain = others @ utility - point @ utility
        worse = ((others - merit) ** 2).sum(axis=1) - ((point - merit) ** 2).sum()
        assert not ((gain > 1e-9) & (worse < -1e-9)).any()


def test_the_expohedron_goes_from_merit_to_utility() -> None:
    utility = np.array([1.0, 0.7, 0.4, 0.1])
    spread = np.linspace(0.30, 0.20, 4)
    assert pareto_point(spread, WEIGHTS, 0.0) == pytest.approx(spread / spread.sum() * WEIGHTS.sum())
    assert pareto_point(utility, WEIGHTS, 0.99) == pytest.approx(WEIGHTS)
    candidates = pages([LEFT, RIGHT] * 3, [0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    found = Expohedron().rank(candidates, wanting(0.5, 0.5), Request(2, 100, 4), derive(0)).positions
    exposure = np.bincount(found.reshape(-1), np.tile(WEIGHTS, 100), minlength=6) / 100
    merit = candidates.utility(2) / candidates.utility(2).sum() * WEIGHTS.sum()
    np.testing.assert_allclose(exposure, merit, atol=0.05)


def test_rankings_are_delivered_evenly() -> None:
    order = deliver(np.array([0.5, 0.3, 0.2]), 10)
    assert np.bincount(order).tolist() == [5, 3, 2]
    for n in range(1, 11):
        assert np.abs(np.bincount(order[:n], minlength=3) - n * np.array([0.5, 0.3, 0.2])).max() < 1.0


def expected_value(log_weight: NDArray[np.float64], value: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Over all rankings, from the definition of Plackett–Luce."""
    odds, total = np.exp(log_weight), 0.0
    for order in permutations(range(len(odds)), len(weights)):
        left, chance = odds.sum(), 1.0
        for page in order:
            chance *= odds[page] / left
            left -= odds[page]
        total += chance * float(weights @ value[list(order)])
    return total


def test_the_gradient_of_pl_rank_is_unbiased() -> None:
    """Against differences of the exact expectation over all rankings, for any values, negative ones too."""
    log_weight, value = np.array([0.5, 0.0, -0.7, 0.2]), np.array([1.0, -0.5, 2.0, 0.3])
    weights = discounts(3).astype(float)
    samples = plackett_luce(log_weight, 3, 40_000, derive(5))
    step = 1e-5 * np.eye(4)
    exact = [
        (expected_value(log_weight + d, value, weights) - expected_value(log_weight - d, value, weights)) / 2e-5
        for d in step
    ]
    np.testing.assert_allclose(pl_gradient(log_weight, samples, value, weights), exact, atol=0.02)


def test_pl_rank_learns_the_target(two_sides: Candidates) -> None:
    target = wanting(0.3, 0.7)
    wanted = target.values * REQUEST.weights().sum()
    untrained = PLRank(n_steps=1, rate=1e-6).rank(two_sides, target, REQUEST, derive(0)).positions
    trained = PLRank().rank(two_sides, target, REQUEST, derive(0)).positions
    loss = [float(((exposure_of(two_sides, found) - wanted) ** 2).sum()) for found in (untrained, trained)]
    assert loss[1] < 0.1 * loss[0]
