"""The OpenAPI document, read from `openapi.toml`, where short names stand for what repeats."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from evenrank.app.api.bodies import MAX_EDITOR
from evenrank.app.articles.groups import address_name
from evenrank.app.lists.filters import MAX_TEXT, filter_choices
from evenrank.app.request.budget import MAX_KEYWORD, MAX_KEYWORDS, MAX_SCOPE, MAX_TITLE, MAX_WORDS
from evenrank.app.request.choices import goal_choices, policy_choices
from evenrank.app.request.field_values import MAX_FAIRNESS
from evenrank.app.request.forms import NOT_TEXT
from evenrank.app.request.question import IMPORTANCES, MAX_LENGTH, MAX_SIZE, MAX_VIEWS
from evenrank.app.searches.marks import MARKS
from evenrank.app.sources.source import KINDS, MAX_DEPTH, MAX_SOURCES, ROLES
from evenrank.core.groups import Dimension
from evenrank.core.records import WORK_ORDER
from evenrank.trec.dimensions import DIMENSIONS, GEOGRAPHY

Types = dict[str, dict[str, Any]]
"""JSON schemas of fields by the short names of `openapi.toml`."""
ERRORS = {
    "400": "What was sent cannot be used; `detail` says why.",
    "403": "This link can only read.",
    "404": "There is no such list, search, draw or article, or no article has any of the words; `detail` says which.",
    "409": "Every article of the search is done, or not for this editor.",
    "413": "The body is too long.",
    "415": "The body is not application/json.",
    "429": "Too many requests from this address.",
    "503": "The server is busy and stored nothing; `Retry-After` says when to try again.",
}


@dataclass(frozen=True)
class Operation:
    """One operation, for the guide."""

    method: str
    path: str
    summary: str
    example: str


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files("evenrank.app.api").joinpath("openapi.toml").read_text("utf-8"))


def operations() -> list[Operation]:
    """The operations in the order of the document."""
    return [Operation(o["method"], o["path"], o["summary"], o.get("example", "")) for o in _table()["operation"]]


@cache
def document(
    shown: tuple[Dimension, ...] = (GEOGRAPHY,),
    known: tuple[Dimension, ...] = tuple(DIMENSIONS.values()),
    has_text_ids: bool = False,
) -> dict[str, Any]:
    """The complete document as plain data, for a collection that shows some of its dimensions beside articles."""
    table = _table()
    paths: dict[str, dict[str, Any]] = {}
    for entry in table["operation"]:
        paths.setdefault(entry["path"], {})[entry["method"]] = _operation(entry, shown)
    types = _types(known) | ({"page": {"type": "string"}} if has_text_ids else {})
    schemas = {name: _schema(fields, types) for name, fields in table["schema"].items()}
    return {"openapi": "3.1.0", "info": table["info"], "paths": paths, "components": {"schemas": schemas}}


def _operation(entry: dict[str, Any], dimensions: tuple[Dimension, ...]) -> dict[str, Any]:
    is_post = entry["method"] == "post"
    status = "201" if entry.get("creates") else "200"
    codes = ["404", "429", "503", *(["400", "413", "415"] if is_post else []), *entry.get("refuses", [])]
    made: dict[str, Any] = {
        "operationId": entry["id"],
        "summary": entry["summary"],
        "parameters": [_parameter(name, dimensions) for name in _named(entry, dimensions)],
        "responses": {
            status: {"description": entry["summary"], "content": _json(entry["answer"])},
            **{code: {"description": ERRORS[code]} for code in sorted(codes)},
        },
    }
    if is_post:
        made["requestBody"] = {"required": True, "content": _json(entry["body"])}
    return made


def _json(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}


def _named(entry: dict[str, Any], dimensions: tuple[Dimension, ...]) -> list[str]:
    """Names of an operation's parameters, with one for each dimension where it says `groups`."""
    of_groups = [address_name(dimension) for dimension in dimensions]
    parts = [of_groups if name == "groups" else [name] for name in entry.get("parameters", [])]
    return [name for part in parts for name in part]


