"""Entities in the exact format of the Wikidata JSON dump, written for tests and benchmarks."""

from __future__ import annotations

import json
from typing import Any

ENGLISH = "enwiki"


def snak(name: str, value: Any, kind: str = "value") -> dict[str, Any]:
    """A snak: int → item, (latitude, longitude) → coordinates, "+1879-…" → time, other text → string."""
    if kind != "value":
        return {"snaktype": kind, "property": name, "hash": "e8fc", "datatype": "wikibase-item"}
    datavalue, datatype = _datavalue(value)
    return {"snaktype": kind, "property": name, "hash": "e8fc", "datavalue": datavalue, "datatype": datatype}


def _datavalue(value: Any) -> tuple[dict[str, Any], str]:
    if isinstance(value, int):
        entity = {"entity-type": "item", "numeric-id": value, "id": f"Q{value}"}
        return {"value": entity, "type": "wikibase-entityid"}, "wikibase-item"
    if isinstance(value, tuple):
        latitude, longitude, *globe = value
        point = {"latitude": latitude, "longitude": longitude, "altitude": None, "precision": 0.0001}
        point["globe"] = f"http://www.wikidata.org/entity/{globe[0] if globe else 'Q2'}"
        return {"value": point, "type": "globecoordinate"}, "globe-coordinate"
    if value[0] in "+-":
        calendar = "http://www.wikidata.org/entity/Q1985727"
        time, _, precision = value.partition("/")
        details = {"timezone": 0, "before": 0, "after": 0, "precision": int(precision or 11), "calendarmodel": calendar}
        return {"value": {"time": time, **details}, "type": "time"}, "time"
    return {"value": value, "type": "string"}, "external-id"


def statement(
    name: str,
    value: Any = None,
    rank: str = "normal",
    kind: str = "value",
    qualifiers: dict[str, Any] | None = None,
    references: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A statement; qualifiers and references use the same keys of properties as statements do."""
    content = {"mainsnak": snak(name, value, kind), "type": "statement"}
    if qualifiers:
        content["qualifiers"] = {key: [snak(key, each)] for key, each in qualifiers.items()}
        content["qualifiers-order"] = list(qualifiers)
    content |= {"id": "q42$F078E5B3-F9A8-480E-B7AC-D97778CBBEF9", "rank": rank}
    if references:
        snaks = {key: [snak(key, each)] for key, each in references.items()}
        content["references"] = [{"hash": "0f40", "snaks": snaks, "snaks-order": list(references)}]
    return content


def entity(
    number: int,
    *statements: dict[str, Any],
    title: str | None = None,
    others: tuple[str, ...] = (),
    badges: tuple[str, ...] = (),
    label: str = "a label",
    titles: dict[str, str] | None = None,
) -> dict[str, Any]:
    """An item with its statements; `title` is its page in English Wikipedia, `others` further wikis with that title,
    `titles` further wikis with titles of their own."""
    claims: dict[str, list[dict[str, Any]]] = {}
    for each in statements:
        claims.setdefault(each["mainsnak"]["property"], []).append(each)
    sites = {ENGLISH: title} if title is not None else {}
    sites |= dict.fromkeys(others, title or label) | (titles or {})
    links = {site: {"site": site, "title": name, "badges": list(badges)} for site, name in sorted(sites.items())}
    return {
        "type": "item",
        "id": f"Q{number}",
        "labels": {"en": {"language": "en", "value": label}},
        "descriptions": {"en": {"language": "en", "value": 'says "claims":{"P27":[{"mainsnak": and "sitelinks":{'}},
        "aliases": {},
        "claims": claims or [],  # the dump writes an empty map as a list
        "sitelinks": links or [],
        "lastrevid": 1234567,
    }


def dump_line(content: dict[str, Any]) -> bytes:
    """An entity as the dump writes it: no spaces, characters beyond ASCII escaped."""
    return json.dumps(content, separators=(",", ":")).encode()


def dump_bytes(entities: list[dict[str, Any]]) -> bytes:
    """A whole dump."""
    return b"[\n" + b",\n".join(map(dump_line, entities)) + b"\n]\n"
