"""The stored rows → lines of metadata, a range of pages at a time, on all cores."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson

from evenrank.annotate import occupation
from evenrank.annotate.coverage import Key, count_page
from evenrank.annotate.item import ItemFacts
from evenrank.annotate.members import gzip_member
from evenrank.annotate.quality import QualityModel, class_name, quality_classes, quality_scores
from evenrank.annotate.quality_features import QualityCounts
from evenrank.annotate.record import Lookups, Page, Scope, metadata_record
from evenrank.sqlite import read_only

PAGES_PER_MEMBER = 5000
"""Pages in one gzip member: the unit of parallel work, fixed so that the file does not depend on the workers."""

PAGES_SQL = """
SELECT page_id, pages.title, item, facts, date,
    n_bytes, n_media, n_headings, n_references, n_short_footnotes, n_links, n_categories
FROM pages LEFT JOIN item_of_page USING (page_id) LEFT JOIN items USING (item) LEFT JOIN creation_dates USING (page_id)
WHERE page_id BETWEEN ? AND ? ORDER BY page_id
"""
N_KEYS = 5
"""Columns before the counts."""
COUNTRIES_SQL = "SELECT country FROM place_countries WHERE place = ?"
SUPERCLASSES_SQL = "SELECT superclass FROM superclasses WHERE item = ?"


class PageRange(NamedTuple):
    """Pages with an id from first to last."""

    first: int
    last: int


class Written(NamedTuple):
    """The lines of a range of pages."""

    member: bytes
    """As a gzip member."""
    n_pages: int
    coverage: Counter[Key]
    gender_values: Counter[str]
    """How often each raw value of gender occurs."""


@dataclass(frozen=True)
class WriteRange:
    """A function from a range of pages to its lines; picklable, reads the store of the given path."""

    store: Path
    scope: Scope
    model: QualityModel
    percentiles: tuple[tuple[str, float], ...]

    def __call__(self, pages: PageRange) -> Written:
        lookups = _lookups(self.store)
        lines: list[bytes] = []
        coverage: Counter[Key] = Counter()
        genders: Counter[str] = Counter()
        for page in self._pages(pages):
            record = metadata_record(page, lookups, self.scope)
            lines.append(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
            coverage.update(count_page(page, record))
            genders.update(record.get("gender") or ())
        return Written(gzip_member(b"".join(lines)), len(lines), coverage, genders)

    def _pages(self, pages: PageRange) -> Iterator[Page]:
        rows = _database(self.store).execute(PAGES_SQL, pages).fetchall()
        counts = QualityCounts(*np.array([row[N_KEYS:] for row in rows], np.float64).T)
        scores = quality_scores(self.model, counts, dict(self.percentiles))
        classes = quality_classes(self.model, scores)
        for row, score, index in zip(rows, scores.tolist(), classes.tolist(), strict=True):
            page_id, title, item, facts, date = row[:N_KEYS]
            read = None if facts is None else ItemFacts.from_json(facts)
            yield Page(page_id, title, score, class_name(index), item, read, date)


_READERS: dict[Path, sqlite3.Connection] = {}


def _database(path: Path) -> sqlite3.Connection:
    """A connection for reading, one for each process."""
    if path not in _READERS:
        _READERS[path] = read_only(path)
    return _READERS[path]


@cache
def _lookups(path: Path) -> Lookups:
    """What the store says about other items; answers about occupations are kept, there are some ten thousand."""
    database = _database(path)

    def numbers(sql: str, item: int) -> tuple[int, ...]:
        return tuple(number for (number,) in database.execute(sql, (item,)))

    @cache
    def names(value: int) -> frozenset[str]:
        return occupation.occupation_names(value, lambda item: numbers(SUPERCLASSES_SQL, item))

    return Lookups(lambda place: numbers(COUNTRIES_SQL, place), names)


def close_readers() -> None:
    """Close this process's connections, so that the store can be removed."""
    _lookups.cache_clear()
    for path in tuple(_READERS):
        _READERS.pop(path).close()
