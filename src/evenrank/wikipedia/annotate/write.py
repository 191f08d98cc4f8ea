"""The stored rows → lines of metadata in gzip members, on all cores; subjects without a page; the sidecar."""

from __future__ import annotations

import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from struct import pack
from typing import Any, NamedTuple

import numpy as np
import orjson

from evenrank.core.records import WORK_ORDER
from evenrank.database.sqlite_connection import read_only
from evenrank.io.atomic import packed_file
from evenrank.io.subjects import MAX_SUBJECTS, MissingSubject
from evenrank.wikipedia.annotate.attributes import occupation_names
from evenrank.wikipedia.annotate.coverage import SMALL, CoverageRow, Key, count_coverage
from evenrank.wikipedia.annotate.entities import ItemFacts
from evenrank.wikipedia.annotate.facts import read_facts
from evenrank.wikipedia.annotate.quality import QualityCounts, QualityModel, quality_classes, quality_scores
from evenrank.wikipedia.annotate.record import Lookups, Page, Scope, metadata_record
from evenrank.wikipedia.annotate.settings import AnnotateSettings
from evenrank.wikipedia.annotate.stage import WorkStore

_HEADER = b"\x1f\x8b\x08"
_COMMENT_FLAG = 0x10
_UNKNOWN_SYSTEM = 255
LEVEL = 6


