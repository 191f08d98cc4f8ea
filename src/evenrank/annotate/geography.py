"""Geography of a page: what its item says → countries of today, with the property that said it.

The track looked for countries among the values of some properties. Here a value that is no country, such as a place of
birth, is followed to the countries that its own item states (P17), which finds more; the provenance tells the two
apart, and a setting goes back to countries only. Care should be taken when interpreting the absence of continents:
it is not easy to say whether this data is missing at random (the paper's limitations section).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from evenrank.annotate.borders import borders
from evenrank.annotate.countries import present_countries
from evenrank.annotate.statements import Point

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
