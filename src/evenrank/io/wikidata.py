"""Entities of the Wikidata JSON dump: one a line, read only as far as they are needed.

The dump is one JSON array with an entity on each line. Most of a line is labels, references and statements that
nobody here asks for, so a line is searched as bytes and only the wanted statements and sitelinks are parsed. Quotes
inside JSON strings are escaped, so that what is searched for cannot occur in a text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

Statements = dict[str, list[dict[str, Any]]]

_START = b'{"type":"item","id":"Q'
_CLAIMS = b'"claims":{'
_NO_CLAIMS = b'"claims":[]'
_SITELINKS = b'"sitelinks":'
_NO_SITELINKS = (b'"sitelinks":{}', b'"sitelinks":[]')
_STATEMENTS = b'":[{"mainsnak":'
_N_STATEMENTS = len(_STATEMENTS)
_LONGEST_NAME = 12
"""Bytes that hold the name of a property and the quote before it."""
_LONGEST_NUMBER = 15
"""Digits of an item's number: they fit into every store, and Wikidata is at nine."""
_BRACE = ord("}")
_TRAILING = b"\r\t ,"


class BrokenEntityError(ValueError):
    """A line that is no entity."""


class Wanted(NamedTuple):
    """What to read of an entity."""

    sites: tuple[str, ...]
    """Wikis whose pages matter, e.g. `enwiki`."""
    of_pages: frozenset[bytes]
    """Properties wanted of items with a page in one of those wikis."""
    of_all: frozenset[bytes]
    """Properties wanted of every item."""


class Entity(NamedTuple):
    """The wanted part of an item."""

    id: int
    """123 for Q123."""
    statements: Statements
    """Wanted statements by property, all ranks."""
    sitelinks: dict[str, dict[str, Any]]
    """All sitelinks by wiki if the item has a page in a wanted one, otherwise none."""


def entity_places(block: bytes) -> Iterator[tuple[int, int, int]]:
    """(number of the line from 1, start, end) of each line that should hold an entity, without its comma.

    Places and not lines, because copying the lines would take as long as reading them.
    """
    number, start, size = 0, 0, len(block)
    while start < size:
        end = block.find(b"\n", start)
        end = size if end < 0 else end
        number += 1
        stop = end
        while stop > start and block[stop - 1] in _TRAILING:
            stop -= 1
        if stop - start > 1:
            yield number, start, stop
        start = end + 1


def read_entity(data: bytes, wanted: Wanted, start: int = 0, end: int | None = None) -> Entity | None:
    """The wanted part of the entity between `start` and `end` of `data`, None when it is no item.

    BrokenEntityError when it is neither. Judged by the parts that are read: damage elsewhere is not noticed.
    """
    end = len(data) if end is None else end
    if not data.startswith(_START, start, end):
        return read_whole_entity(data[start:end], wanted)
    if data[end - 1] != _BRACE:
        raise BrokenEntityError("the line is cut off")
    links = data.rfind(_SITELINKS, start, end)
    claims = data.find(_CLAIMS, start, max(links, start))
    if claims < 0 and data.find(_NO_CLAIMS, start, end) < 0:
        return read_whole_entity(data[start:end], wanted)
    try:
        sitelinks = _sitelinks(data, links, end, wanted.sites)
        properties = wanted.of_pages if sitelinks else wanted.of_all
        statements = _statements(data, claims, links, properties) if claims >= 0 else {}
        number = start + len(_START)
        return Entity(entity_number(data[number : data.index(b'"', number, end)].decode()), statements, sitelinks)
    except ValueError:
        return read_whole_entity(data[start:end], wanted)


def read_whole_entity(line: bytes, wanted: Wanted) -> Entity | None:
    """The same as `read_entity`, by parsing all of the line: for lines in an unusual order or spacing."""
    try:
        entity = orjson.loads(line)
        if entity["type"] != "item":
            return None
        sitelinks = entity.get("sitelinks") or {}
        sitelinks = sitelinks if any(site in sitelinks for site in wanted.sites) else {}
        properties = wanted.of_pages if sitelinks else wanted.of_all
        claims = entity.get("claims") or {}
        statements = {name: claims[name] for name in claims if name.encode() in properties}
        if not isinstance(sitelinks, dict) or not all(isinstance(found, list) for found in statements.values()):
            raise TypeError("sitelinks or statements of another type")
        return Entity(entity_number(entity["id"][1:]), statements, sitelinks)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise BrokenEntityError(f"no entity: {error}") from None


def entity_number(digits: str) -> int:
    """123 of the digits behind the Q of Q123; ValueError for what can be no item."""
    if not digits.isascii() or not digits.isdigit() or len(digits) > _LONGEST_NUMBER:
        raise ValueError(f"{digits[:30]!r} is no number of an item")
    return int(digits)


def _sitelinks(data: bytes, start: int, end: int, sites: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """The sitelinks that begin at `start`, if one is to a page of `sites`."""
    if start < 0 or data.startswith(_NO_SITELINKS, start):
        return {}
    if len(sites) == 1 and data.find(b'"' + sites[0].encode() + b'":{', start, end) < 0:
        return {}
    links = orjson.loads(b"{" + data[start:end])["sitelinks"]
    return links if any(site in links for site in sites) else {}


def _statements(data: bytes, start: int, end: int, properties: frozenset[bytes]) -> Statements:
    """The statements of the wanted properties, in the claims between `start` and `end`.

    A property's list reaches from its `"P1":[{"mainsnak":` to the key of the next property; the keys of
    qualifiers and references look different, since their lists hold snaks and not statements.
    """
    found: Statements = {}
    find, rfind = data.find, data.rfind
    at = find(_STATEMENTS, start, end)
    while at >= 0:
        following = find(_STATEMENTS, at + _N_STATEMENTS, end)
        name = data[rfind(b'"', at - _LONGEST_NAME, at) + 1 : at]
        if name in properties:
            stop = rfind(b',"', at, following) if following >= 0 else data.rindex(b"]}", at, end) + 1
            found[name.decode()] = orjson.loads(data[at + 2 : stop])
        at = following
    return found


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
