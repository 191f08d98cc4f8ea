"""The kinds of field that a question has: how forms and JSON send them, how each is checked, stored and described."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

from evenrank.app.articles.collection_view import restricts_people
from evenrank.app.articles.source import (
    MAX_SOURCES,
    Source,
    source_fields,
    sources_from_fields,
    sources_from_records,
)
from evenrank.app.pages.i18n import Message
from evenrank.app.request.budget import MAX_GROUPS, MAX_KEYWORD, MAX_KEYWORDS, MAX_WORDS, groups_fault
from evenrank.app.request.choices import TABLE, choices_of
from evenrank.app.request.forms import NOT_TEXT, clean_text, split_keywords
from evenrank.core.exposure import check_attention
from evenrank.core.groups import Dimension
from evenrank.core.records import WORK_ORDER
from evenrank.errors import EvenrankError
from evenrank.ranking.groups import parse_restriction
from evenrank.wikipedia.mediawiki.titles import IMPORTANCES

MAX_LENGTH = 1000
"""Articles of the longest list."""
MAX_FAIRNESS = 1000.0
OWN_WEIGHTS = "table"
"""What the form calls an attention model with weights of one's own."""
OFFERED = "dimensions-offered"
"""What a form has that offers dimensions as boxes, so that ticking none differs from not being asked."""
NO_GROUPS = Message("Choose at least one of the groups that count.")
_HAS_TEXT = rf"[^\s{NOT_TEXT}]"
"""A character that is left when a text is cleaned."""
_FALLING = "".join(rf"(,0\.{digit})*" for digit in range(9, 0, -1))
"""Weights that do not rise, as far as a pattern can say it: with one decimal."""

Schema = dict[str, Any]
"""A JSON schema."""
Dimensions = Iterable[Dimension]


class Sent(NamedTuple):
    """What somebody sent, the dimensions that it may name, and what is wrong with it, by field."""

    fields: Mapping[str, Any]
    known: Mapping[str, Dimension]
    faults: dict[str, str]

    def text(self, name: str, default: str) -> str:
        """The text of a field; the default when it is missing or empty."""
        return str(self.fields.get(name, "") or default)

    def chosen(self, name: str, choices: Iterable[str]) -> tuple[str, ...]:
        """Those of the choices that a JSON list has, or boxes `NAME-CHOICE` of a form."""
        given = self.fields.get(name)
        wanted = (
            given if isinstance(given, list | tuple) else [key for key in choices if self.fields.get(f"{name}-{key}")]
        )
        return tuple(key for key in choices if key in wanted)


@dataclass(frozen=True)
class FieldKind:
    """A kind of field: what JSON has for it, and how it is read, described and sent back to a form."""

    json_kind: str
    """What JSON must have, in the words of errors."""
    parse: Callable[[str, Sent], Any]
    """The value of the field of a name; what is wrong with it is added to the faults."""
    schema: Schema | Callable[[Dimensions], Schema]
    """The JSON schema; one that names groups depends on the dimensions of the collection."""
    form_fields: Callable[[str, Any], dict[str, str]] = lambda name, value: {name: str(value or "")}
    """The value as fields of the form, which they fill again."""
    most: int = 0
    """Longest text, or largest number; 0 where there is no such limit."""

    def schema_for(self, known: Dimensions) -> Schema:
        """The JSON schema for a collection with some dimensions."""
        return self.schema(known) if callable(self.schema) else self.schema


def text_field(most: int, is_required: bool = False) -> FieldKind:
    """A short text."""
    required = {"minLength": 1, "pattern": _HAS_TEXT} if is_required else {}
    schema = {"type": "string", "maxLength": most, **required}
    return FieldKind("text", lambda name, sent: clean_text(sent.fields.get(name, "")), schema, most=most)


def whole_number_field(most: int, description: str = "") -> FieldKind:
    """A whole number; 0 when the field is empty."""
    described = {"description": description} if description else {}
    schema = {"type": "integer", "minimum": 0, "maximum": most, **described}
    return FieldKind("whole number", partial(_parse_whole, most=most), schema, most=most)


def _parse_whole(name: str, sent: Sent, most: int) -> int:
    given = sent.fields.get(name, "") or 0
    text = str(int(given) if isinstance(given, float) else given).strip()
    if text.isascii() and text.isdecimal() and len(text) < 12 and int(text) <= most:
        return int(text)
    sent.faults[name] = Message("Give a whole number from 0 to %(most)s.", most=most)
    return 0


def choice_field(kind: Literal["policy", "goal", "match"], fault: Message) -> FieldKind:
    """One of the choices that the forms explain."""

    def parse(name: str, sent: Sent) -> str:
        known = choices_of(kind)
        value = sent.text(name, next(iter(known)))
        if value not in known:
            sent.faults[name] = Message(fault.template, names=", ".join(known))
        return value

    return FieldKind("text", parse, lambda _: {"type": "string", "enum": list(choices_of(kind))})


def _parse_fairness(name: str, sent: Sent) -> float:
    value = sent.fields.get(name, 1.0)
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not 0.0 <= number <= MAX_FAIRNESS:
        text = "The strength of fairness must be a number from 0 to %(most)s."
        sent.faults[name] = Message(text, most=int(MAX_FAIRNESS))
    return number


def _parse_class(name: str, sent: Sent) -> str:
    """A quality class: the lowest or the best. A range that begins with good articles has no upper end."""
    best = WORK_ORDER[-1] if sent.text("least", "") in ("GA", "FA") else "B"
    value = sent.text(name, WORK_ORDER[0] if name == "least" else best)
    if value not in WORK_ORDER:
        sent.faults["best"] = Message("Choose classes from: %(names)s.", names=", ".join(WORK_ORDER))
    return value


