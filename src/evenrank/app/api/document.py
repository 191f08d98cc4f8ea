"""The OpenAPI document, made from `openapi.toml` and the declared fields of a question, and the guide for people."""

from __future__ import annotations

import tomllib
from dataclasses import MISSING, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from evenrank.app.api.endpoints import MAX_EDITOR
from evenrank.app.articles.collection_view import address_name, shown_dimensions
from evenrank.app.articles.filters import MAX_TEXT, filter_choices
from evenrank.app.articles.source import KINDS, MAX_DEPTH, ROLES
from evenrank.app.exports.formats import FORMATS
from evenrank.app.pages.templating import page
from evenrank.app.request.question import QUESTION_FIELDS
from evenrank.app.searches.saved_search import MARKS
from evenrank.app.state import AppState, state_of
from evenrank.core.groups import Dimension
from evenrank.trec.dimensions import DIMENSIONS, GEOGRAPHY

Types = dict[str, dict[str, Any]]
"""JSON schemas of fields by the short names of `openapi.toml`."""
ERRORS = {
    "303": "This takes more than one request: ask the same address again, as clients that follow redirects do.",
    "400": "What was sent cannot be used; `detail` says why.",
    "403": "This link can only read, or the list would tell too much about people; `detail` says which.",
    "404": "There is no such list, search, draw or article, or no article has any of the words; `detail` says which.",
    "409": "Every article of the search is done, or not for this editor.",
    "413": "The body is too long.",
    "415": "The body is not application/json.",
    "429": "Too many requests from this address.",
    "503": "The server is busy, or its database or index is away: `detail` says which, and `Retry-After` when to try "
    "again. Nothing was stored.",
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
    types = _TYPES | ({"page": {"type": "string"}} if has_text_ids else {})
    schemas = {
        "ListQuestion": question_schema(known, is_search=False),
        "SearchQuestion": question_schema(known, is_search=True),
        **{name: _schema(fields, types) for name, fields in table["schema"].items()},
    }
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


def question_schema(known: tuple[Dimension, ...], is_search: bool) -> dict[str, Any]:
    """The schema of a question for a list, or for a saved search, from the declaration of its fields."""
    asked = [each for each in QUESTION_FIELDS.values() if each.is_in_search or not is_search]
    return {
        "type": "object",
        "properties": {each.name: each.kind.schema_for(known) for each in asked},
        "required": [each.name for each in asked if each.default is MISSING],
        "additionalProperties": False,
    }


_TYPES: Types = {
    "text": {"type": "string"},
    "editor": {"type": "string", "maxLength": MAX_EDITOR},
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "page": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
    "boolean": {"type": "boolean"},
    "object": {"type": "object"},
    "depth": {"type": "integer", "minimum": 0, "maximum": MAX_DEPTH},
    "kind": {"type": "string", "enum": list(KINDS)},
    "role": {"type": "string", "enum": list(ROLES)},
    "source text": {"type": "string", "minLength": 1, "pattern": r"\S"},
    "mark": {"type": "string", "enum": list(MARKS)},
}


def api_document(state: AppState) -> dict[str, Any]:
    """The document of this server's collection."""
    collection = state.collection
    return document(shown_dimensions(collection), collection.dimensions, collection.manifest.has_text_ids)


def show_document(request: Request) -> Response:
    return JSONResponse(api_document(state_of(request)))


def show_guide(request: Request) -> Response:
    state = state_of(request)
    return page(
        request,
        "api.html",
        document=api_document(state),
        operations=operations(),
        base=state.base_url(request),
        suffixes=list(FORMATS),
    )


def routes() -> list[BaseRoute]:
    return [Route("/api", show_guide), Route("/api/openapi.json", show_document)]
