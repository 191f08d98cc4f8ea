"""Pair swaps: never worse, at a local optimum in the end, and the best one is not overlooked."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from evenrank.core.exposure import discounts
from evenrank.core.rng import derive
from evenrank.policies.deficit import LEAST_GAIN, Swap
from evenrank.policies.policy import Request

from .made_up import make_candidates, target_of
from .small import LEFT, RIGHT, pages, wanting


def log_value(order: np.ndarray, candidates, target, length: int) -> float:
    """Logarithm of relevance × fairness, in the plainest way."""
    weights = np.zeros(len(order))
    weights[:length] = discounts(min(length, len(order)))
    page_by_group = candidates.alignment.dense()[order]
    exposure = weights @ page_by_group
    exposure[0] = 0.0
    awrf = 1.0 - jensenshannon(exposure, target.values, base=2.0) ** 2
    return float(np.log(weights @ candidates.relevance[order]) + np.log(awrf))


@hypothesis_settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_never_worse_than_relevance_order(seed: int) -> None:
    candidates = make_candidates(60, seed)
    request = Request(1, 1, 20)
    target = target_of(candidates, request)
    ranking = Swap().rank(candidates, target, request, derive(1)).positions[0]
    rest = np.setdiff1d(np.arange(60), ranking)
    swapped = log_value(np.concatenate([ranking, rest]), candidates, target, 20)
    assert swapped >= log_value(np.argsort(-candidates.relevance, kind="stable"), candidates, target, 20) - 1e-9


def test_two_pages_change_places() -> None:
    # nearly as relevant, and right is wanted more: the right page moves up
    candidates = pages([LEFT, LEFT, RIGHT], [0.9, 0.89, 0.88])
    ranking = Swap().rank(candidates, wanting(0.3, 0.7), Request(1, 1, 2), derive(1)).positions[0]
    assert 2 in ranking


def test_no_single_exchange_is_left_that_helps() -> None:
    candidates = pages([LEFT] * 4 + [RIGHT] * 4, [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2])
    target = wanting(0.4, 0.6)
    ranking = Swap().rank(candidates, target, Request(1, 1, 4), derive(1)).positions[0]
    order = np.concatenate([ranking, np.setdiff1d(np.arange(8), ranking)])
    value = log_value(order, candidates, target, 4)
    for a, b in combinations(range(8), 2):
        other = order.copy()
        other[[a, b]] = other[[b, a]]
        assert log_value(other, candidates, target, 4) <= value + 2 * LEAST_GAIN