def _parse_dimensions(name: str, sent: Sent) -> tuple[str, ...]:
    """Dimensions of the collection: a JSON list, or boxes `dimension-NAME` of a form."""
    if any(given not in sent.known for given in sent.fields.get(name, [])):
        sent.faults[name] = Message("Choose dimensions from: %(names)s.", names=", ".join(sent.known))
    chosen = sent.chosen(name, sent.known) or sent.chosen("dimension", sent.known)
    if not chosen and sent.fields.get(OFFERED):
        sent.faults[name] = NO_GROUPS
    if fault := groups_fault(sent.known[dimension] for dimension in chosen):
        sent.faults[name] = fault
    return chosen


def _parse_within(name: str, sent: Sent) -> tuple[str, ...]:
    """Groups that articles must be in: a JSON list of `dimension=group`, or fields `within-DIMENSION` of a form."""
    given, known = sent.fields.get(name), sent.known
    in_form = [f"{key}={sent.fields[f'{name}-{key}']}" for key in known if sent.fields.get(f"{name}-{key}")]
    chosen = given if isinstance(given, list | tuple) else in_form
    try:
        parse_restriction(chosen, known)
    except EvenrankError as error:
        sent.faults[name] = str(error)
    if any(restricts_people(str(text), known) for text in chosen):
        sent.faults[name] = Message("A list cannot be limited to a group of people, only to biographies.")
    return tuple(map(str, chosen))


def _within_schema(known: Dimensions) -> Schema:
    """No group of a dimension that describes people is among the values."""
    public = {dimension.name: () if dimension.is_personal else dimension.groups for dimension in known}
    return _list_of([f"{name}={group}" for name, groups in public.items() for group in (*groups, "known")])


def _parse_sources(name: str, sent: Sent) -> tuple[Source, ...]:
    if name in sent.fields:
        return sources_from_records(sent.fields[name], sent.faults)
    return sources_from_fields(sent.fields, sent.faults)


def _parse_attention(name: str, sent: Sent) -> str:
    """An attention model; in a form, weights of one's own are a field beside it."""
    usual = next(iter(choices_of("attention")))
    value = sent.text(name, usual).strip()
    weights = ",".join(str(sent.fields.get("weights", "")).replace(",", " ").replace(";", " ").split())
    try:
        chosen = TABLE + weights if value == OWN_WEIGHTS else value
        return check_attention(chosen, MAX_LENGTH, may_read=False, by_rank_alone=True)
    except EvenrankError as error:
        sent.faults[name] = str(error)
        if value == OWN_WEIGHTS:
            sent.faults[name] = Message(
                "Give a weight for each rank, with blanks or commas between them. The first must be above 0, and none "
                "may be larger than the one before it."
            )
        return usual


def _attention_fields(name: str, value: str) -> dict[str, str]:
    if value.startswith(TABLE):
        return {name: OWN_WEIGHTS, "weights": value.removeprefix(TABLE).replace(",", " ")}
    return {name: value}


def _list_of(values: Iterable[str]) -> Schema:
    return {"type": "array", "items": {"type": "string", "enum": list(values)}}


KEYWORDS = FieldKind(
    "list of texts",
    lambda name, sent: split_keywords(sent.fields.get(name, "")),
    {
        "type": "array",
        "items": {"type": "string", "maxLength": MAX_KEYWORD},
        "maxItems": MAX_KEYWORDS,
        "description": f"Title and keywords may have {MAX_WORDS} words together.",
    },
    lambda name, value: {name: ", ".join(value)},
)
FAIRNESS = FieldKind(
    "number",
    _parse_fairness,
    {"type": "number", "minimum": 0, "maximum": MAX_FAIRNESS},
    lambda name, value: {name: f"{value:g}"},
)
SOURCES = FieldKind(
    "list of sources",
    _parse_sources,
    {"type": "array", "items": {"$ref": "#/components/schemas/Source"}, "maxItems": MAX_SOURCES},
    lambda _, value: source_fields(value),
)
DIMENSION_NAMES = FieldKind(
    "list of texts",
    _parse_dimensions,
    lambda known: {
        **_list_of(dimension.name for dimension in known),
        "description": f"Their groups may have {MAX_GROUPS:,} combinations.",
    },
    lambda _, value: {f"dimension-{chosen}": "1" for chosen in value},
)
RESTRICTIONS = FieldKind(
    "list of texts",
    _parse_within,
    _within_schema,
    lambda name, value: {
        f"{name}-{dimension}": group for dimension, _, group in (text.partition("=") for text in value)
    },
)
AS_SUBJECT = FieldKind(
    "list of texts",
    lambda name, sent: sent.chosen(name, sent.known),
    lambda known: {
        **_list_of(dimension.name for dimension in known),
        "description": f"Their groups may have {MAX_GROUPS:,} combinations.",
    },
    lambda name, value: {f"{name}-{chosen}": "1" for chosen in value},
)
QUALITY_CLASS = FieldKind("text", _parse_class, {"type": "string", "enum": list(WORK_ORDER)})
IMPORTANCE = FieldKind(
    "list of texts",
    lambda name, sent: sent.chosen(name, IMPORTANCES),
    _list_of(IMPORTANCES),
    lambda name, value: {f"{name}-{chosen}": "1" for chosen in value},
)
ATTENTION = FieldKind(
    "text",
    _parse_attention,
    {
        "type": "string",
        "pattern": rf"^(log|dcg|reciprocal|uniform|rbp:0\.[0-9]{{0,5}}[1-9]|table:1{_FALLING})$",
        "description": "Weights of a table must not rise from rank to rank; more decimals are accepted, too.",
    },
    _attention_fields,
)
