"""Sources of articles as forms and programs describe them, and the titles and page ids in what people paste or send:
plain lines, CSV, TSV, PetScan and PagePile JSON."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

import orjson

from evenrank.app.pages.i18n import Message
from evenrank.trec.title_hashes import normal_title

MAX_ENTRIES = 20_000
"""Articles that all sources of a question name together, those that come twice counted twice."""
TOO_MANY = "it has %(n)s articles; %(most)s are allowed"
MAX_NESTED = 8
"""Objects around the list of pages; PetScan has three."""
TITLE_COLUMNS = ("title", "page_title", "article", "page", "name")
ID_COLUMNS = ("page_id", "pageid", "id", "page id")
NAMESPACE_COLUMNS = ("namespace", "ns")
_LINK = re.compile(r"\[\[:?([^\[\]|]+)(?:\|[^\[\]]*)?\]\]")
_BULLET = re.compile(r"^(?:[*#•·–-]\s*|\d+[.)]\s+)+")
_SMALL = re.compile(r"-?[0-9]{1,6}")
_TALK = re.compile(r"^talk:", re.IGNORECASE)


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
NEVER = "never show"
"""Name of the source that forms have for titles that are never to be shown."""


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
        found.append({"role": "not", "kind": "titles", "text": fields["never"], "name": NEVER})
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
    rows = [source for source in sources if source.name != NEVER]
    for row, source in enumerate(rows[:N_ROWS], 1):
        kind = "titles" if source.kind == "file" else source.kind
        fields |= {f"role-{row}": source.role, f"kind-{row}": kind, f"text-{row}": source.text}
        fields[f"depth-{row}"] = str(source.depth)
    for source in sources:
        if source.name == NEVER:
            fields["never"] = source.text
    return fields


class EntriesError(ValueError):
    """Text in which no list of articles can be recognised; says what was expected."""


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """One article as somebody wrote it."""

    given: str
    """The text that is shown when nothing matches."""
    title: str = ""
    page_id: int | None = None
    is_article: bool = True
    """False for a page of another namespace."""
    text_id: str = ""
    """What is in the place of an id, or all of a line: an id, in collections whose ids are text."""


def parse_entries(text: str, name: str = "") -> list[SourceEntry]:
    """The articles in a text, each once, in order; EntriesError when its form cannot be recognised."""
    start = text.lstrip("\ufeff \t\r\n")
    entries: Iterator[SourceEntry]
    if start.startswith(("{", "[")) and not start.startswith("[["):
        entries = _json_entries(start)
    elif (delimiter := _delimiter(start, name)) is not None:
        entries = _table_entries(start, delimiter)
    else:
        entries = _plain_entries(start.splitlines())
    found = list(islice(entries, MAX_ENTRIES + 1))  # those that come twice cost as much as the others
    if len(found) > MAX_ENTRIES:
        raise EntriesError(Message(TOO_MANY, n=f"{MAX_ENTRIES:,}+", most=MAX_ENTRIES))
    return list(dict.fromkeys(found))


def _plain_entries(lines: Iterable[str]) -> Iterator[SourceEntry]:
    """One article a line, as a title, a link or an id; a line with several links has several articles.

    A number is an id only if all lines are numbers, because a year is also a title.
    """
    cleaned = [line.strip() for line in lines if line.strip()]
    if cleaned and all(line.isascii() and line.isdecimal() and len(line) < 11 for line in cleaned):
        yield from (SourceEntry(line, page_id=int(line), text_id=line) for line in cleaned)
        return
    for line in cleaned:
        if links := _LINK.findall(line):
            yield from map(_title_entry, links)
        else:
            yield replace(_title_entry(_BULLET.sub("", line) or line), text_id=line)


def _title_entry(title: str, namespace: int = 0) -> SourceEntry:
    """An entry by title; a talk page stands for its article."""
    is_talk = namespace == 1 or (namespace == 0 and _TALK.match(title) is not None)
    return SourceEntry(
        title.strip(), normal_title(_TALK.sub("", title) if is_talk else title), None, namespace in (0, 1)
    )


def _delimiter(text: str, name: str) -> str | None:
    """The delimiter of a table with a header; None for plain lines. Titles have commas too, so a header decides."""
    head = text.partition("\n")[0].strip("\r").lower()
    for delimiter in ("\t", ",", ";"):
        columns = {column.strip().strip('"') for column in head.split(delimiter)}
        is_table = len(columns) > 1 or name.lower().endswith((".csv", ".tsv"))
        if is_table and columns & {*TITLE_COLUMNS[:3], *ID_COLUMNS}:
            return delimiter
    if name.lower().endswith(".tsv") or "\t" in head:
        return "\t"
    return None


def _table_entries(text: str, delimiter: str) -> Iterator[SourceEntry]:
    """Entries of a table: by its id column, else by its title column, else by its first column."""
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter, strict=False))
    except csv.Error as error:
        raise EntriesError(Message("the table cannot be read: %(reason)s", reason=error)) from error
    head = [cell.strip().lower() for cell in rows[0]] if rows else []
    id_at, title_at, namespace_at = (_column(head, names) for names in (ID_COLUMNS, TITLE_COLUMNS, NAMESPACE_COLUMNS))
    has_head = id_at is not None or title_at is not None
    if not has_head:
        title_at = 0
    for row in rows[1:] if has_head else rows:
        if any(cell.strip() for cell in row):
            yield _row_entry(row, id_at, title_at, namespace_at)


def _row_entry(row: list[str], id_at: int | None, title_at: int | None, namespace_at: int | None) -> SourceEntry:
    def cell(at: int | None) -> str:
        return row[at].strip() if at is not None and at < len(row) else ""

    title, number, namespace = cell(title_at), cell(id_at), cell(namespace_at)
    entry = _title_entry(title, _namespace(namespace))
    page_id = int(number) if number.isascii() and number.isdecimal() and len(number) < 11 else None
    is_talk = namespace == "1"
    return SourceEntry(title or number, entry.title, None if is_talk else page_id, entry.is_article, number)


def _namespace(value: object) -> int:
    """The number of a namespace; 0, that of articles, for anything else."""
    text = str(value) if isinstance(value, int | str) else ""
    return int(text) if _SMALL.fullmatch(text) else 0


def _page_id(value: object) -> int | None:
    """A page id; None for anything that no page has."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**10 else None


