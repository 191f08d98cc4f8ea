"""Articles of a corpus or a dump, whichever a file is: one by one, or mapped by several processes; titles and sizes."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Article
from evenrank.core.text_ids import ALL_OF_A_KIND, TextIds, loaded_text_ids
from evenrank.errors import InputError, input_error
from evenrank.io.compressed import BYTE_ORDER_MARK
from evenrank.io.content import BATCH, START, ParsedBatch, Position, RawBatch, read_batches, read_head
from evenrank.io.corpus import (
    CIRRUS_BREAK,
    CIRRUS_START,
    PAGE_END,
    Site,
    cirrus_site,
    parse_cirrus,
    parse_corpus,
    parse_dump,
    read_site,
)
from evenrank.io.faults import FaultLog
from evenrank.parallel import map_batches
from evenrank.progress import progress_bar
from evenrank.spark import map_on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

R = TypeVar("R")
BATCHES_ON_SPARK = 16
"""Batches of articles that are sent to the executors together."""


@dataclass(frozen=True, slots=True)
class ArticleFile:
    """A file of articles whose kind is known."""

    path: str
    kind: Literal["corpus", "dump", "cirrus"]
    """JSON lines of the track, MediaWiki XML, or a Cirrus search dump."""
    site: Site
    """The wiki that the articles come from, as far as it is known."""
    size_bytes: int
    """Size on disk: the total for a progress bar."""
    has_text_ids: bool = False
    """Whether the ids of a corpus are text; articles then have their id as `key`."""
    ids_folder: Path | None = None
    """Data folder with the numbers of ids that are text; None leaves articles without a number."""
    changes: Path | None = None
    """Data folder with articles that replace those of the file (`changed_articles`)."""

    def raw_batches(self, faults: FaultLog, start: Position = START, size: int = BATCH) -> Iterator[RawBatch]:
        """Batches of records as bytes; what cannot be read goes to `faults`."""
        if start.file == 0:
            yield from read_batches(self.path, faults, record_end=_RECORD_ENDS[self.kind], start=start, size=size)
        for file in range(max(1, start.file), 1 + (changed_articles(self.changes).n_files if self.changes else 0)):
            place = start if start.file == file else START._replace(file=file)
            for batch in read_batches(changes_file(self.changes, file), faults, start=place, size=size):
                yield batch._replace(start=batch.start._replace(file=file), end=batch.end._replace(file=file))

    def parse(self, batch: RawBatch) -> ParsedBatch:
        """The articles of a batch; a pure function, for any process."""
        if self.kind == "dump" and batch.start.file == 0:
            parsed = parse_dump(batch, self.site)
        elif self.kind == "cirrus" and batch.start.file == 0:
            parsed = parse_cirrus(batch, self.site)
        else:
            parsed = parse_corpus(batch, has_text_ids=self.has_text_ids)
        articles = parsed.articles
        if self.ids_folder is not None:
            ids = loaded_text_ids(self.ids_folder)
            articles = tuple(article._replace(page_id=ids.number(article.key)) for article in articles)
        if self.changes is not None:
            file_of = changed_articles(self.changes).file_of
            articles = tuple(one for one in articles if file_of.get(one.page_id, 0) == batch.start.file)
        return parsed._replace(articles=articles)


_RECORD_ENDS = {"corpus": b"\n", "dump": PAGE_END, "cirrus": CIRRUS_BREAK}
CHANGED_ARTICLES = "changed_articles.npy"
"""File of a data folder: ids of the articles that are no longer those of the corpus, and the file of each."""
_CHANGED = np.dtype([("page_id", "<i4"), ("file", "<i4")])
REMOVED = -1
"""In place of a file: the article is in none."""


@dataclass(frozen=True)
class ChangedArticles:
    """Which articles of a corpus were replaced, and in which file they are now."""

    file_of: dict[int, int]
    """Number of the file by page id, from 1; `REMOVED` for an article that there is no longer."""
    n_files: int


def changes_file(folder: Path | None, file: int) -> Path:
    """The articles of an update, JSON lines of the track, in a data folder."""
    return (folder or Path()) / f"articles-{file}.jsonl.gz"


@lru_cache(maxsize=2)
def changed_articles(folder: Path) -> ChangedArticles:
    """The changed articles of a data folder, loaded once in each process."""
    records = np.load(folder / CHANGED_ARTICLES)
    file_of = dict(zip(records["page_id"].tolist(), records["file"].tolist(), strict=True))
    return ChangedArticles(file_of, sum(1 for _ in folder.glob("articles-*.jsonl.gz")))


def save_changed_articles(folder: Path, file_of: dict[int, int]) -> None:
    """Write what `changed_articles` reads, beside the files themselves."""
    np.save(folder / CHANGED_ARTICLES, np.array(sorted(file_of.items()), _CHANGED))
    changed_articles.cache_clear()


def open_articles(
    path: str | os.PathLike[str],
    *,
    has_text_ids: bool = False,
    ids_folder: Path | None = None,
    changes: Path | None = None,
    language: str = "en",
) -> ArticleFile:
    """The file as corpus or dump, inferred from its content; InputError if it is neither.

    Ids are text with `has_text_ids`, or with an `ids_folder`, which has their numbers. A dump says what language its
    wiki is in; that of a corpus is `language`. `changes` is a data folder with `changed_articles`.
    """
    start = read_head(path).removeprefix(BYTE_ORDER_MARK).lstrip()
    size_bytes = Path(path).stat().st_size
    if start.startswith(CIRRUS_START):
        if has_text_ids or ids_folder is not None:
            raise _numbered(path)
        return ArticleFile(str(path), "cirrus", cirrus_site(path), size_bytes, changes=changes)
    if start.startswith(b"{"):
        has_text_ids = has_text_ids or ids_folder is not None
        return ArticleFile(str(path), "corpus", Site(language=language), size_bytes, has_text_ids, ids_folder, changes)
    if start.startswith((b"<mediawiki", b"<?xml", b"<page")):
        if has_text_ids or ids_folder is not None:
            raise _numbered(path)
        return ArticleFile(str(path), "dump", read_site(path), size_bytes, changes=changes)
    found = f"a file that starts with {start[:40]!r}" if start else "an empty file"
    fix = "give the track's corpus (JSON lines), a MediaWiki XML dump or a Cirrus search dump, plain, gzip or bzip2"
    raise input_error(path, 0, found, fix)


def _numbered(path: str | os.PathLike[str]) -> InputError:
    return input_error(path, 0, "a dump, whose pages have numbers", f"import metadata with numbers: {ALL_OF_A_KIND}")


def read_articles(
    source: ArticleFile | str | os.PathLike[str], faults: FaultLog, *, start: Position = START
) -> Iterator[Article]:
    """The articles of a corpus or dump in the file's order; broken records are skipped and go to `faults`."""
    for batch in read_parsed(source, faults, start=start):
        yield from batch.articles


