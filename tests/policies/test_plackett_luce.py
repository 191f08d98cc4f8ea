"""Plackett–Luce: frequencies against exact probabilities."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from evenrank.core.rng import derive
from evenrank.policies.policy import Request
from evenrank.policies.sequences import PlackettLuce, log_weights, plackett_luce, top

from .small import LEFT, RIGHT, UNKNOWN, pages, wanting


def probability(order: tuple[int, ...], weights: np.ndarray) -> float:
    """Exact probability of drawing pages in this order, without return."""
    left, result = weights.sum(), 1.0
    for page in order:
        result *= weights[page] / left
        left -= weights[page]
    return result


def assert_frequencies(samples: np.ndarray, expected: dict[tuple[int, ...], float]) -> None:
    """Every frequency within five standard errors of its probability."""
    found, counts = np.unique(samples, axis=0, return_counts=True)
    frequency = dict(zip(map(tuple, found.tolist()), counts / len(samples), strict=True))
    assert set(frequency) <= {order for order, p in expected.items() if p > 0}
    for order, p in expected.items():
        assert abs(frequency.get(order, 0.0) - p) <= 5 * np.sqrt(p * (1 - p) / len(samples)) + 1e-12


def test_samples_have_the_plackett_luce_distribution() -> None:
    weights = np.array([0.5, 0.3, 0.15, 0.05])
    samples = plackett_luce(np.log(weights), 3, 40_000, derive(1))
    assert_frequencies(samples, {order: probability(order, weights) for order in permutations(range(4), 3)})


def test_pages_without_weight_come_last() -> None:
    samples = plackett_luce(log_weights(np.array([0.0, 1.0, 0.001, 0.0])), 4, 500, derive(2))
    assert set(samples[:, :2].ravel()) == {1, 2}
    assert set(samples[:, 2]) == {0, 3}
    assert log_weights(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


def test_top_sorts_and_cuts() -> None:
    keys = np.array([[3.0, 9.0, 1.0], [5.0, 5.0, 7.0]])
    assert top(keys, 2).tolist() == [[1, 0], [2, 0]]
    assert top(keys, 3).tolist() == [[1, 0, 2], [2, 0, 1]]


def test_two_stages_draw_group_then_page() -> None:
    candidates = pages([LEFT, LEFT, RIGHT, UNKNOWN], [0.8, 0.2, 0.5, 0.5])
    request = Request(task=2, n_rankings=30_000, length=1)
    rankings = PlackettLuce().rank(candidates, wanting(0.6, 0.3, 0.1), request, derive(3)).positions
    assert_frequencies(rankings, {(0,): 0.6 * 0.8, (1,): 0.6 * 0.2, (2,): 0.3, (3,): 0.1})


def test_second_draw_renormalises_over_the_groups_left() -> None:
    candidates = pages([LEFT, LEFT, RIGHT], [0.75, 0.25, 0.5])
    request = Request(task=2, n_rankings=30_000, length=2)
    rankings = PlackettLuce().rank(candidates, wanting(0.5, 0.5), request, derive(4)).positions
    expected = {
        (0, 1): 0.5 * 0.75 * 0.5,
        (0, 2): 0.5 * 0.75 * 0.5,
        (1, 0): 0.5 * 0.25 * 0.5,
        (1, 2): 0.5 * 0.25 * 0.5,
        (2, 0): 0.5 * 0.75,  # right is empty, so left is certain
        (2, 1): 0.5 * 0.25,
    }
    assert_frequencies(rankings, expected)


def test_work_needed_multiplies_and_sharpness_is_a_power() -> None:
    candidates = pages([LEFT, LEFT], [0.5, 0.5], work=[0.8, 0.4])
    request = Request(task=2, n_rankings=20_000, length=1)
    for sharpness, first in ((1.0, 2 / 3), (2.0, 4 / 5)):
        rankings = PlackettLuce(sharpness).rank(candidates, wanting(1.0, 0.0), request, derive(5)).positions
        assert np.mean(rankings == 0) == pytest.approx(first, abs=0.02)
