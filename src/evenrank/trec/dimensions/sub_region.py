"""Sub-region and source region: the sub-continental regions (UN geoscheme, 2022 track) that an article is about, and
those that its sources come from.

As in the track, the regions of Oceania are one group, because few people live there. They are added after counting, so
a page about two of them and about Southern Asia belongs to Oceania by two thirds.
"""

from __future__ import annotations

from evenrank.core.groups import Dimension
from evenrank.trec.dimensions.banded import named_dimension

POPULATION = {
    "Antarctica": 1106,
    "Caribbean": 42517000,
    "Central America": 167387000,
    "Central Asia": 64370000,
    "Eastern Africa": 373202000,
    "Eastern Asia": 1620807000,
    "Eastern Europe": 294162000,
    "Middle Africa": 135750000,
    "Northern Africa": 210002000,
    "Northern America": 355361000,
    "Northern Europe": 100404000,
    "Oceania": 38304000,
    "South America": 406740000,
    "South-eastern Asia": 618793000,
    "Southern Africa": 60425000,
    "Southern Asia": 1749046000,
    "Southern Europe": 155827000,
    "Western Africa": 331255000,
    "Western Asia": 245707000,
    "Western Europe": 192060000,
}
"""People living in each region, as used by the track."""
MAX_COUNT = 10**9
OF_OCEANIA = ("Australia and New Zealand", "Melanesia", "Micronesia", "Polynesia")

OF_UNKNOWN = ("UNK",)
"""Names under which sources of an unknown region are counted."""
BACKGROUND = tuple(people / sum(POPULATION.values()) for people in POPULATION.values())
BACKGROUND_SOURCE = "share of the world's population by sub-region, as used by the 2022 track"
_NUMBERS = {name: number for number, name in enumerate(("Unknown", *POPULATION))}
_NUMBERS |= dict.fromkeys(OF_OCEANIA, _NUMBERS["Oceania"]) | dict.fromkeys(OF_UNKNOWN, 0)

SUB_REGION = named_dimension(
    name="sub-region",
    field="page_subcont_regions",
    known=tuple(POPULATION),
    background=BACKGROUND,
    source=BACKGROUND_SOURCE,
    also={**dict.fromkeys(OF_OCEANIA, "Oceania"), **dict.fromkeys(OF_UNKNOWN, "Unknown")},
    counts=True,
)


def count_sources(value: object) -> dict[int, int]:
    """Sources by region number, from a record of counts by region; nothing at all is unknown."""
    if value is None or value == []:
        return {0: 1}
    if not isinstance(value, dict):
        raise ValueError(f"source_subcont_regions {value!r} is not a record of counts by region")
    counts: dict[int, int] = {}
    for name, count in value.items():
        if name not in _NUMBERS:
            raise ValueError(f"source_subcont_regions {name!r} is not one of: {', '.join(_NUMBERS)}")
        if type(count) is not int or not 0 <= count <= MAX_COUNT:
            raise ValueError(f"source_subcont_regions: {name} has the count {count!r}, not a whole number of sources")
        if count:
            counts[_NUMBERS[name]] = counts.get(_NUMBERS[name], 0) + count
    return counts or {0: 1}


def _encode_sources(value: object) -> int:
    return sum(1 << number for number in count_sources(value))


SOURCE_REGION = Dimension(
    name="source-region",
    field="source_subcont_regions",
    groups=("Unknown", *POPULATION),
    background=BACKGROUND,
    encode=_encode_sources,
    source=BACKGROUND_SOURCE,
    encode_counts=count_sources,
)
