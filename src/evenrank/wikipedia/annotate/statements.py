"""Statements of Wikidata → the values that count: best rank, no unknown and no missing values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from evenrank.io.wikidata import entity_number

Statement = dict[str, Any]


class Point(NamedTuple):
    """A place on Earth in degrees."""

    latitude: float
    longitude: float


EARTH = "Q2"


def best_statements(statements: list[Statement]) -> list[Statement]:
    """The preferred ones if there are any, otherwise the normal ones; never the deprecated ones.

    As in Wikidata's own truthy statements: a preferred "no value" hides the normal values.
    """
    by_rank: dict[object, list[Statement]] = {"preferred": [], "normal": []}
    for statement in statements:
        by_rank.get(statement.get("rank", "normal"), []).append(statement)
    return by_rank["preferred"] or by_rank["normal"]


def _values(statements: list[Statement], type_: str) -> Iterator[dict[str, Any]]:
    for statement in best_statements(statements):
        snak = statement["mainsnak"]
        if snak["snaktype"] == "value" and snak["datavalue"]["type"] == type_:
            yield snak["datavalue"]["value"]


def item_values(statements: list[Statement]) -> list[int]:
    """Numbers of the items that a property names, without repetition, in the entity's order."""
    return list(dict.fromkeys(_item_number(value) for value in _values(statements, "wikibase-entityid")))


def _item_number(value: dict[str, Any]) -> int:
    """123 of an entity id Q123; ValueError for what can be none."""
    number = value.get("numeric-id")
    return entity_number(str(value["id"])[1:] if number is None else str(number))


def point_values(statements: list[Statement]) -> list[Point]:
    """Points on Earth that a property names; those on other globes are left out."""
    return [
        _point(value["latitude"], value["longitude"])
        for value in _values(statements, "globecoordinate")
        if str(value.get("globe", EARTH)).endswith(f"/{EARTH}") or "globe" not in value
    ]


def _point(latitude: object, longitude: object) -> Point:
    if type(latitude) not in (int, float) or type(longitude) not in (int, float):
        raise ValueError("coordinates that are no numbers")
    point = Point(float(latitude), float(longitude))  # type: ignore[arg-type]
    if not (abs(point.latitude) <= 90 and abs(point.longitude) <= 360):
        raise ValueError("coordinates that are not on Earth")
    return point


CENTURY_PRECISION = 7
"""Wikidata's precision code of a century; that of a year is 9."""
LONGEST_YEAR = 16
"""Digits of a year; Wikidata's longest is that of the Big Bang."""


def year_values(statements: list[Statement]) -> list[int]:
    """Years that a property names, negative before the common era; those vaguer than a century are left out."""
    times = (value for value in _values(statements, "time") if value.get("precision", 0) >= CENTURY_PRECISION)
    return [year for value in times if (year := _year(value["time"]))]


def _year(time: str) -> int:
    """-44 of `-0044-03-15T00:00:00Z`; ValueError for what is no time."""
    digits = time[1:].partition("-")[0]
    if time[:1] not in ("+", "-") or not digits.isascii() or not digits.isdigit() or len(digits) > LONGEST_YEAR:
        raise ValueError("a time that has no year")
    return int(time[0] + digits)
