"""Expected exposure with its bounds: worked by hand, its properties, and a second implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.core.exposure import Cascade, Geometric
from evenrank.measures.normalised_exposure import (
    Bounds,
    compare_exposure,
    geometric_series,
    group_bounds,
    item_bounds,
    normalise,
    target_exposure,
    unranked_exposure,
)
from evenrank.measures.segments import offsets_of
from tests.scoring import reference_campaigns as reference

RBP, GERR = Geometric(0.5), Cascade(0.5, 0.5)
models = st.builds(Cascade, st.floats(0.1, 0.9), st.floats(0.1, 0.9)) | st.builds(Geometric, st.floats(0.1, 0.9))
grade_lists = st.lists(st.integers(0, 3), min_size=1, max_size=6)


def test_target_by_hand() -> None:
    """Two documents of grade 1 share ranks 1 and 2, one of grade 0 has rank 3; the other query has one document."""
    grades, offsets = np.array([1, 0, 1, 2]), offsets_of(np.array([3, 1]))
    assert target_exposure(grades, offsets, RBP).tolist() == [0.75, 0.25, 0.75, 1.0]
    assert target_exposure(grades, offsets, GERR).tolist() == [0.625, 0.0625, 0.625, 1.0]


@given(st.lists(grade_lists, min_size=1, max_size=4), models)
def test_target_is_that_of_a_second_implementation(lists: list[list[int]], model: Cascade | Geometric) -> None:
    offsets = offsets_of(np.array([len(one) for one in lists]))
    found = target_exposure(np.array([grade for one in lists for grade in one]), offsets, model)
    satisfaction = model.satisfaction if isinstance(model, Cascade) else 0.0
    for place, one in enumerate(lists):
        named = {str(number): grade for number, grade in enumerate(one)}
        wanted = reference.target_exposure(named, model.persistence, satisfaction)
        assert found[offsets[place] : offsets[place + 1]].tolist() == pytest.approx([wanted[name] for name in named])


@given(grade_lists, st.builds(Cascade, st.floats(0.1, 0.9), st.just(0.5)) | st.builds(Geometric, st.floats(0.1, 0.9)))
def test_an_ideal_vector_has_no_difference_and_the_largest_relevance(
    grades: list[int], model: Cascade | Geometric
) -> None:
    offsets = offsets_of(np.array([len(grades)]))
    target = target_exposure(np.array(grades), offsets, model)
    values = compare_exposure(target, target, offsets)
    bounds = item_bounds(target, np.array(grades), offsets, model, is_complete=True)
    assert values["difference"].tolist() == [0.0]
    if len(set(grades)) > 1:
        assert values["relevance"] == pytest.approx(bounds["relevance"].upper)
        assert bounds["relevance"].lower[0] <= bounds["relevance"].upper[0]
    assert values["disparity"][0] <= bounds["disparity"].upper[0] * (1.0 + 1e-12)


def test_bounds_by_hand() -> None:
    """One relevant document of two: the ideal exposures of rbp are 1 and ½."""
    grades, offsets = np.array([1, 0]), offsets_of(np.array([2]))
    target = target_exposure(grades, offsets, RBP)
    bounds = item_bounds(target, grades, offsets, RBP, is_complete=True)
    assert (bounds["disparity"].lower[0], bounds["disparity"].upper[0]) == (1.5**2 / 2, 1.25)
    assert (bounds["relevance"].lower[0], bounds["relevance"].upper[0]) == (0.5 + 0.5, 1.25)
    assert bounds["difference"].upper[0] == 0.25 + 0.25
    open_bounds = item_bounds(target[:1], grades[:1], offsets_of(np.array([1])), GERR, is_complete=False)
    assert (open_bounds["disparity"].lower[0], open_bounds["disparity"].upper[0]) == (0.0, pytest.approx(4 / 3))
    assert (open_bounds["relevance"].lower[0], open_bounds["relevance"].upper[0]) == (0.0, 0.0)
    assert open_bounds["difference"].upper[0] == pytest.approx(1.0 + 4 / 3)


def test_group_bounds_by_hand() -> None:
    """Two groups and two relevant documents: at most 1½ for each; a query with one group cannot be unequal."""
    bounds = group_bounds(np.array([0.75, 0.75, 1.0]), offsets_of(np.array([2, 1])), np.array([2, 1]), RBP)
    assert bounds["disparity"].upper.tolist() == [2 * 1.5**2, 0.0]
    assert bounds["disparity"].lower.tolist() == [2 * 1.5**2, 0.0]
    assert bounds["difference"].upper.tolist() == [2 * 0.75**2, 1.0]
    assert bounds["relevance"].upper.tolist() == [0.0, 0.0]


def test_values_are_normalised_where_bounds_differ() -> None:
    bounds = Bounds(np.array([1.0, 2.0]), np.array([3.0, 2.0]))
    assert normalise("relevance", np.array([1.0, 5.0]), bounds).tolist() == [0.5, 1.0]
    assert normalise("difference", np.array([np.inf, 5.0]), bounds).tolist() == [np.inf, 0.0]
    missing = unranked_exposure({"disparity": bounds, "relevance": Bounds(bounds.lower, np.array([7.0, 8.0]))})
    assert (missing["disparity"].tolist(), missing["difference"].tolist()) == ([3.0, 2.0], [7.0, 8.0])


def test_a_vector_without_exposure_has_an_infinite_disparity() -> None:
    values = compare_exposure(np.zeros(2), np.array([1.0, 0.5]), offsets_of(np.array([2, 0])))
    assert values["disparity"].tolist() == [np.inf, np.inf]
    assert values["difference"].tolist() == [1.25, 0.0]


def test_geometric_series() -> None:
    assert geometric_series(0.5, np.array([0.0, 1.0, 3.0, np.inf])).tolist() == [0.0, 1.0, 1.75, 2.0]
