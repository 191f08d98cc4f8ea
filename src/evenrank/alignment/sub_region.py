"""Sub-region: the sub-continental regions that an article is about (UN geoscheme, 2022 track).

As in the track, the regions of Oceania are one group, because few people live there.
"""

from __future__ import annotations

from evenrank.alignment.banded import named_dimension

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
OF_OCEANIA = ("Australia and New Zealand", "Melanesia", "Micronesia", "Polynesia")

SUB_REGION = named_dimension(
    name="sub-region",
    field="page_subcont_regions",
    known=tuple(POPULATION),
    background=[people / sum(POPULATION.values()) for people in POPULATION.values()],
    source="share of the world's population by sub-region, as used by the 2022 track",
    also=dict.fromkeys(OF_OCEANIA, "Oceania"),
)