def read_parsed(
    source: ArticleFile | str | os.PathLike[str], faults: FaultLog, *, start: Position = START, size: int = BATCH
) -> Iterator[ParsedBatch]:
    """As `read_articles`, batch by batch; `start` at a batch's `end` resumes after it."""
    opened = source if isinstance(source, ArticleFile) else open_articles(source)
    for raw in opened.raw_batches(faults, start, size):
        batch = opened.parse(raw)
        faults.merge(batch.faults)
        yield batch


class MappedBatch(NamedTuple, Generic[R]):
    """What a function made of the articles of one batch."""

    result: R
    n_articles: int
    end: Position
    """Where to resume after this batch."""


def map_articles(
    function: Callable[[tuple[Article, ...]], R],
    source: ArticleFile,
    faults: FaultLog,
    *,
    label: str = "articles",
    n_workers: int | None = None,
    start: Position = START,
    size: int = BATCH,
    spark: SparkSession | None = None,
) -> Generator[MappedBatch[R]]:
    """`function` of the articles of each batch, in the file's order, computed by several processes or by Spark.

    A bar with this `label` shows how much of the file was read.
    """
    job, raw = _ParseAndCall(source, function), source.raw_batches(faults, start, size)
    mapped = map_batches(job, raw, n_workers) if spark is None else map_on_spark(spark, job, raw, BATCHES_ON_SPARK)
    n_file_bytes = 0
    with closing(progress_bar(source.size_bytes, label, "B", scale=True)) as bar:
        for batch, result, n_articles in mapped:
            faults.merge(batch.faults)
            bar.update(batch.n_file_bytes - n_file_bytes)
            n_file_bytes = batch.n_file_bytes
            yield MappedBatch(result, n_articles, batch.end)


