"""The track's measures and their companions, worked by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from evenrank.core.protocol import PAPER_2021
from evenrank.measures.awrf import AWRF, SCORE
from evenrank.measures.expected_exposure import EE_DISPARITY, EE_LOSS, EE_RELEVANCE, EE_SHARE
from evenrank.measures.relevance import NDCG, PRECISION

from .conftest import ViewMaker

THIRD = 1 / math.log2(3)


def test_ndcg(make_view: ViewMaker) -> None:
    view = make_view([1, 1, 1], relevant=[[True, False, True]], target=[0, 0.5, 0.5], n_relevant=2)
    assert NDCG(view) == pytest.approx((1 + THIRD) / 2)
    assert NDCG.at(2)(view) == pytest.approx(0.5)


def test_ndcg_of_a_sequence_is_the_mean_over_its_rankings(make_view: ViewMaker) -> None:
    view = make_view([1, 1], [1, 1], relevant=[[True, True], [False, True]], target=[0, 1], task=2, n_relevant=2)
    assert NDCG(view) == pytest.approx((1.0 + 0.5) / 2)


def test_precision_counts_empty_positions_as_misses(make_view: ViewMaker) -> None:
    view = make_view([1, 1, 1], relevant=[[True, False, True]], target=[0, 1], depth=4)
    assert PRECISION(view) == 0.5
    assert PRECISION.at(1)(view) == 1.0
    pair = make_view([1], [1, 1], relevant=[[True], [False, True]], target=[0, 1], task=2, depth=4)
    assert PRECISION(pair) == 2 / 8


def test_awrf_and_score(make_view: ViewMaker) -> None:
    """Group 1 gets ranks 1 and 2, group 2 gets rank 3, the unknown page at rank 4 gives nothing."""
    view = make_view([1, 1, 2, 0], target=[0, 0.5, 0.5], n_relevant=4)
    given, middle = 2 / (2 + THIRD), (2 / (2 + THIRD) + 0.5) / 2
    left = given * math.log2(given / middle) + (1 - given) * math.log2((1 - given) / (1 - middle))
    right = 0.5 * math.log2(0.5 / middle) + 0.5 * math.log2(0.5 / (1 - middle))
    assert AWRF(view) == pytest.approx(1 - (left + right) / 2)
    assert SCORE(view) == pytest.approx(AWRF(view) * NDCG(view))


def test_awrf_without_a_known_group(make_view: ViewMaker) -> None:
    assert AWRF(make_view([0, 0], target=[0, 0.5, 0.5])) == 0.0
    uniform = replace(PAPER_2021, no_exposure="uniform")
    assert AWRF(make_view([0, 0], target=[0, 0.5, 0.5], protocol=uniform)) == 1.0


def test_expected_exposure(make_view: ViewMaker) -> None:
    """Two rankings of two ranks that weigh 1 each: group 1 gets (2 + 1) / 2, group 2 gets (0 + 1) / 2."""
    view = make_view([1, 1], [1, 2], target=[0.0, 1.0, 1.0], task=2, depth=2)
    assert EE_LOSS(view) == pytest.approx(0.5)
    assert EE_DISPARITY(view) == pytest.approx(2.5)
    assert EE_RELEVANCE(view) == pytest.approx(2.0)
    assert EE_SHARE(view) == pytest.approx(0.25)
    assert EE_LOSS(view) - EE_DISPARITY(view) + 2 * EE_RELEVANCE(view) == pytest.approx(2.0)
