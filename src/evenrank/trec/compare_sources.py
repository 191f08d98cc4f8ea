"""Two editions of the same pages, compared → the changes that lead from one to the other.

Records are compared by 64 bits of a hash: of the older edition, 12 bytes a page are in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.core.records import Article
from evenrank.core.text_ids import TextIds, check_text_id
from evenrank.errors import InputError, input_error
from evenrank.io.articles import ArticleFile, map_articles, open_articles, read_articles
from evenrank.io.atomic import atomic_file
from evenrank.io.content import read_head
from evenrank.io.faults import FaultLog
from evenrank.io.json_lines import MAX_FAULTS, load_record, read_lines
from evenrank.trec.changes import delete_line, put_line
from evenrank.trec.collection import Collection


@dataclass(frozen=True)
class Edition:
    """The files of an edition."""

    articles: Path | None = None
    """A corpus, a dump, or the folder of a collection."""
    metadata: Path | None = None


@dataclass
class ChangeCounts:
    """How many pages differ."""

    n_put: int = 0
    n_deleted: int = 0
    n_same: int = 0

    def __str__(self) -> str:
        return f"pages to put: {self.n_put:,}, to delete: {self.n_deleted:,}; the same: {self.n_same:,}"


def compare_editions(
    old: Edition, new: Edition, out: Path, warn: Callable[[str], object] = lambda text: None
) -> ChangeCounts:
    """Write the changes from `old` to `new`, JSON lines for `update_collection`; how many pages differ.

    Both editions have articles, or metadata, or both. A page that is left with neither is deleted.
    """
    if (old.articles is None, old.metadata is None) != (new.articles is None, new.metadata is None):
        raise input_error(out, 0, "one edition has articles or metadata and the other has not", "name both, or neither")
    ids = TextIds() if _has_text_ids(new) else None
    counts = ChangeCounts()
    with atomic_file(out) as file:
        for page, line in _changes(old, new, ids, counts, warn):
            file.write(line)
            counts.n_deleted += page < 0
            counts.n_put += page > 0
    return counts


def _changes(
    old: Edition, new: Edition, ids: TextIds | None, counts: ChangeCounts, warn: Callable[[str], object]
) -> Iterator[tuple[int, bytes]]:
    """Page and line of each change; the page is negative where it is deleted."""
    old_articles, new_articles = _Marks(), _Marks()
    old_metadata, new_metadata = _Marks(), _Marks()
    faults = FaultLog()
    if old.articles is not None and new.articles is not None:
        old_articles = _Marks.of(_article_marks(_open(old.articles, ids), ids, faults))
        new_articles = _Marks.of(_article_marks(_open(new.articles, ids), ids, faults))
    if old.metadata is not None and new.metadata is not None:
        old_metadata = _Marks.of(_first(_metadata_marks(old.metadata, ids)))
        new_metadata = _Marks.of(_first(_metadata_marks(new.metadata, ids)))
    has_metadata = new.metadata is not None
    if report := faults.report():
        warn(report)

    def shown(page: int) -> int | str:
        return page if ids is None else ids.text(page)

    for page in np.setdiff1d(old_articles.pages, new_articles.pages).tolist():
        if not has_metadata or page not in new_metadata:
            yield -page, delete_line(shown(page))
        else:
            yield page, put_line(shown(page), removes_article=True)
    for page in np.setdiff1d(old_metadata.pages, new_metadata.pages).tolist():
        if page in new_articles:
            yield page, put_line(shown(page), metadata=None)
        elif page not in old_articles:
            yield -page, delete_line(shown(page))
    changed_metadata = new_metadata.different_from(old_metadata)
    changed_articles = new_articles.different_from(old_articles)
    every = np.union1d(new_articles.pages, new_metadata.pages)
    counts.n_same = len(every) - len(np.union1d(changed_metadata, changed_articles))
    if len(changed_metadata) and new.metadata is not None:
        wanted, seen = set(changed_metadata.tolist()), set[int]()
        for page, record in _metadata_records(new.metadata, ids):
            if page in wanted and page not in seen:
                seen.add(page)
                yield page, put_line(shown(page), metadata=record)
    if len(changed_articles) and new.articles is not None:
        wanted = set(changed_articles.tolist())
        for article in read_articles(_open(new.articles, ids), FaultLog()):
            page = article.page_id if ids is None else ids.number(article.key)
            if page in wanted:
                metadata = None if has_metadata and page not in new_metadata else ...
                yield page, put_line(shown(page), metadata=metadata, article=article)


class _Marks:
    """Hashes of the records of pages; of a page that is there twice, the last."""

    def __init__(self, pages: NDArray[np.int32] | None = None, marks: NDArray[np.uint64] | None = None) -> None:
        found = np.empty(0, np.int32) if pages is None else pages
        last = len(found) - 1 - np.unique(found[::-1], return_index=True)[1]
        self.pages = found[last]
        self._marks = np.empty(0, np.uint64) if marks is None else marks[last]

    @classmethod
    def of(cls, parts: Iterator[tuple[NDArray[np.int32], NDArray[np.uint64]]]) -> _Marks:
        pages, marks = zip((np.empty(0, np.int32), np.empty(0, np.uint64)), *parts, strict=True)
        return cls(np.concatenate(pages), np.concatenate(marks))

    def __contains__(self, page: int) -> bool:
        at = int(np.searchsorted(self.pages, page))
        return at < len(self.pages) and int(self.pages[at]) == page

    def different_from(self, other: _Marks) -> NDArray[np.int32]:
        """Pages that are not in the other edition, or are different there."""
        if not len(other.pages):
            return self.pages
        at = np.minimum(np.searchsorted(other.pages, self.pages), len(other.pages) - 1)
        is_different = (other.pages[at] != self.pages) | (other._marks[at] != self._marks)
        return np.asarray(self.pages[is_different])


def _hash(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def mark_articles(articles: tuple[Article, ...]) -> list[tuple[int, str, int]]:
    """Id, id that is text and hash of each article; a pure function, for any process."""
    return [
        (one.page_id, one.key, _hash("\0".join((one.title, one.url, one.text)).encode("utf-8", "replace")))
        for one in articles
    ]


def _article_marks(
    source: ArticleFile, ids: TextIds | None, faults: FaultLog
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.uint64]]]:
    for batch in map_articles(mark_articles, source, faults, label=Path(source.path).name):
        pages = [page if ids is None else ids.number(key) for page, key, _ in batch.result]
        yield np.array(pages, np.int32), np.array([mark for *_, mark in batch.result], np.uint64)


def _metadata_records(path: Path, ids: TextIds | None) -> Iterator[tuple[int, dict[str, Any]]]:
    faults = FaultLog(MAX_FAULTS)
    for number, line in read_lines(path):
        try:
            record = load_record(line)
            page = record.pop("page_id", None)
            if ids is not None:
                page = ids.number(check_text_id(page))
            elif type(page) is not int or page <= 0:
                raise ValueError(f"page_id is {page!r}, not a whole number from 1")
        except ValueError as error:
            faults.add(path, number, str(error), "fix the record or leave it out")
            continue
        yield page, record
    faults.raise_if_any()


def _metadata_marks(path: Path, ids: TextIds | None) -> Iterator[tuple[int, int]]:
    for page, record in _metadata_records(path, ids):
        yield page, _hash(orjson.dumps(record, option=orjson.OPT_SORT_KEYS))


def _first(marks: Iterator[tuple[int, int]]) -> Iterator[tuple[NDArray[np.int32], NDArray[np.uint64]]]:
    """Of metadata, the first record of a page counts."""
    by_page: dict[int, int] = {}
    for page, mark in marks:
        by_page.setdefault(page, mark)
    yield np.array([*by_page], np.int32), np.array([*by_page.values()], np.uint64)


def _open(path: Path, ids: TextIds | None) -> ArticleFile:
    if path.is_dir():
        return Collection.open(path).open_corpus()
    return open_articles(path, has_text_ids=ids is not None)


def _has_text_ids(edition: Edition) -> bool:
    if edition.articles is not None and edition.articles.is_dir():
        return Collection.open(edition.articles).manifest.has_text_ids
    for path, field in ((edition.metadata, "page_id"), (edition.articles, "id")):
        if path is None:
            continue
        try:
            value = load_record(read_head(path).split(b"\n")[0]).get(field)
        except (ValueError, InputError):
            continue
        return isinstance(value, str) and not value.isdigit()
    return False
