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

from evenrank.errors import Fault, InputError, input_error, reason_of
from evenrank.io.compressed import open_compressed

MAX_SUBJECTS = 1_000_000
MAX_FAULTS = 50
MAX_LINE = 1 << 20
"""Characters of the longest line of a file of subjects."""
_ITEM = re.compile(r"(?:https?://www\.wikidata\.org/(?:entity|wiki)/)?(?P<item>Q[1-9]\d{0,11})")


@dataclass(frozen=True, slots=True)
class MissingSubject:
    """Something that could have an article."""

    item: str
    """Its item, e.g. `Q42`."""
    label: str
    description: str = ""
    n_wikis: int = 0
    """Wikis that have an article on it."""

    def to_json(self) -> bytes:
        """A line of a file of subjects."""
        record = {"item": self.item, "label": self.label, "description": self.description, "wikis": self.n_wikis}
        return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def read_missing_subjects(path: Path) -> tuple[MissingSubject, ...]:
    """The subjects in a CSV, TSV or JSON lines file with `item`, `label` and, if known, `description` and `wikis`.

    That is what `annotate --subjects`, the Wikidata query service and PetScan give; plain, gzip or bzip2. Every fault
    is reported with its line.
    """
    faults: list[Fault] = []
    found: dict[str, MissingSubject] = {}
    for line, record in _records(path):
        subject = _subject(record)
        if isinstance(subject, str):
            faults.append(Fault(str(path), line, subject))
        else:
            found[subject.item] = subject
        if len(found) > MAX_SUBJECTS:
            raise input_error(path, line, f"more than {MAX_SUBJECTS:,} subjects", "name fewer of them")
        if len(faults) >= MAX_FAULTS:
            break
    if faults:
        raise InputError(faults)
    return tuple(found.values())


def _records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Line and content of each record."""
    suffixes = [suffix for suffix in path.suffixes if suffix not in (".gz", ".bz2")]
    kind = suffixes[-1] if suffixes else ""
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


def _subject(record: Mapping[str, Any]) -> MissingSubject | str:
    """The subject of a record, or what is wrong with it."""
    item = _ITEM.fullmatch(str(record.get("item", "")).strip())
    label = " ".join(str(record.get("label", record.get("itemlabel")) or "").split())
    if item is None:
        return f"no item such as Q42 under 'item', but {str(record.get('item', 'nothing'))[:40]!r}"
    if not label:
        return "no label under 'label'"
    wikis = record.get("wikis", record.get("sitelinks")) or 0
    text = str(wikis).strip()
    is_number = text.isascii() and text.isdecimal() and len(text) < 10
    n_wikis = len(wikis) if isinstance(wikis, list) else int(text) if is_number else -1
    if n_wikis < 0:
        return f"'wikis' is neither a number nor a list: {str(wikis)[:40]!r}"
    return MissingSubject(item["item"], label, str(record.get("description") or ""), n_wikis)
