"""κ and α against the worked examples of their inventors and against definitions written out."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evenrank.core.rng import derive
from evenrank.trec.assessment.agreement import (
    Bootstrap,
    alpha_estimate,
    cohens_kappa,
    count_values,
    kappa_estimate,
    krippendorffs_alpha,
)

NA = None


def alpha_of(*observers: list[object]) -> float:
    return float(krippendorffs_alpha(count_values(list(zip(*observers, strict=True)))))


# Krippendorff, Computing Krippendorff's alpha-reliability (2011), sections A to C. Published to three digits
# (0.095, 0.692, 0.743); the fractions are the ones his coincidence matrices give.
def test_krippendorff_2011_binary_two_observers() -> None:
    meg = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    owen = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert alpha_of(meg, owen) == pytest.approx(1 - 19 * 4 / (14 * 6), abs=1e-12)
    assert round(alpha_of(meg, owen), 4) == 0.0952


def test_krippendorff_2011_nominal_two_observers() -> None:
    ben, gerry = list("aabbdcccedda"), list("babbbccceddd")
    alpha = alpha_of(ben, gerry)
    assert alpha == pytest.approx((23 * 18 - 104) / (24 * 23 - 104), abs=1e-12)
    assert round(alpha, 4) == 0.6920


def test_krippendorff_2011_nominal_four_observers_with_gaps() -> None:
    alpha = alpha_of(
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NA, NA, NA],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NA, 3],
        [NA, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NA],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NA],
    )
    assert alpha == pytest.approx((39 * 32 - 344) / (40 * 39 - 344), abs=1e-12)
    assert round(alpha, 4) == 0.7434


# Table 2.b of Cohen 1960 (page 45), as counts of 200: p_o = .70, p_e = .41, κ = .492.
def test_cohen_1960() -> None:
    kappa = cohens_kappa(np.array([[88, 14, 18], [10, 40, 10], [2, 6, 12]]))
    assert kappa == pytest.approx(0.29 / 0.59, abs=1e-12)
    assert round(float(kappa), 4) == 0.4915


# The example of ci.kappa in the R package statpsych (after Fleiss and Paik 2003): 0.6756757, 95 % from .5317 to .8196.
def test_cohens_kappa_of_statpsych() -> None:
    table = np.array([[31, 12], [4, 58]])
    assert round(float(cohens_kappa(table)), 7) == 0.6756757
    estimate = kappa_estimate(table, derive(3, "kappa"), Bootstrap(n_resamples=4000))
    assert [estimate.low, estimate.high] == pytest.approx([0.5317210, 0.8196303], abs=0.02)


def test_kappa_of_many_tables_at_once() -> None:
    tables = np.array([[[20, 5], [10, 15]], [[1, 0], [0, 1]], [[0, 1], [1, 0]]])
    assert np.allclose(cohens_kappa(tables), [0.4, 1, -1])


def test_no_variation_is_undefined() -> None:
    assert np.isnan(cohens_kappa(np.array([[5, 0], [0, 0]])))
    assert np.isnan(krippendorffs_alpha(np.array([[2, 0], [3, 0]])))
    assert np.isnan(krippendorffs_alpha(np.zeros((0, 2))))


grades = st.sampled_from([None, 0, 1, 2])
matrices = st.lists(st.tuples(grades, grades, grades), min_size=1, max_size=12)


def alpha_by_pairs(ratings: list[tuple[int | None, ...]]) -> float:
    """The definition: mean disagreement of pairs inside items over that of all pairs of values."""
    items = [[v for v in item if v is not None] for item in ratings]
    items = [item for item in items if len(item) >= 2]
    values = [v for item in items for v in item]
    observed = sum(sum(a != b for a, b in permutations(item, 2)) / (len(item) - 1) for item in items) / len(values)
    expected = sum(a != b for a, b in permutations(values, 2)) / (len(values) * (len(values) - 1))
    return 1 - observed / expected


@settings(deadline=None)
@given(matrices)
def test_alpha_is_its_definition(ratings: list[tuple[int | None, ...]]) -> None:
    alpha = float(krippendorffs_alpha(count_values(ratings)))
    assume(not np.isnan(alpha))
    assert alpha == pytest.approx(alpha_by_pairs(ratings), abs=1e-9)


@settings(deadline=None)
@given(matrices, st.permutations(range(3)))
def test_alpha_does_not_know_who_is_who(ratings: list[tuple[int | None, ...]], order: list[int]) -> None:
    swapped = [tuple(item[i] for i in order) for item in ratings]
    assert krippendorffs_alpha(count_values(ratings)) == pytest.approx(
        krippendorffs_alpha(count_values(swapped)), nan_ok=True
    )


def test_repeated_items_count_as_often() -> None:
    counts = np.array([[2, 0], [1, 1], [0, 2]])
    assert krippendorffs_alpha(counts, np.array([3, 1, 2])) == krippendorffs_alpha(counts[[0, 0, 0, 1, 2, 2]])


def test_intervals_hold_the_estimate_and_are_repeatable() -> None:
    table = np.array([[88, 14, 18], [10, 40, 10], [2, 6, 12]])
    kappa = kappa_estimate(table, derive(1, "kappa"))
    error = np.sqrt(0.7 * 0.3 / 200) / (1 - 0.41)  # Cohen's large-sample approximation, from p_o and p_e
    assert kappa.low == pytest.approx(kappa.value - 1.96 * error, abs=0.02)
    assert kappa.high == pytest.approx(kappa.value + 1.96 * error, abs=0.02)
    assert kappa == kappa_estimate(table, derive(1, "kappa"))


def test_alpha_interval_is_that_of_drawing_items_one_by_one() -> None:
    counts = np.array([[2, 0]] * 30 + [[1, 1]] * 6 + [[0, 2]] * 14 + [[1, 0]] * 9)
    estimate = alpha_estimate(counts, derive(2, "alpha"), Bootstrap(n_resamples=4000))
    rng = np.random.default_rng(5)
    paired = counts[:50]
    slow = [float(krippendorffs_alpha(paired[rng.integers(0, 50, 50)])) for _ in range(4000)]
    assert estimate.value == float(krippendorffs_alpha(counts))
    assert [estimate.low, estimate.high] == pytest.approx(np.quantile(slow, [0.025, 0.975]), abs=0.03)


def test_no_items_give_no_number() -> None:
    assert np.isnan(alpha_estimate(np.zeros((0, 2), int), derive(1)).value)
    assert np.isnan(kappa_estimate(np.zeros((2, 2), int), derive(1)).low)