def _parameter(name: str, dimensions: tuple[Dimension, ...]) -> dict[str, Any]:
    choices = filter_choices(dimensions)
    in_path = {
        "token": {"type": "string", "pattern": "^[A-Za-z0-9_-]{22}$"},
        "number": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1},
    }
    in_query = {
        **{name: {"type": "string", "enum": list(values)} for name, values in choices.items()},
        "q": {"type": "string", "maxLength": MAX_TEXT},
    }
    if name in in_path:
        return {"name": name, "in": "path", "required": True, "schema": in_path[name]}
    return {"name": name, "in": "query", "required": False, "schema": in_query[name]}


def _schema(fields: dict[str, Any], types: Types) -> dict[str, Any]:
    """An object schema from lines `name = type`; an exclamation mark makes a field required."""
    required = [name for name, kind in fields.items() if isinstance(kind, str) and kind.endswith("!")]
    properties = {name: _type(kind.removesuffix("!"), types) for name, kind in fields.items() if isinstance(kind, str)}
    made: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        made["required"] = required
    if fields.get("closed"):
        made["additionalProperties"] = False
    return made


def _type(kind: str, types: Types) -> dict[str, Any]:
    if kind.startswith("list of "):
        return {"type": "array", "items": _type(kind.removeprefix("list of "), types)}
    if kind.endswith(" or null"):
        return {"anyOf": [_type(kind.removesuffix(" or null"), types), {"type": "null"}]}
    return types.get(kind) or {"$ref": f"#/components/schemas/{kind}"}


def _types(known: tuple[Dimension, ...]) -> Types:
    """The types of fields by name, with the dimensions that questions may name."""
    within = [f"{dimension.name}={group}" for dimension in known for group in (*_allowed(dimension), "known")]
    return {
        **_TYPES,
        "within": {"type": "array", "items": {"type": "string", "enum": within}},
        "dimensions": {"type": "array", "items": {"type": "string", "enum": [each.name for each in known]}},
    }


def _allowed(dimension: Dimension) -> tuple[str, ...]:
    """The groups that a list may be limited to; none of a dimension that describes people."""
    return () if dimension.is_personal else dimension.groups


_FALLING = "".join(rf"(,0\.{digit})*" for digit in range(9, 0, -1))
"""Weights that do not rise, as far as a pattern can say it: with one decimal."""
_HAS_TEXT = rf"[^\s{NOT_TEXT}]"
"""A character that is left when a text is cleaned."""
_TYPES: Types = {
    "text": {"type": "string"},
    "title": {"type": "string", "minLength": 1, "maxLength": MAX_TITLE, "pattern": _HAS_TEXT},
    "keywords": {
        "type": "array",
        "items": {"type": "string", "maxLength": MAX_KEYWORD},
        "maxItems": MAX_KEYWORDS,
        "description": f"Title and keywords may have {MAX_WORDS} words together.",
    },
    "scope": {"type": "string", "maxLength": MAX_SCOPE},
    "editor": {"type": "string", "maxLength": MAX_EDITOR},
    "number": {"type": "number"},
    "fairness": {"type": "number", "minimum": 0, "maximum": MAX_FAIRNESS},
    "integer": {"type": "integer"},
    "page": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
    "boolean": {"type": "boolean"},
    "object": {"type": "object"},
    "policy": {"type": "string", "enum": list(policy_choices())},
    "goal": {"type": "string", "enum": list(goal_choices())},
    "class": {"type": "string", "enum": list(WORK_ORDER)},
    "views": {"type": "integer", "minimum": 0, "maximum": MAX_VIEWS},
    "size": {"type": "integer", "minimum": 0, "maximum": MAX_SIZE},
    "length": {"type": "integer", "minimum": 0, "maximum": MAX_LENGTH},
    "attention": {
        "type": "string",
        "pattern": rf"^(log|dcg|reciprocal|uniform|rbp:0\.[0-9]{{0,5}}[1-9]|table:1{_FALLING})$",
        "description": "Weights of a table must not rise from rank to rank; more decimals are accepted, too.",
    },
    "depth": {"type": "integer", "minimum": 0, "maximum": MAX_DEPTH},
    "kind": {"type": "string", "enum": list(KINDS)},
    "role": {"type": "string", "enum": list(ROLES)},
    "importance": {"type": "array", "items": {"type": "string", "enum": list(IMPORTANCES)}},
    "sources": {"type": "array", "items": {"$ref": "#/components/schemas/Source"}, "maxItems": MAX_SOURCES},
    "source text": {"type": "string", "minLength": 1, "pattern": r"\S"},
    "mark": {"type": "string", "enum": list(MARKS)},
}
