"""Estimated targets: the true target's formula with expectations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.core.alignment import align
from evenrank.core.exposure import block_exposure, discounts
from evenrank.core.groups import GroupSpace
from evenrank.core.records import NO_CLASS
from evenrank.errors import EvenrankError
from evenrank.trec.dimensions import DIMENSIONS, GENDER, GEOGRAPHY
from evenrank.trec.target_choice import estimated_target, soft_block_exposure
from evenrank.trec.true_target import task1_target, task2_target

SPACE = GroupSpace((GEOGRAPHY, GENDER))


def made_up_pages(seed: int, n_pages: int = 80):
    rng = np.random.default_rng(seed)
    masks = [(1 << rng.integers(0, len(d.groups), n_pages)).astype(np.uint8) for d in SPACE.dimensions]
    return align(masks, SPACE, [True, True]), rng.integers(0, NO_CLASS + 1, n_pages).astype(np.uint8)


@given(counts=st.lists(st.integers(0, 40), min_size=1, max_size=6))
def test_whole_counts_give_the_exact_block_means(counts: list[int]) -> None:
    np.testing.assert_allclose(soft_block_exposure(np.array(counts, float)), block_exposure(np.array(counts)))


def test_fractions_are_interpolated_between_ranks() -> None:
    # 1.5 pages share rank 1 and half of rank 2 (both weigh 1); the next page has half of rank 2 and half of rank 3
    means = soft_block_exposure(np.array([1.5, 1.0]))
    assert means.tolist() == pytest.approx([1.0, 0.5 * 1.0 + 0.5 * discounts(3)[2]])
    assert soft_block_exposure(np.array([0.0, 0.2, 0.0])).tolist() == pytest.approx([0.0, 1.0, 0.0])


@pytest.mark.parametrize("seed", range(5))
def test_certain_relevance_gives_the_true_targets(seed: int) -> None:
    alignment, quality_class = made_up_pages(seed)
    relevance = (np.random.default_rng(seed).random(80) < 0.4).astype(float)
    relevant = np.flatnonzero(relevance)
    first = estimated_target(1, 1, relevance, quality_class, alignment, SPACE)
    second = estimated_target(1, 2, relevance, quality_class, alignment, SPACE)
    np.testing.assert_allclose(first.values, task1_target(alignment.take(relevant), SPACE))
    np.testing.assert_allclose(
        second.values, task2_target(alignment.take(relevant), quality_class[relevant], SPACE), atol=1e-12
    )


@pytest.mark.parametrize("task", [1, 2])
def test_unknown_cell_by_task_unless_asked(task: int) -> None:
    alignment, quality_class = made_up_pages(3)
    relevance = np.full(80, 0.5)
    by_default = estimated_target(1, task, relevance, quality_class, alignment, SPACE)
    asked = estimated_target(1, task, relevance, quality_class, alignment, SPACE, keep_unknown=task == 1)
    assert (by_default.values[0] > 0) == (task == 2)
    assert (asked.values[0] > 0) == (task == 1)
    assert by_default.values.sum() == pytest.approx(1.0)
    assert asked.values.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("task", [1, 2])
def test_nothing_relevant_leaves_the_world(task: int) -> None:
    alignment, quality_class = made_up_pages(4)
    target = estimated_target(1, task, np.zeros(80), quality_class, alignment, SPACE)
    known = target.values.reshape(8, 4)[1:, 1:]
    np.testing.assert_allclose(known, np.outer(GEOGRAPHY.background, GENDER.background) / sum(GEOGRAPHY.background))
    assert np.isfinite(target.values).all()


@pytest.mark.parametrize("names", [("geography",), ("gender",), ("geography", "gender")])
def test_information_names_the_dimensions(names: tuple[str, ...]) -> None:
    assert tuple(dimension.name for dimension in GroupSpace.of(names, DIMENSIONS).dimensions) == names


def test_information_that_does_not_exist() -> None:
    with pytest.raises(EvenrankError, match="unknown dimension 'age'; choose from geography, gender"):
        GroupSpace.of(["geography", "age"], DIMENSIONS)