def gzip_member(data: bytes, comment: str = "") -> bytes:
    """A whole gzip member without a date, so that equal data give equal bytes.

    Members can be joined to one file, which every reader of gzip reads as one. The comment (Latin-1) is what
    `file` and header readers see; readers of the content skip it.
    """
    flags = _COMMENT_FLAG if comment else 0
    head = _HEADER + pack("<BLBB", flags, 0, 0, _UNKNOWN_SYSTEM)
    text = comment.replace("\0", "").encode("latin-1", "replace") + b"\0" if comment else b""
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = compressor.compress(data) + compressor.flush()
    return head + text + body + pack("<LL", zlib.crc32(data), len(data) & 0xFFFFFFFF)


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
TITLE_SQL = "SELECT title FROM items WHERE item = ?"
MAX_TITLES = 1 << 16
"""Titles of classes that are remembered."""


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
        lookups = lookups_in(self.store)
        lines: list[bytes] = []
        coverage: Counter[Key] = Counter()
        genders: Counter[str] = Counter()
        for page in self._pages(pages):
            record = metadata_record(page, lookups, self.scope)
            lines.append(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
            coverage.update(count_coverage(page, record))
            genders.update(record.get("gender") or ())
        return Written(gzip_member(b"".join(lines)), len(lines), coverage, genders)

    def _pages(self, pages: PageRange) -> Iterator[Page]:
        rows = _database(self.store).execute(PAGES_SQL, pages).fetchall()
        counts = QualityCounts(*np.array([row[N_KEYS:] for row in rows], np.float64).T)
        scores = quality_scores(self.model, counts, dict(self.percentiles))
        classes = quality_classes(self.model, scores)
        for row, score, place in zip(rows, scores.tolist(), classes.tolist(), strict=True):
            page_id, title, item, facts, date = row[:N_KEYS]
            read = None if facts is None else ItemFacts.from_json(facts)
            yield Page(page_id, title, score, WORK_ORDER[place], item, read, date)


_READERS: dict[Path, sqlite3.Connection] = {}


def _database(path: Path) -> sqlite3.Connection:
    """A connection for reading, one for each process."""
    if path not in _READERS:
        _READERS[path] = read_only(path)
    return _READERS[path]


@cache
def lookups_in(path: Path) -> Lookups:
    """What the store says about other items; answers about occupations and classes, some ten thousand, are kept."""
    database = _database(path)

    def numbers(sql: str, item: int) -> tuple[int, ...]:
        return tuple(number for (number,) in database.execute(sql, (item,)))

    @cache
    def names(value: int) -> frozenset[str]:
        return occupation_names(value, lambda item: numbers(SUPERCLASSES_SQL, item))

    @lru_cache(MAX_TITLES)
    def title(item: int) -> str | None:
        row = database.execute(TITLE_SQL, (item,)).fetchone()
        return row[0] if row else None

    return Lookups(lambda place: numbers(COUNTRIES_SQL, place), names, title)


def close_readers() -> None:
    """Close this process's connections, so that the store can be removed."""
    lookups_in.cache_clear()
    for path in tuple(_READERS):
        _READERS.pop(path).close()


MISSING = """
SELECT item, label, description, n_wikis, articles, facts FROM subjects
WHERE label NOT IN (SELECT title FROM pages) AND label NOT IN (SELECT title FROM redirects)
    AND item NOT IN (SELECT item FROM items) AND item NOT IN (SELECT item FROM page_props)
ORDER BY n_wikis DESC, item LIMIT ?
"""
GROUP_FIELDS = ("geographic_locations", "gender", "page_subcont_regions", "occupations", "years_category")
"""Fields of page metadata that a subject has, too: they say which groups it is in."""


def write_subjects(path: Path, store: WorkStore, lookups: Lookups, scope: Scope) -> int:
    """Write the subjects without a page as JSON lines (gzip where the name ends so), those of most wikis first; gives
    their number. A label that is a title or a redirect of the wiki has a page."""
    n_subjects = 0
    with packed_file(path, level=9) as file:
        for subject in _subjects(store, lookups, scope):
            file.write(subject.to_json())
            n_subjects += 1
    return n_subjects


def _subjects(store: WorkStore, lookups: Lookups, scope: Scope) -> Iterator[MissingSubject]:
    for item, label, text, n_wikis, articles, facts in store.query(MISSING, [MAX_SUBJECTS]):
        page = Page(0, label, 0.0, "", item, ItemFacts.from_json(facts), None)
        record = metadata_record(page, lookups, scope)
        groups = {name: record[name] for name in GROUP_FIELDS if record.get(name)}
        more = orjson.dumps({"articles": orjson.loads(articles), **groups})
        yield MissingSubject(f"Q{item}", label, text, n_wikis, more)


class Report(NamedTuple):
    """What came out of a run of the labeller."""

    n_pages: int
    n_with_item: dict[str, int]
    """Pages that found their item, by the way they did."""
    tallies: dict[str, dict[str, Any]]
    """Counts and faults of each input."""
    percentiles: dict[str, float]
    """Caps that come from percentiles."""
    coverage: list[CoverageRow]
    gender_values: Counter[str]
    """How often each raw value of gender occurs."""
    n_subjects: int | None = None
    """Subjects without an article that were written; None when they were not asked for."""


def about_path(out: Path) -> Path:
    """`metadata.json.gz` → `metadata.json.gz.about.json`."""
    return out.with_name(f"{out.name}.about.json")


def warnings(with_gender: bool) -> dict[str, str]:
    """The paper's warnings, by subject."""
    texts = read_facts("warnings.toml")
    return {subject: text for subject, text in texts.items() if with_gender or subject != "gender"}


def header_comment(with_gender: bool) -> str:
    """The warnings as one text for the header of the output."""
    return "\n".join([f"Page metadata made by Evenrank {version('evenrank')}.", *warnings(with_gender).values()])


def describe_output(
    report: Report, settings: AnnotateSettings, model: QualityModel, inputs: dict[str, Any]
) -> dict[str, Any]:
    """The sidecar's content. It holds no date, so that equal runs give equal bytes."""
    return {
        "made_by": f"evenrank {version('evenrank')}",
        "warnings": warnings(settings.with_gender),
        "settings": settings.facts(),
        "inputs": inputs,
        "quality": {
            "model": model.name,
            "title": model.title,
            "source": model.source,
            "note": model.note,
            "caps": {feature.name: feature.cap(report.percentiles) for feature in model.features},
        },
        "pages": report.n_pages,
        "pages_with_item": report.n_with_item,
        "read": report.tallies,
        "coverage": [row._asdict() for row in report.coverage],
        "gender_values": _told_apart(report.gender_values),
    }


def _told_apart(values: Counter[str]) -> dict[str, int | str]:
    """Counts by value, most frequent first; those of few people are not given."""
    ordered = sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))
    return {name: n if n >= SMALL else f"<{SMALL}" for name, n in ordered}
