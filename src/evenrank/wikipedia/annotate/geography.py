"""Geography of a page: what its item says → countries of today, with the property that said it.

The track looked for countries among the values of some properties. Here a value that is not a country, such as a place
of birth, is followed to the countries that its own item states (P17), which finds more; the provenance distinguishes
the two, and a setting restores the track's rule. Take care when interpreting the absence of continents: it is hard to
say whether this data is missing at random (the paper's limitations section).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import CONTINENTS
from evenrank.io.wikidata import Point
from evenrank.wikipedia.annotate.facts import item_number, read_csv


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
    """The present countries that an item represents: itself or its successors; none when it is not a country."""
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


UNITS_PER_DEGREE = 1000


@dataclass(frozen=True)
class Borders:
    """Rings of all countries; a point is in a country if it is inside an odd number of its rings."""

    points: NDArray[np.float64]
    """Longitude and latitude of the corners of all rings; a ring's last point is its first.

    Longitudes of a ring do not jump at 180 degrees but run on, so that they may be less than -180 or more than 180.
    """
    starts: NDArray[np.int32]
    """Position of each ring's first point, and the end of the last ring."""
    countries: NDArray[np.int32]
    """Item number of each ring's country."""
    boxes: NDArray[np.float64]
    """West, south, east and north ends: one row each, one column per ring."""

    def countries_at(self, point: Point) -> list[int]:
        """The country at a point, by item number; none at sea."""
        n_inside: dict[int, int] = {}
        for x in (point.longitude - 360, point.longitude, point.longitude + 360):
            for ring in self._near(x, point.latitude):
                country = int(self.countries[ring])
                n_inside[country] = n_inside.get(country, 0) + self._is_inside(ring, x, point.latitude)
        return sorted(country for country, n in n_inside.items() if n % 2)

    def _near(self, x: float, y: float) -> list[int]:
        """Rings in whose box the point lies."""
        west, south, east, north = self.boxes
        return np.flatnonzero((west <= x) & (x <= east) & (south <= y) & (y <= north)).tolist()

    def _is_inside(self, ring: int, x: float, y: float) -> bool:
        """Whether a ray to the east crosses the ring an odd number of times."""
        corners = self.points[self.starts[ring] : self.starts[ring + 1]]
        (x1, y1), (x2, y2) = corners[:-1].T, corners[1:].T
        crosses = (y1 > y) != (y2 > y)
        at = x1[crosses] + (y - y1[crosses]) / (y2[crosses] - y1[crosses]) * (x2[crosses] - x1[crosses])
        return bool(np.count_nonzero(at > x) % 2)


@cache
def borders() -> Borders:
    """The borders that come with the package."""
    with files("evenrank.wikipedia.annotate.facts").joinpath("borders.npz").open("rb") as file, np.load(file) as table:
        points = np.cumsum(table["steps"], axis=0) / UNITS_PER_DEGREE
        starts, countries = table["starts"], table["countries"]
    low = np.minimum.reduceat(points, starts[:-1])
    high = np.maximum.reduceat(points, starts[:-1])
    return Borders(points, starts, countries, np.vstack([low.T, high.T]))


PROPERTIES = {
    "P27": "country of citizenship",
    "P17": "country",
    "P19": "place of birth",
    "P495": "country of origin",
    "P131": "located in the administrative territorial entity",
    "P1532": "country for sport",
    "P3842": "located in present-day administrative territorial entity",
    "P361": "part of",
    "P1269": "facet of",
    "P183": "endemic to",
}
"""Properties whose values may be countries or places."""
COORDINATES = "P625"
COUNTRY = "P17"
CITIZENSHIP = "P27"

Countries = tuple[int, ...]
PlaceCountries = Callable[[int], Countries]


def no_places(item: int) -> Countries:
    """For the track's own rule: nothing is known of places."""
    return ()


def locate(
    claims: Mapping[str, Iterable[int]], points: Iterable[Point] = (), place_countries: PlaceCountries = no_places
) -> dict[str, list[int]]:
    """Provenance → present countries (item numbers, sorted): `P27`, `P19>P17` by way of a place, `P625` by borders."""
    found: dict[str, set[int]] = {}
    for name in PROPERTIES:
        for value in claims.get(name, ()):
            if countries := present_countries(value):
                found.setdefault(name, set()).update(countries)
            elif beyond := _by_way_of(value, place_countries):
                found.setdefault(f"{name}>{COUNTRY}", set()).update(beyond)
    for point in points:
        if at := borders().countries_at(point):
            found.setdefault(COORDINATES, set()).update(at)
    return {source: sorted(countries) for source, countries in found.items()}


def _by_way_of(place: int, place_countries: PlaceCountries) -> set[int]:
    """Present countries that a place's item states."""
    return {country for stated in place_countries(place) for country in present_countries(stated)}
