"""Items → countries → continents, with provenance."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from evenrank.core.records import CONTINENTS
from evenrank.io.wikidata import Point
from evenrank.trec.dimensions import SUB_REGION
from evenrank.wikipedia.annotate.facts import item_number, read_csv
from evenrank.wikipedia.annotate.geography import (
    borders,
    continents_of,
    countries,
    locate,
    names_of,
    present_countries,
    sub_regions_of,
)

FRANCE, RUSSIA, USSR, CHILE = 142, 159, 15180, 298
TOWN, STREET = 2001, 2002
PLACES = {TOWN: (CHILE,), STREET: (USSR,)}
SOURCE = Path(__file__).parents[4] / "shared" / "data" / "countries.tsv"


def test_continents_are_the_tracks():
    assert {country.continent for country in countries().values()} == set(CONTINENTS)


def test_sub_regions_are_known_to_the_dimension():
    for region in {country.sub_region for country in countries().values()}:
        assert SUB_REGION.encode([region]) > 1


def test_former_countries_lead_to_present_ones():
    for row in read_csv("former_countries.csv"):
        present = present_countries(item_number(row["wikidata_id"]))
        assert present
        assert all(number in countries() for number in present)
        assert item_number(row["wikidata_id"]) not in countries()
        assert len(continents_of(present)) == 1
    assert present_countries(USSR) == (RUSSIA,)
    assert present_countries(999_999_999) == ()


@pytest.mark.skipif(not SOURCE.exists(), reason="the source table of the countries is not on this machine")
def test_the_table_of_countries_is_the_published_one():
    published = list(csv.DictReader(SOURCE.read_text("utf-8").splitlines(), delimiter="\t"))
    assert {item_number(row["wikidata_id"]): row["un_continent"] for row in published} == {
        number: country.continent for number, country in countries().items()
    }


def test_countries_places_and_coordinates_with_provenance():
    claims = {"P27": [FRANCE, USSR], "P19": [TOWN], "P131": [STREET], "P361": [999_999]}
    found = locate(claims, [Point(-1.29, 36.82)], lambda place: PLACES.get(place, ()))
    assert found == {"P27": [FRANCE, RUSSIA], "P19>P17": [CHILE], "P131>P17": [RUSSIA], "P625": [114]}
    ids = {number for each in found.values() for number in each}
    assert continents_of(ids) == ["Africa", "Europe", "Latin America and the Caribbean"]
    assert sub_regions_of(ids) == ["Eastern Africa", "Eastern Europe", "South America", "Western Europe"]
    assert names_of(ids) == ["Chile", "France", "Kenya", "Russia"]


def test_without_places_only_countries_count():
    assert locate({"P27": [FRANCE], "P19": [TOWN]}) == {"P27": [FRANCE]}


def test_nothing_stated_is_nowhere():
    assert locate({}) == {}
    assert continents_of([]) == []


@pytest.mark.parametrize(
    ("latitude", "longitude", "name"),
    [
        (48.85, 2.35, "France"),
        (4.9, -52.3, "French Guiana"),
        (-29.5, 28.2, "Lesotho"),
        (-28.0, 25.0, "South Africa"),
        (35.68, 139.7, "Japan"),
        (-78.0, 106.0, "Antarctica"),
        (-89.0, 0.0, "Antarctica"),
        (66.0, -172.0, "Russia"),
        (66.0, 170.0, "Russia"),
        (-17.8, 178.0, "Fiji"),
        (-16.8, -179.95, "Fiji"),
        (42.66, 21.16, "Kosovo"),
        (61.2, -149.9, "United States"),
        (-21.1, 55.5, "Réunion"),
    ],
)
def test_points_in_countries(latitude, longitude, name):
    assert names_of(borders().countries_at(Point(latitude, longitude))) == [name]


@pytest.mark.parametrize(("latitude", "longitude"), [(30.0, -40.0), (0.0, -140.0), (89.0, 0.0)])
def test_points_at_sea(latitude, longitude):
    assert borders().countries_at(Point(latitude, longitude)) == []


def test_most_countries_have_borders():
    drawn = set(borders().countries.tolist())
    missing = {country.name for number, country in countries().items() if number not in drawn}
    assert len(missing) < 10
    assert "Gibraltar" in missing
