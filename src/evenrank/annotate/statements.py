"""Statements of Wikidata → the values that count: best rank, no unknown and no missing values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

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
    ids = (value.get("numeric-id") or int(value["id"][1:]) for value in _values(statements, "wikibase-entityid"))
    return list(dict.fromkeys(ids))


def point_values(statements: list[Statement]) -> list[Point]:
    """Points on Earth that a property names; those on other globes are left out."""
    return [
        Point(float(value["latitude"]), float(value["longitude"]))
        for value in _values(statements, "globecoordinate")
        if str(value.get("globe", EARTH)).endswith(f"/{EARTH}") or "globe" not in value
    ]


CENTURY_PRECISION = 7
"""Wikidata's precision code of a century; that of a year is 9."""


def year_values(statements: list[Statement]) -> list[int]:
    """Years that a property names, negative before the common era; those vaguer than a century are left out."""
    times = (value for value in _values(statements, "time") if value.get("precision", 0) >= CENTURY_PRECISION)
    return [year for value in times if (year := _year(value["time"]))]


def _year(time: str) -> int:
    """-44 of `-0044-03-15T00:00:00Z`."""
    return int(time[0] + time[1:].partition("-")[0])
