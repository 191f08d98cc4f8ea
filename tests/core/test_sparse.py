"""Sparse targets against the formula written out densely, on spaces with and without a background."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evenrank.core.alignment import align
from evenrank.core.groups import GroupSpace
from evenrank.core.sparse import SparseVector, align_sparsely, blend_sparsely, memberships_of_masks
from evenrank.core.target import blend
from evenrank.trec.dimensions import DIMENSIONS

BOTH = GroupSpace((DIMENSIONS["gender"], DIMENSIONS["languages"], DIMENSIONS["geography"]))
BLENDED = GroupSpace((DIMENSIONS["geography"], DIMENSIONS["gender"]))
masses = st.sampled_from([0.0, 0.0, 0.5, 1.0, 3.0])


def sparse(values: np.ndarray) -> SparseVector:
    cells = np.flatnonzero(values)
    return SparseVector(cells, values[cells])


def written_out(values: np.ndarray) -> np.ndarray:
    """The formula of 2022 on gender × languages × geography, cell by cell."""
    table = values.reshape(4, 3, 8)
    genders, world = np.array([1, 0.495, 0.495, 0.01]), np.array([1.0, *DIMENSIONS["geography"].background])
    marginal = table.sum(axis=(0, 2)) / table.sum()
    out = np.zeros_like(table)
    for gender in range(4):
        for region in range(8):
            known = (gender > 0, region > 0)
            mass = table[gender, :, region].sum()
            if known == (False, False):
                out[gender, :, region] = table[gender, :, region]
                continue
            section = table[1 if known[0] else 0 : 4 if known[0] else 1, :, 1 if known[1] else 0 : 8 if known[1] else 1]
            wanted = 0.5 * genders[gender] * world[region] * section.sum()
            if mass > 0:
                out[gender, :, region] = table[gender, :, region] * (0.5 + wanted / mass)
            else:
                out[gender, :, region] = wanted * marginal
    return out.reshape(-1)


@given(hnp.arrays(np.float64, BOTH.n_groups, elements=masses).filter(lambda values: values.sum() > 0))
def test_the_formula_of_2022(values: np.ndarray) -> None:
    values = values / values.sum()
    target = blend_sparsely(sparse(values), BOTH)
    np.testing.assert_allclose(target.dense(), written_out(values), atol=1e-14)
    assert target.total == pytest.approx(target.dense().sum())
    assert target.squared_norm == pytest.approx(target.dense() @ target.dense())
    listed = target.nonzero()
    np.testing.assert_array_equal(listed.cells, np.flatnonzero(target.dense()))
    np.testing.assert_allclose(blend(values, BOTH), target.dense(), atol=1e-15)


@given(hnp.arrays(np.float64, BLENDED.n_groups, elements=masses).filter(lambda values: values.sum() > 0))
def test_without_other_dimensions_it_is_the_blend_of_2021(values: np.ndarray) -> None:
    np.testing.assert_allclose(blend_sparsely(sparse(values), BLENDED).dense(), blend(values, BLENDED), atol=1e-13)


@given(hnp.arrays(np.float64, BOTH.n_groups, elements=masses).filter(lambda values: values.sum() > 0))
def test_margins_and_scale(values: np.ndarray) -> None:
    target = blend_sparsely(sparse(values), BOTH)
    table = target.dense().reshape(BOTH.shape)
    for names, axes in ((["geography", "gender"], (2, 0)), (["languages"], (1,)), (["languages", "gender"], (1, 0))):
        margin = target.margin(BOTH.part(names))
        others = tuple(axis for axis in range(3) if axis not in axes)
        expected = np.transpose(table.sum(axis=others), np.argsort(np.argsort(axes)))
        np.testing.assert_allclose(margin.dense(), expected.reshape(-1), atol=1e-13)
        assert margin.squared_norm == pytest.approx(margin.dense() @ margin.dense())
    np.testing.assert_allclose(target.scaled(3.0).dense(), 3.0 * target.dense())


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15), st.integers(0, 255)), min_size=1, max_size=20))
def test_sparse_rows_are_the_dense_ones(masks: list[tuple[int, int, int]]) -> None:
    columns = [np.array(column, np.uint8) for column in zip(*masks, strict=True)]
    weights = np.arange(1.0, len(masks) + 1)
    dense = align(columns, BOTH, [False, False, True])
    memberships = [
        memberships_of_masks(columns[0], 4),
        memberships_of_masks(columns[1] >> 1, 3),
        memberships_of_masks(columns[2], 8).divided(),
    ]
    found = align_sparsely(memberships, BOTH)
    np.testing.assert_allclose(found.total(weights), dense.total(weights), atol=1e-12)
    listed = found.sparse_total(weights)
    np.testing.assert_allclose(listed.at(np.arange(BOTH.n_groups)), dense.total(weights), atol=1e-12)
    np.testing.assert_allclose(found.take(np.array([0])).total(), dense.dense()[0])
