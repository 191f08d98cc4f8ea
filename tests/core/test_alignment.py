"""Pages → groups: worked by hand, against a dense product, and for any list of dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.core.alignment import align
from evenrank.core.groups import MAX_GROUPS, Dimension, GroupSpace
from evenrank.trec.dimensions import DIMENSIONS, GENDER, GEOGRAPHY, encode_gender, encode_geography

AGE = Dimension("age", "age", ("unknown", "old", "new"), (0.5, 0.5), lambda value: 1, "made up")
SPACE = GroupSpace((GEOGRAPHY, GENDER))


@pytest.mark.parametrize(
    ("value", "mask"),
    [
        (None, 0b1),
        ([], 0b1),
        (["male"], 0b100),
        (["female", "male"], 0b110),
        (["transgender female"], 0b10),
        (["cisgender male"], 0b100),
        (["transgender  male"], 0b100),
        (["non-binary"], 0b1000),
        (["intersex", "female"], 0b1010),
        ("male", 0b100),
        ([None], 0b1),
        (["Taira no Kiyomori"], 0),
        (["unknown"], 0b1),
    ],
)
def test_gender_as_the_organisers_map_it(value: object, mask: int) -> None:
    assert encode_gender(value) == mask


def test_geography_masks() -> None:
    assert encode_geography([]) == encode_geography(None) == 1
    assert encode_geography(["Africa", "Oceania"]) == 0b10000010
    with pytest.raises(ValueError, match="Atlantis"):
        encode_geography(["Atlantis"])
    with pytest.raises(ValueError, match="not text"):
        encode_gender([3])


def test_names_and_shape() -> None:
    assert SPACE.shape == (8, 4)
    assert SPACE.n_groups == len(SPACE.names) == 32
    assert SPACE.names[:5] == ("Unknown|unknown", "Unknown|female", "Unknown|male", "Unknown|third", "Africa|unknown")
    assert GroupSpace((GEOGRAPHY,)).names == GEOGRAPHY.groups


def test_a_page_on_two_continents_by_hand() -> None:
    masks = [np.array([0b10010], np.uint8), np.array([0b10], np.uint8)]
    multi_hot = align(masks, SPACE, (False, False)).dense().reshape(8, 4)
    assert multi_hot.sum() == 2
    assert multi_hot[1, 1] == multi_hot[4, 1] == 1
    normalised = align(masks, SPACE, (True, True)).dense().reshape(8, 4)
    assert normalised[1, 1] == normalised[4, 1] == 0.5


def test_a_page_of_no_group_has_a_row_of_zeros() -> None:
    masks = [np.array([1, 0], np.uint8), np.array([0, 1], np.uint8)]
    assert align(masks, SPACE, (True, True)).dense().sum() == 0


masks_of = st.lists(st.tuples(st.integers(0, 255), st.integers(0, 15), st.integers(0, 7)), min_size=1, max_size=50)


@given(masks_of, st.tuples(st.booleans(), st.booleans(), st.booleans()), st.integers(1, 3))
def test_equals_a_dense_outer_product(
    pages: list[tuple[int, int, int]], normalise: tuple[bool, ...], n_dimensions: int
) -> None:
    space = GroupSpace((GEOGRAPHY, GENDER, AGE)[:n_dimensions])
    columns = [np.array(column, np.uint8) for column in zip(*pages, strict=True)][:n_dimensions]
    found = align(columns, space, normalise[:n_dimensions])
    for page, row in zip(pages, found.dense(), strict=True):
        expected = np.ones(())
        for mask, dimension, divide in zip(page, space.dimensions, normalise, strict=False):
            hot = np.array([mask >> i & 1 for i in range(len(dimension.groups))], float)
            expected = np.multiply.outer(expected, hot / max(hot.sum(), 1) if divide else hot)
        np.testing.assert_allclose(row, expected.ravel())


@given(masks_of, st.integers(0, 2**32 - 1))
def test_totals_equal_the_dense_product_and_tables_equal_sorting(pages: list[tuple[int, int, int]], seed: int) -> None:
    columns = [np.array(column, np.uint8) for column in zip(*pages, strict=True)][:2]
    weights = np.random.default_rng(seed).random(len(pages))
    found = align(columns, SPACE, (True, False))
    np.testing.assert_allclose(found.total(weights), weights @ found.dense(), atol=1e-12)
    many = align([np.tile(column, 600) for column in columns], SPACE, (True, False))
    np.testing.assert_allclose(many.dense()[: len(pages)], found.dense())
    np.testing.assert_allclose(found.take(np.array([0])).dense()[0], found.dense()[0])


@pytest.mark.parametrize("dimension", DIMENSIONS.values(), ids=lambda d: d.name)
def test_every_dimension_is_sound(dimension: Dimension) -> None:
    assert dimension.background is None or sum(dimension.background) == pytest.approx(1.0, abs=1e-6)
    assert dimension.background_array().sum() == pytest.approx(1.0, abs=1e-6)
    assert len(set(dimension.groups)) == len(dimension.groups)
    assert dimension.encode(None) == 1
    assert dimension.source
    for index, group in enumerate(dimension.groups):
        assert dimension.mask_of(group) == 1 << index
    assert np.iinfo(dimension.mask_dtype).max >= 2 ** len(dimension.groups) - 1


def test_a_dimension_with_wrong_shares_is_refused() -> None:
    with pytest.raises(ValueError, match="background"):
        Dimension("x", "x", ("unknown", "a", "b"), (1.0,), lambda value: 1, "")
    too_many = MAX_GROUPS + 1
    with pytest.raises(ValueError, match=str(MAX_GROUPS)):
        Dimension("x", "x", tuple(map(str, range(too_many))), (1 / MAX_GROUPS,) * MAX_GROUPS, lambda value: 1, "")