def _column(head: list[str], names: tuple[str, ...]) -> int | None:
    return next((head.index(name) for name in names if name in head), None)


def _json_entries(text: str) -> Iterator[SourceEntry]:
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise EntriesError(Message("it starts like JSON but is not: %(reason)s", reason=error)) from error
    pages = _pages_in(record)
    if pages is None:
        text = "this JSON has no list of pages (PetScan, PagePile, or a list of titles, ids or objects)"
        raise EntriesError(Message(text))
    for page in pages:
        yield _json_entry(page)


def _pages_in(record: Any) -> list[Any] | None:
    """The list of pages in JSON of PetScan (`*`), PagePile (`pages`) or a plain list."""
    for _ in range(MAX_NESTED):
        if isinstance(record, list) and len(record) == 1 and isinstance(record[0], dict) and {"a", "*"} & {*record[0]}:
            record = record[0]
        if isinstance(record, list):
            return record
        if not isinstance(record, Mapping):
            return None
        if "pages" in record:
            pages = record["pages"]
            return list(pages) if isinstance(pages, list | dict) else None
        record = record.get("*", record.get("a"))
    return None


def _json_entry(page: Any) -> SourceEntry:
    if isinstance(page, bool) or not isinstance(page, str | int | Mapping):
        raise EntriesError(Message("a page is neither a title, an id nor an object: %(page)s", page=str(page)[:50]))
    if isinstance(page, int):
        return SourceEntry(str(page), page_id=_page_id(page))
    if isinstance(page, str):
        return replace(_title_entry(page), text_id=page)
    title = next((str(page[name]) for name in TITLE_COLUMNS if page.get(name)), "")
    number = next((found for name in ID_COLUMNS if (found := _page_id(page.get(name))) is not None), None)
    namespace = next((_namespace(page[name]) for name in NAMESPACE_COLUMNS if name in page), 0)
    entry = _title_entry(title, namespace)
    given = title or ("" if number is None else str(number))
    text_id = next((page[name] for name in ID_COLUMNS if isinstance(page.get(name), str)), "")
    given = given or text_id or str(dict(page))[:50]
    return SourceEntry(given, entry.title, None if namespace == 1 else number, entry.is_article, text_id)
