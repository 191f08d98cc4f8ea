"""The dimensions of 2022, and the rules that hold for all."""

from __future__ import annotations

import pytest

from evenrank.alignment.dimensions import DIMENSIONS
from evenrank.alignment.sub_region import OF_OCEANIA, SUB_REGION

OF_2022 = ("sub-region", "occupation", "topic-age", "first-letter", "languages", "creation-date")


def test_the_dimensions_of_2021_come_first():
    assert list(DIMENSIONS) == ["geography", "gender", *OF_2022]


@pytest.mark.parametrize("dimension", DIMENSIONS.values(), ids=DIMENSIONS)
def test_background_is_a_distribution_and_nothing_is_unknown(dimension):
    assert sum(dimension.background) == pytest.approx(1)
    assert dimension.encode(None) == dimension.encode([]) == 1
    assert dimension.mask_dtype.itemsize * 8 >= len(dimension.groups)


@pytest.mark.parametrize("name", OF_2022)
def test_each_group_has_its_bit_alone_or_in_a_list(name):
    dimension = DIMENSIONS[name]
    for index, group in enumerate(dimension.groups):
        assert dimension.encode(group) == dimension.encode([group]) == dimension.mask_of(group) == 1 << index
    assert dimension.encode(list(dimension.groups[1:3])) == 0b110


@pytest.mark.parametrize("name", OF_2022)
@pytest.mark.parametrize("value", ["Atlantis", 7, ["Atlantis"]])
def test_unknown_values_are_told(name, value):
    with pytest.raises(ValueError, match="is not one of: Unknown, "):
        DIMENSIONS[name].encode(value)


def test_oceania_is_one_sub_region():
    assert {SUB_REGION.encode(region) for region in OF_OCEANIA} == {SUB_REGION.mask_of("Oceania")}


def test_there_are_32_occupations():
    assert len(DIMENSIONS["occupation"].groups) == 33
