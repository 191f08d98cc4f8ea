"""What bots post: objects whose fields are checked by name and type, all faults at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenrank.web.errors import BadRequestError
from evenrank.web.question import clean

QUESTION = {"title": "text", "keywords": "list of texts", "scope": "text", "policy": "text", "fairness": "number"}
SEARCH = {name: kind for name, kind in QUESTION.items() if name != "policy"}
DRAW = {"editor": "text"}
MARK = {"page_id": "whole number", "mark": "text", "editor": "text"}
MAX_EDITOR = 64


def check_body(record: Mapping[str, Any], fields: Mapping[str, str], required: tuple[str, ...] = ()) -> None:
    """Nothing when the object has the fields it should; else an error that lists all that is wrong."""
    wrong = [f"{name} is missing." for name in required if name not in record]
    wrong += [f"There is no field {name!r}." for name in sorted(set(record) - set(fields))]
    for name, value in record.items():
        if name in fields and not _is(value, fields[name]):
            wrong.append(f"{name} must be a {fields[name]}.")
    if wrong:
        raise BadRequestError(" ".join(wrong))


def editor_of(record: Mapping[str, Any]) -> str:
    """The editor for whom a bot asks, kept apart from the names in cookies."""
    name = clean(record.get("editor", ""))
    if len(name) > MAX_EDITOR:
        raise BadRequestError(f"editor has more than {MAX_EDITOR} characters.")
    return f"api:{name}"


def _is(value: object, kind: str) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return {
        "text": isinstance(value, str),
        "list of texts": isinstance(value, list) and all(isinstance(part, str) for part in value),
        "number": is_number,
        "whole number": isinstance(value, int | float) and is_number and 0 <= value < 2**31 and value == int(value),
    }[kind]