@dataclass(frozen=True, slots=True)
class _ParseAndCall(Generic[R]):
    """The work of one process on one batch; the articles themselves stay in it."""

    source: ArticleFile
    function: Callable[[tuple[Article, ...]], R]

    def __call__(self, raw: RawBatch) -> tuple[ParsedBatch, R, int]:
        batch = self.source.parse(raw)
        return batch._replace(articles=()), self.function(batch.articles), len(batch.articles)


@dataclass(frozen=True)
class CorpusFacts:
    """Titles and sizes beside the page ids of the metadata."""

    titles: list[bytes]
    size_bytes: NDArray[np.int32]
    n_pages: int
    """Articles in the corpus, each once."""
    n_unlisted: int
    """Articles without metadata."""
    n_repeated: int
    """Records of pages with metadata that had a record before."""
    faults: FaultLog
    """Records that could not be read."""


def read_corpus_facts(
    path: Path, page_ids: NDArray[np.int32], text_ids: TextIds | None = None, workers: int | None = None
) -> CorpusFacts:
    """Facts of each page in `page_ids` (ascending), from one pass over the corpus.

    With `text_ids` ids are text, and those that are not there yet are added.
    """
    titles = [b""] * len(page_ids)
    sizes = np.zeros(len(page_ids), np.int32)
    faults = FaultLog()
    n_pages = n_unlisted = n_repeated = 0
    is_seen = np.zeros(len(page_ids), bool)
    source = open_articles(path, has_text_ids=text_ids is not None)
    for batch in map_articles(article_facts, source, faults, label="corpus", n_workers=workers):
        ids, size_bytes, names, keys = batch.result
        if text_ids is not None:
            ids = text_ids.numbers(keys)
        rows = np.minimum(np.searchsorted(page_ids, ids), len(page_ids) - 1)
        is_listed = page_ids[rows] == ids
        sizes[rows[is_listed]] = size_bytes[is_listed]
        for index in np.flatnonzero(is_listed):
            titles[rows[index]] = names[index]
        found = np.unique(rows[is_listed])
        n_new = len(found) - int(is_seen[found].sum())
        is_seen[found] = True
        n_again = int(is_listed.sum()) - n_new
        n_repeated += n_again
        n_pages += len(ids) - n_again
        n_unlisted += len(ids) - int(is_listed.sum())
    return CorpusFacts(titles, sizes, n_pages, n_unlisted, n_repeated, faults)


def article_facts(
    articles: tuple[Article, ...],
) -> tuple[NDArray[np.int32], NDArray[np.int32], list[bytes], list[str]]:
    """Page ids, sizes in bytes, titles and ids that are text of a batch of articles."""
    return (
        np.array([article.page_id for article in articles], np.int32),
        np.array([_n_bytes(article.text) for article in articles], np.int32),
        [article.title.encode("utf-8", "replace") for article in articles],
        [article.key for article in articles],
    )


def _n_bytes(text: str) -> int:
    """Length of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
