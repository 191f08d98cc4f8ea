"""The dimensions of 2022, and the rules that hold for all."""

from __future__ import annotations

import numpy as np
import pytest

from evenrank.core.alignment import align
from evenrank.core.groups import GroupSpace
from evenrank.trec.dimensions import DIMENSIONS, OF_OCEANIA, SOURCE_REGION, SUB_REGION

NAMED = ("sub-region", "occupation", "first-letter", "creation-date", "popularity", "languages", "topic-age")
OF_2022 = ("sub-region", "source-region", *NAMED[1:])


def test_the_dimensions_of_2021_come_first():
    assert list(DIMENSIONS) == ["geography", "gender", *OF_2022]


@pytest.mark.parametrize("dimension", DIMENSIONS.values(), ids=DIMENSIONS)
def test_background_is_a_distribution_and_nothing_is_unknown(dimension):
    assert dimension.background_array().sum() == pytest.approx(1)
    assert dimension.encode(None) == dimension.encode([]) == 1
    assert dimension.mask_dtype.itemsize * 8 >= len(dimension.groups)


@pytest.mark.parametrize("name", NAMED)
def test_each_group_has_its_bit_alone_or_in_a_list(name):
    dimension = DIMENSIONS[name]
    for index, group in enumerate(dimension.groups):
        assert dimension.encode(group) == dimension.encode([group]) == dimension.mask_of(group) == 1 << index
    assert dimension.encode(list(dimension.groups[1:3])) == 0b110


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("value", ["Atlantis", 7, ["Atlantis"]])
def test_unknown_values_are_told(name, value):
    with pytest.raises(ValueError, match="is not one of: Unknown, "):
        DIMENSIONS[name].encode(value)


def test_oceania_is_one_sub_region():
    assert {SUB_REGION.encode(region) for region in OF_OCEANIA} == {SUB_REGION.mask_of("Oceania")}


def test_there_are_32_occupations():
    assert len(DIMENSIONS["occupation"].groups) == 33


def test_regions_of_oceania_are_added_after_counting():
    assert SUB_REGION.encode_counts(["Melanesia", "Polynesia", "Southern Asia"]) == {
        SUB_REGION.groups.index("Oceania"): 2,
        SUB_REGION.groups.index("Southern Asia"): 1,
    }


def test_sources_are_counted_by_region():
    count, groups = SOURCE_REGION.encode_counts, SOURCE_REGION.groups
    assert count({"Western Asia": 3, "UNK": 2}) == {groups.index("Western Asia"): 3, 0: 2}
    assert count({"Melanesia": 1, "Oceania": 4, "Western Asia": 0}) == {groups.index("Oceania"): 5}
    assert count({}) == count(None) == count({"UNK": 0}) == {0: 1}
    assert SOURCE_REGION.encode({"UNK": 2}) == 1


@pytest.mark.parametrize("value", [{"Atlantis": 1}, {"Western Asia": -1}, {"Western Asia": 1.5}, ["Western Asia"], 7])
def test_sources_of_another_kind_are_refused(value):
    with pytest.raises(ValueError, match="source_subcont_regions"):
        SOURCE_REGION.encode_counts(value)


def test_bands_without_a_value_are_in_no_group():
    assert [d.name for d in DIMENSIONS.values() if not d.has_unknown] == [
        "first-letter",
        "creation-date",
        "popularity",
        "languages",
    ]
    space = GroupSpace((DIMENSIONS["languages"],))
    rows = align([np.array([1, 2, 8], np.uint8)], space, [False]).dense()
    assert rows.tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 1]]
    assert not space.has_unknown
