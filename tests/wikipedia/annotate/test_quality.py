"""The two published quality models, by hand and by their rules."""

from __future__ import annotations

from math import log10, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evenrank.core.records import WORK_ORDER
from evenrank.errors import EvenrankError
from evenrank.wikipedia.annotate.quality import (
    FEATURES,
    QualityCounts,
    quality_classes,
    quality_counts,
    quality_models,
    quality_scores,
)
from evenrank.wikipedia.annotate.wikitext import PageCounts

V1, V2 = quality_models()["v1"], quality_models()["v2"]


def counts(*values: float) -> QualityCounts:
    """Bytes, media, headings, references, short footnotes, links, categories of one page."""
    return QualityCounts(*np.array([values], float).T)


def test_v1_by_hand():
    score = quality_scores(V1, counts(9999, 2, 4, 5, 3, 70, 6), {"log_length": 4.438661})
    assert score == pytest.approx(0.258 * 4 / 4.438661 + 0.015 * 2 / 5 + 0.241 * 4 / 10 + 0.486 * 5 / 10)


def test_v2_by_hand():
    score = quality_scores(V2, counts(10_000, 2, 4, 5, 3, 64, 6), V2.published_percentiles())
    expected = (
        0.395 * 100 / 165.7
        + 0.114 * 2 / 3
        + 0.181 * (8 / 100) / 0.29435
        + 0.123 * (4 / 100) / 0.115194
        + 0.115 * (8 / 100) / 0.115822
        + 0.070 * 6 / 14
    )
    assert score == pytest.approx(expected)


def test_published_length_percentile_of_v1_follows_from_v2():
    assert V1.published_percentiles()["log_length"] == pytest.approx(log10(1 + 165.7**2), abs=1e-6)


def test_v2_caps_are_at_least_the_floors():
    small = dict.fromkeys(V2.percentile_features, 0.0)
    assert [feature.cap(small) for feature in V2.features] == [100, 2, 0.15, 0.1, 0.1, 5]


def test_v1_caps_are_a_setting():
    model = V1.with_caps({"headings": 5.0, "references": None})
    assert [feature.cap({"log_length": 4.0, "references": 30.0}) for feature in model.features] == [4, 5, 5, 30]
    assert set(model.percentile_features) == {"log_length", "references"}
    with pytest.raises(EvenrankError, match="no feature 'links'; it has: log_length, media"):
        V1.with_caps({"links": 3.0})


@pytest.mark.parametrize(
    ("model", "bounds"), [(V1, (0.167, 0.33, 0.5, 0.667, 0.833)), (V2, (0.42, 0.56, 0.73, 0.85, 0.93))]
)
def test_class_bounds_belong_to_the_lower_class(model, bounds):
    names = ("Stub", "Start", "C", "B", "GA", "FA")
    at = [WORK_ORDER[i] for i in quality_classes(model, np.array(bounds))]
    above = [WORK_ORDER[i] for i in quality_classes(model, np.array(bounds) + 1e-9)]
    assert at == list(names[:-1])
    assert above == list(names[1:])
    assert WORK_ORDER[int(quality_classes(model, np.array([0.0]))[0])] == "Stub"


def test_an_empty_page_scores_zero_and_a_huge_one_the_sum_of_weights():
    for model in (V1, V2):
        assert quality_scores(model, counts(0, 0, 0, 0, 0, 0, 0), model.published_percentiles()) == [0]
        full = quality_scores(model, counts(1e8, 1e4, 1e5, 1e5, 0, 1e9, 1e3), model.published_percentiles())
        assert full == pytest.approx(sum(feature.weight for feature in model.features))


def test_weights_are_as_published():
    assert sum(feature.weight for feature in V1.features) == pytest.approx(1)
    assert sum(feature.weight for feature in V2.features) == pytest.approx(0.998)


page_counts = hnp.arrays(np.float64, (7, 5), elements=st.integers(0, 10**6).map(float))


@given(page_counts, st.integers(1, 6), st.sampled_from([V1, V2]))
def test_scores_lie_between_0_and_1_and_more_never_lowers_v1(values, column, model):
    before = quality_scores(model, QualityCounts(*values), model.published_percentiles())
    assert ((before >= 0) & (before <= 1)).all()
    values[column] += 1
    after = quality_scores(model, QualityCounts(*values), model.published_percentiles())
    assert (after >= before).all()


def test_features_cover_the_table():
    assert {feature.name for model in (V1, V2) for feature in model.features} <= set(FEATURES)


def test_counts_of_a_page():
    page = PageCounts(100, 3, (1, 4, 2, 9, 0, 0), 8, 2, 30, 5)
    assert quality_counts(page) == (100, 3, 6, 8, 2, 30, 5)
    assert FEATURES["references_per_root_length"](counts(*quality_counts(page))) == pytest.approx(10 / sqrt(100))
