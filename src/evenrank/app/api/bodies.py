"""What bots post: objects whose fields are checked by name and type, all faults at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenrank.app.pages.errors import BadRequestError
from evenrank.app.request.budget import KEYWORDS_ALLOWED, MAX_SCOPE, MAX_TITLE, are_too_many
from evenrank.app.request.forms import clean_text

QUESTION = {
    "title": "text",
    "keywords": "list of texts",
    "scope": "text",
    "policy": "text",
    "fairness": "number",
    "sources": "list of sources",
    "dimensions": "list of texts",
    "goal": "text",
    "within": "list of texts",
    "least": "text",
    "best": "text",
    "min_size": "whole number",
    "max_size": "whole number",
    "min_views": "whole number",
    "max_views": "whole number",
    "importance": "list of texts",
    "length": "whole number",
    "attention": "text",
}
SEARCH = {name: kind for name, kind in QUESTION.items() if name not in ("policy", "length")}
SOURCE = {"kind": "text", "text": "text", "role": "text", "depth": "whole number", "name": "text"}
DRAW = {"editor": "text"}
MARK = {"page_id": "page id", "mark": "text", "editor": "text"}
MAX_EDITOR = 64
LONGEST = {"title": MAX_TITLE, "scope": MAX_SCOPE, "editor": MAX_EDITOR}
"""Characters of texts as they are sent, which is what the document promises; forms count them when cleaned."""


def check_body(record: Mapping[str, Any], fields: Mapping[str, str], required: tuple[str, ...] = ()) -> None:
    """Nothing when the object has the fields it should; else an error that lists all that is wrong."""
    wrong = [f"{name} is missing." for name in required if name not in record]
    wrong += [f"There is no field {name!r}." for name in sorted(set(record) - set(fields))]
    wrong += filter(None, (_fault(name, record[name], kind) for name, kind in fields.items() if name in record))
    if wrong:
        raise BadRequestError(" ".join(wrong))


def editor_of(record: Mapping[str, Any]) -> str:
    """The editor for whom a bot asks, kept apart from the names in cookies."""
    return f"api:{clean_text(record.get('editor', ''))}"


def _fault(name: str, value: Any, kind: str) -> str:
    """What is wrong with the value of a field; empty when nothing is."""
    if not _is(value, kind):
        return f"{name} must be a {kind}."
    if name in LONGEST and len(value) > LONGEST[name]:
        return f"{name} has {len(value):,} characters; {LONGEST[name]:,} are allowed."
    return KEYWORDS_ALLOWED if name == "keywords" and are_too_many(value) else ""


def _is_source(value: object) -> bool:
    """Whether a source has the fields it should, and no others."""
    return isinstance(value, dict) and all(name in SOURCE and _is(part, SOURCE[name]) for name, part in value.items())


def _is(value: object, kind: str) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "page id":
        return isinstance(value, str) or _is(value, "whole number")
    return {
        "text": isinstance(value, str),
        "list of texts": isinstance(value, list) and all(isinstance(part, str) for part in value),
        "list of sources": isinstance(value, list) and all(_is_source(part) for part in value),
        "number": is_number,
        "whole number": isinstance(value, int | float) and is_number and 0 <= value < 2**31 and value == int(value),
    }[kind]
