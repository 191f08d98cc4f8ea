"""A source of articles as a form or a program describes it, checked on arrival."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from evenrank.app.pages.i18n import Message

Kind = Literal["titles", "file", "category", "banner", "links"]
Role = Literal["in", "and", "not"]
KINDS: dict[Kind, str] = {
    "titles": "Titles or page ids",
    "file": "A file",
    "category": "A category",
    "banner": "A project banner",
    "links": "The links of a wiki page",
}
"""Kinds of sources, in words."""
PASTED = "pasted titles"
ROLES: dict[Role, str] = {"in": "Start from", "and": "and also in", "not": "but not in"}
"""What a source does to the others, in words."""
WIKI_KINDS: frozenset[Kind] = frozenset({"category", "banner", "links"})
"""Kinds that are read from the wiki."""
N_ROWS = 4
"""Sources that the form has room for, besides those never to be shown."""
MAX_SOURCES = 10
MAX_DEPTH = 3
MAX_NAME = 255


@dataclass(frozen=True)
class Source:
    """One source: what it is, and whether articles must, may or must not be in it."""

    kind: Kind
    text: str
    """Titles and ids, the content of a file, or the name of a page of the wiki."""
    role: Role = "in"
    depth: int = 0
    """Of a category: levels of subcategories that count too."""
    name: str = ""
    """Of a file: its name."""

    @property
    def label(self) -> str:
        """The source in a few words."""
        return self.text if self.kind in WIKI_KINDS else self.name or PASTED


def sources_from_fields(fields: Mapping[str, str], faults: dict[str, str]) -> tuple[Source, ...]:
    """The sources of a form: rows `role-N`, `kind-N`, `text-N`, `depth-N`, `file-N`, and `never`."""
    found = []
    for row in range(1, N_ROWS + 1):
        text, name = fields.get(f"text-{row}", ""), ""
        kind = fields.get(f"kind-{row}", "titles")
        if fields.get(f"file-{row}", "").strip():
            text, name, kind = fields[f"file-{row}"], fields.get(f"file-{row}-file", "file")[:MAX_NAME], "file"
        if not text.strip():
            continue
        record = {"role": fields.get(f"role-{row}", "in"), "kind": kind, "text": text, "name": name}
        found.append({**record, "depth": fields.get(f"depth-{row}", "0")})
    if fields.get("never", "").strip():
        found.append({"role": "not", "kind": "titles", "text": fields["never"], "name": "never show"})
    return sources_from_records(found, faults)


def sources_from_records(records: object, faults: dict[str, str]) -> tuple[Source, ...]:
    """The sources of a JSON list; what is wrong with them goes to `faults`."""
    if not isinstance(records, Sequence) or isinstance(records, str) or len(records) > MAX_SOURCES:
        faults["sources"] = Message("Sources are a list of at most %(most)s.", most=MAX_SOURCES)
        return ()
    made = []
    for number, record in enumerate(records, 1):
        source, fault = _source(record)
        if source is None:
            faults["sources"] = Message("Source %(n)s: %(fault)s", n=number, fault=fault)
        else:
            made.append(source)
    if made and not any(source.role != "not" for source in made):
        return tuple(made)  # only "never show": the words find the articles
    return tuple(made)


def _source(record: object) -> tuple[Source | None, str]:
    """A source, or what is wrong with it."""
    if not isinstance(record, Mapping):
        return None, Message("must be an object.")
    kind, role, text = record.get("kind", "titles"), record.get("role", "in"), record.get("text", "")
    given = record.get("depth", 0) or 0
    depth = str(int(given) if isinstance(given, float) else given)
    if kind not in KINDS:
        return None, Message("kind must be one of: %(names)s.", names=", ".join(KINDS))
    if role not in ROLES:
        return None, Message("role must be one of: %(names)s.", names=", ".join(ROLES))
    if not isinstance(text, str) or not text.strip():
        return None, Message("is empty.")
    if kind in WIKI_KINDS and len(text.strip()) > MAX_NAME:
        return None, Message("the name of a page has at most %(most)s characters.", most=MAX_NAME)
    if not depth.isascii() or not depth.isdecimal() or int(depth) > MAX_DEPTH:
        return None, Message("depth must be a whole number from 0 to %(most)s.", most=MAX_DEPTH)
    clean = " ".join(text.split()) if kind in WIKI_KINDS else text.strip()
    return Source(kind, clean, role, int(depth), str(record.get("name", ""))[:MAX_NAME]), ""


def source_fields(sources: Sequence[Source]) -> dict[str, str]:
    """Sources as the fields of the form, to fill it again."""
    fields: dict[str, str] = {}
    rows = [source for source in sources if source.name != "never show"]
    for row, source in enumerate(rows[:N_ROWS], 1):
        kind = "titles" if source.kind == "file" else source.kind
        fields |= {f"role-{row}": source.role, f"kind-{row}": kind, f"text-{row}": source.text}
        fields[f"depth-{row}"] = str(source.depth)
    for source in sources:
        if source.name == "never show":
            fields["never"] = source.text
    return fields


def sources_as_data(sources: Sequence[Source]) -> list[dict[str, Any]]:
    """Sources as they are stored."""
    return [asdict(source) for source in sources]


def sources_from_data(records: Sequence[Mapping[str, Any]]) -> tuple[Source, ...]:
    """Stored sources."""
    return tuple(Source(**record) for record in records)
