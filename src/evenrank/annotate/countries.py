"""Countries, their continents and sub-regions (UN geoscheme), and what dissolved and disputed ones count for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from evenrank.annotate.facts import item_number, read_csv

CONTINENTS = (
    "Africa",
    "Antarctica",
    "Asia",
    "Europe",
    "Latin America and the Caribbean",
    "Northern America",
    "Oceania",
)
"""Continents in the track's order."""


@dataclass(frozen=True, slots=True)
class Country:
    """A country or territory of today."""

    id: int
    """Number of its Wikidata item."""
    name: str
    continent: str
    sub_region: str


@cache
def countries() -> dict[int, Country]:
    """Present countries by item number."""
    return {
        number: Country(number, row["name"], row["continent"], row["sub_region"])
        for row in read_csv("countries.csv")
        for number in [item_number(row["wikidata_id"])]
    }


@cache
def _counts_for() -> dict[int, tuple[int, ...]]:
    """Item number → present countries, for present, former, disputed and partial countries."""
    table: dict[int, tuple[int, ...]] = {number: (number,) for number in countries()}
    for row in read_csv("former_countries.csv"):
        table[item_number(row["wikidata_id"])] = tuple(map(item_number, row["countries"].split()))
    return table


def present_countries(item: int) -> tuple[int, ...]:
    """The present countries that an item stands for: itself, its successors; none when it is no country."""
    return _counts_for().get(item, ())


def continents_of(country_ids: Iterable[int]) -> list[str]:
    """Continents of some countries, in the track's order."""
    found = {countries()[number].continent for number in country_ids}
    return [name for name in CONTINENTS if name in found]


def sub_regions_of(country_ids: Iterable[int]) -> list[str]:
    """Sub-regions of some countries, by name."""
    return sorted({countries()[number].sub_region for number in country_ids})


def names_of(country_ids: Iterable[int]) -> list[str]:
    """Names of some countries, sorted."""
    return sorted(countries()[number].name for number in country_ids)
