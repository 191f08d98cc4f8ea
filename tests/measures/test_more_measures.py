"""Measures on request, each worked by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from evenrank.core.protocol import PAPER_2021
from evenrank.measures.awrf import AWRF_HELLINGER, AWRF_ORDINAL, AWRF_TOTAL_VARIATION, KL, L2_UNFAIRNESS
from evenrank.measures.expected_exposure import (
    EXPOSURE_RATIO,
    GINI,
    IMPACT_RATIO,
    ITEM_DISPARITY,
    ITEM_LOSS,
    ITEM_RELEVANCE,
    L2_UNDEREXPOSURE,
    NORMALISED_DISPARITY,
    NORMALISED_LOSS,
    NORMALISED_RELEVANCE,
    TOTAL_UNDEREXPOSURE,
    gini,
)
from evenrank.measures.prefix import (
    GROUP_FAIRNESS,
    GROUP_FAIRNESS_NMD,
    GROUP_FAIRNESS_RNOD,
    MAX_SKEW,
    MIN_SKEW,
    NDKL,
    RKL,
    RND,
)
from evenrank.measures.relevance import (
    AVERAGE_PRECISION,
    DISTINCT,
    EXPECTED_RECIPROCAL_RANK,
    INTENTWISE_UTILITY,
    RANK_BIASED_PRECISION,
    RECALL,
    RECIPROCAL_RANK,
    SHOWN,
)

from .conftest import ViewMaker


def test_expected_exposure_of_pages(make_view: ViewMaker) -> None:
    """Page 7 is shown by both rankings (exposure 1), pages 8 and 9 by one (½ each); 7 and 5 should get 1 and ½."""
    view = make_view(
        [1, 1], [1, 1], pages=[7, 8, 7, 9], ideal={7: 1.0, 5: 0.5}, target=[0, 1], task=2, relevant=[[True, False]] * 2
    )
    assert ITEM_DISPARITY(view) == pytest.approx(1.5)
    assert ITEM_RELEVANCE(view) == pytest.approx(1.0)
    assert ITEM_LOSS(view) == pytest.approx(0.0 + 0.25 + 0.25 + 0.25)
    assert SHOWN(make_view([1], [1], pages=[7, 7], target=[0, 1], task=2, n_relevant=4)) == 0.25
    assert DISTINCT(view) == 3.0


def test_expected_exposure_in_relation_to_bounds(make_view: ViewMaker) -> None:
    """Attention is 1 and ½, so the pages get 1, ¼ and ¼; bounds of the evaluator of 2020 are 4/3, 5/4 and 5/4 + 2."""
    protocol = replace(PAPER_2021, attention="rbp:0.5")
    pages, ideal = [7, 8, 7, 9], {7: 1.0, 5: 0.5}
    view = make_view([1, 1], [1, 1], pages=pages, ideal=ideal, target=[0, 1], task=2, protocol=protocol)
    assert NORMALISED_DISPARITY(view) == pytest.approx(1.125 / (4 / 3))
    assert NORMALISED_RELEVANCE(view) == pytest.approx(1.0 / 1.25)
    assert NORMALISED_LOSS(view) == pytest.approx(0.375 / 3.25)
    unbounded = make_view([1, 1], [1, 1], pages=pages, ideal=ideal, target=[0, 1], task=2)
    assert math.isnan(NORMALISED_LOSS(unbounded))


def test_underexposure(make_view: ViewMaker) -> None:
    """Shares wanted: page 5 ¼ in group 1, page 7 ¾ in group 2; all exposure goes to page 5, so group 2 lacks ¾."""
    view = make_view([1, 1], pages=[5, 5], ideal={5: 0.5, 7: 1.5}, ideal_groups=[1, 2], target=[0, 1, 1], task=2)
    assert L2_UNDEREXPOSURE(view) == pytest.approx(0.75**2)
    assert TOTAL_UNDEREXPOSURE(view) == pytest.approx(0.75)


def test_gini(make_view: ViewMaker) -> None:
    assert gini(np.array([1.0, 1.0, 1.0])) == pytest.approx(0.0)
    assert gini(np.array([0.0, 0.0, 0.0, 4.0])) == pytest.approx(0.75)
    view = make_view([1, 1], pages=[1, 2], ideal={1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0}, target=[0, 1], task=2)
    assert GINI(view) == pytest.approx(0.5)


def test_other_distances(make_view: ViewMaker) -> None:
    """Both ranks weigh the same, so exposure is (1, 0) against (½, ½)."""
    view = make_view([1, 1], target=[0, 0.5, 0.5])
    assert KL(view) == pytest.approx(1.0)
    assert AWRF_TOTAL_VARIATION(view) == pytest.approx(0.5)
    assert AWRF_HELLINGER(view) == pytest.approx(1.0 - math.sqrt(1.0 - math.sqrt(0.5)))
    assert math.isnan(KL(make_view([0], target=[0, 0.5, 0.5])))


def test_ordinal_distance(make_view: ViewMaker) -> None:
    """Of three bands the third is wanted; from the second, exposure has half as far to go as from the first."""
    ordered = [make_view([band, band], target=[0, 0, 0, 1], is_ordered=True) for band in (1, 2, 3)]
    assert [AWRF_ORDINAL(view) for view in ordered] == pytest.approx([0.0, 0.5, 1.0])
    # All in the first band: half must go one step, half two, of two that are possible.
    both = make_view([1, 1], target=[0, 0, 0.5, 0.5], is_ordered=True)
    assert AWRF_ORDINAL(both) == pytest.approx(1.0 - (0.5 * 1 + 0.5 * 2) / 2)
    assert math.isnan(AWRF_ORDINAL(make_view([1, 1], target=[0, 0.5, 0.5])))


def test_measures_of_campaigns(make_view: ViewMaker) -> None:
    """Both items are relevant: half of the readers stop at the first, a quarter at the second."""
    view = make_view([1, 2], target=[0, 0.5, 0.5])
    alone = 1.0 - ((1.0 * math.log2(1 / 0.75) + 0.5 * math.log2(0.5 / 0.75) + 0.5) / 2)
    assert GROUP_FAIRNESS(view) == pytest.approx(0.5 * alone + 0.25 * 1.0)
    bands = make_view([1, 2], target=[0, 0.5, 0.5], is_ordered=True)  # the first is half a step off, both together none
    assert GROUP_FAIRNESS_NMD(bands) == pytest.approx(0.5 * 0.5 + 0.25 * 1.0)
    assert GROUP_FAIRNESS_RNOD(bands) == pytest.approx(0.5 * (1.0 - math.sqrt(0.25)) + 0.25 * 1.0)
    assert math.isnan(GROUP_FAIRNESS_NMD(view))
    assert L2_UNFAIRNESS(view) == pytest.approx(0.0)
    assert L2_UNFAIRNESS(make_view([1, 1], target=[0, 0.5, 0.5])) == pytest.approx(math.sqrt(0.5))


def test_ndkl(make_view: ViewMaker) -> None:
    """The first page alone is one bit off, the first two are as wanted."""
    view = make_view([1, 2], target=[0, 0.5, 0.5])
    weights = [1.0, 1.0 / math.log2(3)]
    assert NDKL(view) == pytest.approx(weights[0] / sum(weights))


def test_rkl_and_rnd(make_view: ViewMaker) -> None:
    view = make_view([1] * 10 + [2] * 10, target=[0, 0.5, 0.5], depth=20)
    weights = [1.0 / math.log2(10), 1.0 / math.log2(20)]
    assert RKL(view) == pytest.approx(weights[0] / sum(weights))
    assert RND(view) == pytest.approx(weights[0] / sum(weights))


def test_skews(make_view: ViewMaker) -> None:
    view = make_view([1, 1, 1, 2], target=[0, 0.5, 0.5])
    assert MAX_SKEW(view) == pytest.approx(math.log(0.75 / 0.5))
    assert MIN_SKEW(view) == pytest.approx(math.log(0.25 / 0.5))
    assert MIN_SKEW(make_view([1, 1], target=[0, 0.5, 0.5])) == pytest.approx(math.log(1e-6 / 0.5))


def test_ratios(make_view: ViewMaker) -> None:
    """Ranks 1 and 2 weigh the same: group 1 gets both halves of what it should, group 2 a third of it."""
    view = make_view([1, 2], target=[0, 0.25, 0.75], relevant=[[True, False]])
    assert EXPOSURE_RATIO(view) == pytest.approx((1 / 0.75) / (1 / 0.25))
    assert IMPACT_RATIO(view) == 0.0


def test_a_group_without_a_page_is_not_over_represented(make_view: ViewMaker) -> None:
    """Group 2 should get one part in 10⁸ and has no page: group 1 has all of it, and is as it should be."""
    view = make_view([1, 1], target=[0, 1.0 - 1e-8, 1e-8])
    assert MAX_SKEW(view) == pytest.approx(0.0, abs=1e-7)
    assert MIN_SKEW(view) == pytest.approx(0.0, abs=1e-7)
    assert math.isnan(MAX_SKEW(make_view([1, 1], target=[0, 0.0, 1.0])))


def test_ratios_leave_out_what_no_ranking_could_serve(make_view: ViewMaker) -> None:
    """Each of two ranks is half of the attention: a group that should get a hundredth cannot get its share."""
    assert EXPOSURE_RATIO(make_view([1, 2], target=[0, 0.5, 0.49, 0.01])) == pytest.approx(0.49 / 0.5)
    assert EXPOSURE_RATIO(make_view([1, 1], target=[0, 0.5, 0.5])) == 0.0
    assert math.isnan(EXPOSURE_RATIO(make_view([1, 1], target=[0, 0.99, 0.01])))


def test_ratios_over_many_groups_are_undefined(make_view: ViewMaker) -> None:
    """Ten groups are compared; with eleven, one of which is nearly always unserved, the ratio would say nothing."""
    ten, eleven = list(range(1, 11)), list(range(1, 12))
    assert EXPOSURE_RATIO(make_view(ten, target=[0, *[0.1] * 10])) > 0.0
    assert math.isnan(EXPOSURE_RATIO(make_view(eleven, target=[0, *[1 / 11] * 11])))
    assert math.isnan(IMPACT_RATIO(make_view(eleven, target=[0, *[1 / 11] * 11])))


def test_relevance_by_hand(make_view: ViewMaker) -> None:
    """Ranks 2 and 3 of the first ranking and rank 1 of the second are relevant, of five relevant pages."""
    marks = [[False, True, True], [True, False, False]]
    view = make_view([1, 1, 1], [1, 1, 1], relevant=marks, target=[0, 1], task=2, depth=3)
    assert RECALL(view) == pytest.approx((2 / 5 + 1 / 5) / 2)
    assert AVERAGE_PRECISION(view) == pytest.approx(((1 / 2 + 2 / 3) / 5 + (1 / 1) / 5) / 2)
    assert RECIPROCAL_RANK(view) == pytest.approx((1 / 2 + 1) / 2)
    assert RANK_BIASED_PRECISION(view) == pytest.approx((0.2 * (0.8 + 0.64) + 0.2) / 2)
    assert EXPECTED_RECIPROCAL_RANK(view) == pytest.approx(((1 / 2) / 2 + (1 / 4) / 3 + 1 / 2) / 2)
    served = ((1 / 2) * 0.99**2 + (1 / 4) * 0.99**3 + (1 / 2) * 0.99) / 2
    assert INTENTWISE_UTILITY(view) == pytest.approx(served)
    assert RECALL.at(2)(view) == pytest.approx((1 / 5 + 1 / 5) / 2)
