"""ERR, iRBU, GF and amortised unfairness: worked by hand, their properties, and a second implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.measures.cascade import (
    DIVERGENCES,
    expected_reciprocal_rank,
    expected_utility,
    group_fairness,
    irbu,
    jensen_shannon,
    normalised_match_distance,
    ordinal_divergence,
    reach_chances,
    running_shares,
    stop_chances,
    stopping_chances,
)
from evenrank.measures.segments import offsets_of, owners, ranks, running, sums
from evenrank.scoring.campaigns.trec_2019 import group_shares, l2_unfairness
from tests.scoring import reference_campaigns as reference

TWO = offsets_of(np.array([2, 0, 1]))
"""A ranking of two documents, an empty one and one of one."""
rankings = st.lists(st.lists(st.integers(0, 2), max_size=6), min_size=1, max_size=8)


def test_segments() -> None:
    assert owners(TWO).tolist() == [0, 0, 2]
    assert ranks(TWO).tolist() == [0, 1, 0]
    assert sums(np.array([1.0, 2.0, 4.0]), TWO).tolist() == [3.0, 0.0, 4.0]
    assert running(np.add, np.array([1.0, 2.0, 4.0]), TWO).tolist() == [1.0, 3.0, 4.0]


@given(rankings)
def test_running_does_not_depend_on_the_other_rankings(lists: list[list[int]]) -> None:
    """Few long rankings and many short ones are computed in two ways, with the same digits."""
    values = np.array([1.1 + number for one in lists for number in one])
    offsets = offsets_of(np.array([len(one) for one in lists]))
    found = running(np.multiply, values, offsets)
    for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        assert found[start:end].tolist() == np.multiply.accumulate(values[start:end]).tolist()


def test_relevance_by_hand() -> None:
    """Gains 3 and 1 of at most 3: readers stop with ¾ at rank 1 and, of those left, ¼ at rank 2."""
    stop = stop_chances(np.array([3.0, 1.0, 0.0]), 3.0)
    assert reach_chances(stop, TWO).tolist() == [1.0, 0.25, 1.0]
    assert expected_reciprocal_rank(stop, TWO).tolist() == [0.75 + 0.25 * 0.25 / 2, 0.0, 0.0]
    assert expected_reciprocal_rank(stop, TWO, depth=1).tolist() == [0.75, 0.0, 0.0]
    assert irbu(stop, TWO)[0] == pytest.approx(0.99 * 0.75 + 0.99**2 * 0.0625)
    assert expected_utility(stop, TWO, 0.5)[0] == pytest.approx(0.75 + 0.5 * 0.0625)


def test_divergences_by_hand() -> None:
    """All of the last of three groups, where the first is wanted: as far as can be."""
    shares, target = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([1.0, 0.0, 0.0])
    assert jensen_shannon(shares, target).tolist() == [1.0, 0.0, 1.0]
    assert normalised_match_distance(shares, target).tolist() == [1.0, 0.0, 0.5]
    assert ordinal_divergence(shares, target).tolist() == pytest.approx([1.0, 0.0, np.sqrt(0.5)])


def test_fairness_by_hand() -> None:
    """The first document is in group 1 and the second in group 2; both are wanted alike, which rank 2 attains."""
    stop = np.array([0.25, 0.75])
    shares = running_shares(np.eye(2), offsets_of(np.array([2])))
    assert shares.tolist() == [[1.0, 0.0], [0.5, 0.5]]
    divergence = normalised_match_distance(shares, np.array([0.5, 0.5]))
    assert divergence.tolist() == [0.5, 0.0]
    found = group_fairness(stop, divergence, offsets_of(np.array([2])))
    assert found[0] == pytest.approx(0.25 * 0.5 + 0.75 * 0.75 * 1.0)


@given(rankings)
def test_relevance_has_its_bounds(lists: list[list[int]]) -> None:
    offsets = offsets_of(np.array([len(one) for one in lists]))
    stop = stop_chances(np.array([(0.0, 1.0, 3.0)[level] for one in lists for level in one], np.float64), 3.0)
    err, rbu = expected_reciprocal_rank(stop, offsets), irbu(stop, offsets)
    assert ((err >= 0.0) & (err <= rbu / 0.99 + 1e-12) & (rbu < 1.0)).all()
    assert (sums(stopping_chances(stop, offsets), offsets) < 1.0).all()
    assert (expected_reciprocal_rank(stop, offsets, 2) <= err + 1e-12).all()


@st.composite
def ranked_groups(draw: st.DrawFn) -> tuple[list[int], list[list[float]], list[float]]:
    """Levels and shares of ranked pages, and a target that wants something."""
    n_groups = draw(st.integers(2, 4))
    part = st.lists(st.integers(0, 4), min_size=n_groups, max_size=n_groups).filter(any)
    levels = draw(st.lists(st.integers(0, 2), min_size=1, max_size=6))
    shares = [draw(part) for _ in levels]
    target = draw(part)
    return levels, [[one / sum(row) for one in row] for row in shares], [one / sum(target) for one in target]


@given(ranked_groups(), st.integers(1, 7))
def test_fairness_is_that_of_a_second_implementation(
    case: tuple[list[int], list[list[float]], list[float]], depth: int
) -> None:
    levels, shares, target = case
    offsets = offsets_of(np.array([len(levels)]))
    stop = stop_chances(np.array([(0.0, 1.0, 3.0)[level] for level in levels]), 3.0)
    means = running_shares(np.array(shares), offsets)
    for name, distance in DIVERGENCES.items():
        divergence = distance(means, np.array(target))
        assert ((divergence >= -1e-12) & (divergence <= 1.0 + 1e-12)).all()
        wanted = reference.group_fairness(levels, shares, target, depth, name)
        assert group_fairness(stop, divergence, offsets, depth)[0] == pytest.approx(wanted, abs=1e-12)
        assert distance(np.array([target]), np.array(target))[0] == pytest.approx(0.0, abs=1e-12)


def test_unfairness_by_hand() -> None:
    """Group 0 gets all exposure of sequence 0, but half of its relevance; sequence 1 exposes nothing."""
    group, sequence = np.array([0, 1]), np.array([0, 0])
    exposure = group_shares(np.array([2.0, 0.0]), sequence, group, 2, 2)
    relevance = group_shares(np.array([3.0, 3.0]), sequence, group, 2, 2)
    found = l2_unfairness(exposure, relevance)
    assert found[0] == pytest.approx(np.sqrt(0.5))
    assert np.isnan(found[1])
