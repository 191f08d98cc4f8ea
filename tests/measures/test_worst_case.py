"""Bounds of divergences over all ways of filling unknown groups, against every way that there is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenrank.core.groups import GroupSpace
from evenrank.core.types import Floats
from evenrank.measures.awrf import awrf
from evenrank.measures.expected_exposure import ee_loss
from evenrank.measures.worst_case import (
    MassSet,
    awrf_bounds,
    completions,
    gain_bounds,
    loss_bounds,
    mass_set,
)
from evenrank.trec.dimensions import DIMENSIONS
from tests.measures.one_ranking import ndcg

WEIGHTS = 1.0 / np.log2(np.maximum(np.arange(1, 7), 2))
GROUPS = 4
OPTIONS = np.eye(GROUPS, dtype=bool) | (np.arange(GROUPS) == 0)[:, None]


def masses(groups: list[int]) -> Floats:
    return np.bincount(groups, WEIGHTS[: len(groups)], minlength=GROUPS).astype(float)


def fillings(groups: list[int]) -> list[list[int]]:
    """Every way of filling the unknown group 0, which may also stay."""
    options = [range(GROUPS) if group == 0 else [group] for group in groups]
    return [list(filled) for filled in product(*options)]


groups_of_items = st.lists(st.integers(0, GROUPS - 1), min_size=1, max_size=5).filter(any)
targets = st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any)


@settings(max_examples=60, deadline=None)
@given(groups_of_items, targets)
def test_awrf_with_a_fixed_target_contains_every_filling_and_its_worst_is_attained(
    groups: list[int], target: list[int]
) -> None:
    wanted = np.array([0.0, *target])
    mass = masses(groups)
    exposure = mass_set(mass, mass, OPTIONS, drops_unknown=True, is_share=True)
    found = awrf_bounds(exposure, MassSet(wanted, is_share=True))
    values = [awrf(masses(one)[1:], wanted[1:]) for one in fillings(groups)]
    assert found.low == pytest.approx(min(values), abs=1e-3)
    assert found.low <= min(values) + 1e-9
    assert found.high >= max(values) - 1e-9
    assert found.is_exact == (0 not in groups)


@settings(max_examples=40, deadline=None)
@given(groups_of_items, groups_of_items)
def test_a_target_that_moves_is_contained_too(shown: list[int], wanted: list[int]) -> None:
    left, right = masses(shown), masses(wanted)
    exposure = mass_set(left, left, OPTIONS, drops_unknown=True, is_share=True)
    target = mass_set(right, right, OPTIONS, drops_unknown=True, is_share=True)
    found = awrf_bounds(exposure, target)
    values = [awrf(masses(one)[1:], masses(other)[1:]) for one in fillings(shown) for other in fillings(wanted)[:64]]
    assert found.low <= min(values) + 1e-9
    assert found.high >= max(values) - 1e-9


@settings(max_examples=40, deadline=None)
@given(groups_of_items, targets)
def test_the_loss_contains_every_filling_and_its_worst_is_attained(groups: list[int], target: list[int]) -> None:
    wanted = np.array([0.5, *target]) / 3.0
    mass = masses(groups)
    found = loss_bounds(mass_set(mass, mass, OPTIONS), MassSet(wanted))
    values = [ee_loss(masses(one), wanted) for one in fillings(groups)]
    assert found.low <= min(values) + 1e-9
    assert max(values) - 1e-9 <= found.high <= max(values) + 1e-2 * max(1.0, max(values))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["relevant", "not", "open"]), min_size=1, max_size=6),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(1, 6),
)
def test_gain_bounds_are_exact(ranked: list[str], n_missed: int, n_others: int, depth: int) -> None:
    is_relevant = np.array([one == "relevant" for one in ranked])
    is_open = np.array([one == "open" for one in ranked])
    n_relevant = int(is_relevant.sum()) + n_missed
    weights = 1.0 / np.log2(np.maximum(np.arange(1, max(depth, len(ranked)) + 1), 2))
    at_ranks = weights[: len(ranked)]
    found = gain_bounds(
        at_ranks[is_open],
        float(at_ranks[is_relevant].sum()),
        n_relevant,
        n_others,
        np.concatenate([[0.0], np.cumsum(weights[:depth])]),
    )
    values = []
    for answer in product([False, True], repeat=int(is_open.sum())):
        filled = is_relevant.copy()
        filled[is_open] = answer
        values += [ndcg(filled, n_relevant + sum(answer) + n_more, depth) for n_more in range(n_others + 1)]
    assert found == pytest.approx((min(values), max(values)))


def test_only_what_is_unknown_may_change() -> None:
    space = GroupSpace.of(("geography", "gender"), DIMENSIONS)
    allowed = completions(space)
    names = list(space.names)
    africa = names.index("Africa|unknown")
    assert [names[cell] for cell in np.flatnonzero(allowed[africa])] == [
        "Africa|unknown",
        "Africa|female",
        "Africa|male",
        "Africa|third",
    ]
    assert allowed[0].all()
    assert allowed[names.index("Asia|male")].sum() == 1
