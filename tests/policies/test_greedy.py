"""Queues by page type give the same lists as looking at every candidate at every step."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from evenrank.core.exposure import discounts
from evenrank.core.rng import derive
from evenrank.policies.deficit import Deficit
from evenrank.policies.diversification import mixed_share, relevance_share
from evenrank.policies.exposure_disparity import ExposureDisparity
from evenrank.policies.greedy import TypeQueues, fill_columns, fill_row
from evenrank.policies.policy import Request
from evenrank.policies.registry import make_policy

from .made_up import GEOGRAPHY_AND_GENDER, make_candidates, target_of
from .small import LEFT, RIGHT, UNKNOWN, pages, wanting


class ByUtility:
    """Values are the utilities themselves."""

    def values(self, slot: int, heads: np.ndarray) -> np.ndarray:
        return heads.copy()

    def picked(self, slot: int, page_type: int, utility: float) -> None:
        pass


def test_without_a_bonus_the_order_is_that_of_utility() -> None:
    utility = np.array([0.2, 0.9, 0.9, 0.4, 0.1])
    queues = TypeQueues(pages([LEFT, RIGHT, LEFT, LEFT, RIGHT], utility.tolist()), utility, 5)
    assert fill_row(queues, ByUtility(), 4) == [2, 1, 3, 0]
    assert fill_row(queues, ByUtility(), 9) == [2, 1, 3, 0, 4]


def test_columns_and_rows_agree_when_nothing_is_remembered() -> None:
    candidates = make_candidates(50)
    queues = TypeQueues(candidates, candidates.relevance, 20)
    row = fill_row(queues, ByUtility(), 20)
    assert fill_columns(queues, ByUtility(), 3, 20) == [row, row, row]


@hypothesis_settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_exposure_disparity_looks_at_every_candidate(seed: int) -> None:
    candidates = make_candidates(40, seed)
    request = Request(task=2, n_rankings=3, length=8)
    got = ExposureDisparity(weight=0.7).rank(candidates, target_of(candidates, request), request, derive(0)).positions

    share = relevance_share(candidates, 2)
    wanted = mixed_share(share, GEOGRAPHY_AND_GENDER, 0.5)
    page_by_group, utility, weights = candidates.alignment.dense(), candidates.utility(2), discounts(8)
    given_exposure = np.zeros(32)
    for ranking in got:
        free = np.ones(40, bool)
        for rank, position in enumerate(ranking):
            gap = wanted * (given_exposure.sum() + weights[rank]) - given_exposure
            values = np.where(free, utility + 0.7 * page_by_group @ gap, -np.inf)
            assert values[position] >= values.max() - 1e-9
            free[position] = False
            given_exposure += weights[rank] * page_by_group[position]


@hypothesis_settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_deficit_by_column_looks_at_every_candidate(seed: int) -> None:
    candidates = make_candidates(30, seed)
    request = Request(task=2, n_rankings=4, length=6)
    target = target_of(candidates, request)
    got = Deficit(weight=0.8).rank(candidates, target, request, derive(0)).positions

    page_by_group = candidates.alignment.dense()
    utility = candidates.utility(1) + 0.25 * candidates.work_needed
    shown = np.zeros(32)
    for rank in range(6):
        for ranking in range(4):
            owed = target.values * 4 * (rank + 1) - shown
            values = utility + 0.8 / 4 * page_by_group @ owed
            values[got[ranking, :rank]] = -np.inf
            assert values[got[ranking, rank]] >= values.max() - 1e-9
            shown += page_by_group[got[ranking, rank]]


def test_proportional_does_not_serve_unknown_pages_where_they_count_for_no_group() -> None:
    """Four pages of five are unknown, and the most relevant ones: a list of them alone would have an AWRF of 0."""
    candidates = pages([UNKNOWN] * 40 + [LEFT, RIGHT] * 5, np.linspace(0.9, 0.5, 50))
    found = make_policy("proportional", 1).rank(candidates, wanting(0.5, 0.5), Request(1, 1, 10), derive(1)).positions
    assert (found[0] >= 40).sum() >= 3
    counted = make_policy("proportional", 1).rank(
        candidates, wanting(0.25, 0.25, unknown=0.5), Request(1, 1, 10), derive(1)
    )
    assert (counted.positions[0] < 40).sum() >= 5
