"""Subjects that have an item and no article in a wiki, as files keep them: CSV, TSV or JSON lines."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import orjson

from evenrank.errors import input_error, reason_of
from evenrank.io.compressed import open_compressed
from evenrank.io.faults import FaultLog

MAX_SUBJECTS = 1_000_000
MAX_FAULTS = 50
MAX_LINE = 1 << 20
"""Characters of the longest line of a file of subjects."""
_ITEM = re.compile(r"(?:https?://www\.wikidata\.org/(?:entity|wiki)/)?(?P<item>Q[1-9]\d{0,11})")


KNOWN = frozenset({"item", "label", "itemlabel", "description", "wikis", "sitelinks"})
"""Fields that every subject may have; what else a JSON line holds is kept as it is."""
SIDECAR = ".subjects.jsonl.gz"
"""What the name of a metadata file's subjects adds to its own."""


def subjects_beside(metadata: Path) -> Path:
    """The file of subjects that belongs to a metadata file: `annotate` writes it, `collection import` takes it."""
    return metadata.with_name(f"{metadata.name}{SIDECAR}")


@dataclass(frozen=True, slots=True)
class MissingSubject:
    """Something that could have an article."""

    item: str
    """Its item, e.g. `Q42`."""
    label: str
    description: str = ""
    n_wikis: int = 0
    """Wikis that have an article on it."""
    more: bytes = b""
    """The other fields as JSON: `articles`, and those of page metadata; parsed when somebody asks, to save memory."""

    @property
    def articles(self) -> dict[str, str]:
        """Wiki, such as `dewiki`, → title of its article about the subject."""
        return dict(self.fields.get("articles", {}))

    @property
    def fields(self) -> dict[str, Any]:
        """The other fields. Those of people, such as gender, are for goals only."""
        found: dict[str, Any] = orjson.loads(self.more) if self.more else {}
        return found

    def to_json(self) -> bytes:
        """A line of a file of subjects."""
        record = {"item": self.item, "label": self.label, "description": self.description, "wikis": self.n_wikis}
        return orjson.dumps({**record, **self.fields}, option=orjson.OPT_APPEND_NEWLINE)


def read_missing_subjects(path: Path) -> tuple[MissingSubject, ...]:
    """The subjects in a CSV, TSV or JSON lines file with `item`, `label` and, if known, `description` and `wikis`.

    That is what `annotate`, the Wikidata query service and PetScan give; plain, gzip or bzip2. JSON lines may have
    `articles` (title by wiki) and fields of page metadata, by which goals hold for subjects, too. Every fault is
    reported with its line.
    """
    faults = FaultLog(MAX_FAULTS)
    found: dict[str, MissingSubject] = {}
    is_json = _kind(path) in (".jsonl", ".json")
    for line, record in _records(path):
        try:
            subject = _subject(record, is_json)
            found[subject.item] = subject
        except ValueError as error:
            faults.add(path, line, str(error))
        if len(found) > MAX_SUBJECTS:
            raise input_error(path, line, f"more than {MAX_SUBJECTS:,} subjects", "name fewer of them")
        if faults.n_faults >= MAX_FAULTS:
            break
    faults.raise_if_any()
    return tuple(found.values())


def _kind(path: Path) -> str:
    """The suffix that says how a file is written."""
    suffixes = [suffix for suffix in path.suffixes if suffix not in (".gz", ".bz2")]
    return suffixes[-1] if suffixes else ""


def _records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Line and content of each record."""
    kind = _kind(path)
    try:
        with open_compressed(path) as raw, io.TextIOWrapper(raw, "utf-8-sig", newline="") as file:
            if kind in (".jsonl", ".json"):
                for line, text in enumerate(_lines(path, file), 1):
                    if text.strip():
                        record = orjson.loads(text)
                        yield line, record if isinstance(record, dict) else {}
            else:
                reader = csv.DictReader(_lines(path, file), delimiter="\t" if kind == ".tsv" else ",")
                for row in reader:
                    yield reader.line_num, {str(name).strip().lower(): value for name, value in row.items()}
    except (OSError, UnicodeDecodeError, csv.Error, orjson.JSONDecodeError) as error:
        raise input_error(
            path, 0, f"cannot be read: {reason_of(error)}", "give CSV, TSV or JSON lines in UTF-8"
        ) from error


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    """The lines of a file, as long as they are not longer than any subject."""
    for text in iter(lambda: file.readline(MAX_LINE), ""):
        if len(text) == MAX_LINE:
            raise input_error(path, 0, f"a line of {MAX_LINE:,} characters and more", "give one subject a line")
        yield text


def _subject(record: Mapping[str, Any], is_json: bool) -> MissingSubject:
    """The subject of a record; ValueError says what is wrong with it."""
    item = _ITEM.fullmatch(str(record.get("item", "")).strip())
    label = " ".join(str(record.get("label", record.get("itemlabel")) or "").split())
    if item is None:
        raise ValueError(f"no item such as Q42 under 'item', but {str(record.get('item', 'nothing'))[:40]!r}")
    if not label:
        raise ValueError("no label under 'label'")
    wikis = record.get("wikis", record.get("sitelinks")) or 0
    text = str(wikis).strip()
    is_number = text.isascii() and text.isdecimal() and len(text) < 10
    n_wikis = len(wikis) if isinstance(wikis, list) else int(text) if is_number else -1
    if n_wikis < 0:
        raise ValueError(f"'wikis' is neither a number nor a list: {str(wikis)[:40]!r}")
    articles = record.get("articles", {})
    if not isinstance(articles, dict) or not all(isinstance(title, str) for title in articles.values()):
        raise ValueError(f"'articles' is no object of titles by wiki: {str(articles)[:40]!r}")
    more = {name: value for name, value in record.items() if name not in KNOWN}
    # a copy: what `dumps` returns keeps its buffer of 4 kB
    written = bytes(memoryview(orjson.dumps(more))) if more and is_json else b""
    return MissingSubject(item["item"], label, str(record.get("description") or ""), n_wikis, written)
