"""Building the index of a collection: streaming, with constant memory, resumed where a killed build stopped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from evenrank.core.groups import UNKNOWN_MASK
from evenrank.core.records import NO_CLASS, Article
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError, reason_of
from evenrank.garbage import rare_collections
from evenrank.io.articles import ArticleFile, MappedBatch, map_articles
from evenrank.io.atomic import temporary_folder
from evenrank.io.content import START, Position
from evenrank.io.faults import FaultLog
from evenrank.io.locking import only_writer
from evenrank.parallel import n_cores
from evenrank.retrieval.engine.engines import (
    DEFAULT_ADDRESS,
    BuildState,
    engine_kind,
    index_folder,
    layout_of,
    read_state,
    sources_of,
    write_state,
)
from evenrank.retrieval.engine.protocol import Engine, IndexLayout, IndexPage, PreparingEngine
from evenrank.trec.arrays import names_at
from evenrank.trec.checksums import write_checksums
from evenrank.trec.collection import Collection, as_collection
from evenrank.trec.dimensions import OCCUPATION
from evenrank.wikipedia.annotate.inline import ENGLISH, Namespaces, site_names
from evenrank.wikipedia.annotate.templates import infobox_names
from evenrank.wikipedia.annotate.wikitext import has_markup, opening_paragraph, parse_wikitext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class PageFields(NamedTuple):
    """The text of one page, field by field (a plain tuple, because millions of them travel between processes)."""

    page_id: int
    title: str
    lead: str
    text: str
    categories: str
    infobox: str
    kind: str


def page_fields(articles: tuple[Article, ...], namespaces: Namespaces = ENGLISH) -> list[PageFields]:
    """The fields of each article. Words of infoboxes and table cells are topical, and some pages have no others."""
    return [_fields(article, namespaces) for article in articles]


def _fields(article: Article, namespaces: Namespaces) -> PageFields:
    if not has_markup(article.text):
        return PageFields(article.page_id, article.title, opening_paragraph(article.text), article.text, "", "", "")
    page = parse_wikitext(article.text, namespaces)
    boxed = "\n".join(part for part in (page.infobox_values, page.tables) if part)
    filed, kind = "\n".join(page.categories), infobox_names(article.text, namespaces.language)
    return PageFields(article.page_id, article.title, page.lead, page.body, filed, boxed, kind)


def is_plain(source: ArticleFile, n_bytes: int = 1 << 18) -> bool:
    """Whether most articles at the start of a corpus are text without markup."""
    head = next(source.raw_batches(FaultLog(), size=n_bytes), None)
    articles = source.parse(head).articles if head else ()
    return 2 * sum(has_markup(article.text) for article in articles) < len(articles)


def latest_pages(fields: list[PageFields]) -> list[PageFields]:
    """Each page once: of a page that is there twice, the later one."""
    return list({page.page_id: page for page in fields}.values())


def with_metadata(collection: Collection, fields: list[PageFields]) -> Iterator[IndexPage]:
    """Pages with the groups and the quality that the collection has for them."""
    rows = collection.rows_of(np.array([page.page_id for page in fields], np.int32))
    known = rows >= 0
    masks = {name: np.where(known, mask[rows], UNKNOWN_MASK).tolist() for name, mask in collection.masks.items()}
    classes = np.where(known, collection.quality_class[rows], NO_CLASS).tolist()
    scores = np.where(known, collection.quality_score[rows], np.nan).tolist()
    named = names_at(collection.classes, rows)
    for page, names, quality, score, *groups in zip(fields, named, classes, scores, *masks.values(), strict=True):
        by_name = dict(zip(masks, groups, strict=True))
        page_id, title, lead, text, filed, boxed, kind = page
        kinds = (*occupations(by_name.get(OCCUPATION.name, UNKNOWN_MASK)), *names)
        if kinds:
            kind = "\n".join(filter(None, (kind, *kinds)))
        yield IndexPage(page_id, title, lead, text, filed, boxed, kind, by_name, quality, score)


@lru_cache(4096)
def occupations(mask: int) -> tuple[str, ...]:
    """The occupations of a person, by the mask of that dimension; none when they are not known."""
    return tuple(name for position, name in enumerate(OCCUPATION.groups) if position and mask >> position & 1)


class PreparedPages(NamedTuple):
    """Pages as the requests that add them to an engine on other machines."""

    n_pages: int
    documents: list[bytes]


def prepare_pages(
    articles: tuple[Article, ...],
    fields: Callable[[tuple[Article, ...]], list[PageFields]],
    layout: IndexLayout,
    path: Path,
) -> PreparedPages:
    """Articles of the collection at `path` as documents: most of the client's work. Runs on the executors of Spark."""
    from evenrank.retrieval.engine.opensearch_index import bulk_bodies

    latest = latest_pages(fields(articles))
    return PreparedPages(len(latest), list(bulk_bodies(with_metadata(_collection(path), latest), layout)))


@lru_cache(maxsize=1)
def _collection(path: Path) -> Collection:
    return Collection.open(path)


COMMIT_EVERY = 250_000
"""Pages between commits: what a killed build may lose."""
THREADS_FED_BY_ONE = 4
"""Writer threads that one process keeps busy with plain text, which is sooner read than sent between processes."""


def build_index(
    collection: Collection | FilePath,
    faults: FaultLog | None = None,
    *,
    engine: str | None = None,
    n_threads: int | None = None,
    workers: int | None = None,
    commit_every: int = COMMIT_EVERY,
    on_commit: Callable[[int], None] = lambda n_added: None,
    spark: SparkSession | None = None,
) -> Engine:
    """The index of a collection's corpus. A finished one is opened, a stopped one finished, any other replaced.

    `engine` is the address of the engine that is to hold it; None keeps the engine that the collection's index has.
    `n_threads` write the index, by default one for each core; `workers` are processes that parse the articles for them,
    by default this one alone. `faults` gathers the records of the corpus that are skipped because they are broken. The
    executors of a `spark` session turn articles into documents for an engine on other machines; they see the collection
    under the same path.
    """
    collection, faults = as_collection(collection), FaultLog() if faults is None else faults
    if collection.corpus is None:
        raise EvenrankError(f"{collection.path}: no corpus (import the collection with --corpus)")
    n_threads = n_cores() if n_threads is None else max(1, n_threads)
    with _only_build(collection, engine), rare_collections():
        return _build(collection, faults, engine, n_threads, workers, commit_every, on_commit, spark)


@contextmanager
def _only_build(collection: Collection, address: str | None) -> Iterator[None]:
    """A block in which no other process builds this index; a finished one needs no lock, so it may be read-only."""
    found, finished = _states(collection, address)
    lock = collection.path / ".index.lock"
    with ExitStack() as stack:
        if found == finished and lock.exists():  # a process was killed when its work was done
            with suppress(EvenrankError, OSError), only_writer(lock, index_folder(collection)):
                pass
        if found != finished:
            try:
                stack.enter_context(only_writer(lock, index_folder(collection)))
            except OSError as error:
                text = f"{collection.path}: could not be written: {reason_of(error)}"
                raise EvenrankError(f"{text} (an index is built in the collection's folder)") from error
        yield


def _states(collection: Collection, address: str | None) -> tuple[BuildState | None, BuildState]:
    """The state of the index as it is, if there is one, and as it is to be when it is finished."""
    found = read_state(index_folder(collection))
    engine = address or (found.engine if found else DEFAULT_ADDRESS)
    return found, BuildState(sources_of(collection), engine, layout_of(collection), is_complete=True)


def _build(
    collection: Collection,
    faults: FaultLog,
    engine: str | None,
    n_threads: int,
    workers: int | None,
    commit_every: int,
    on_commit: Callable[[int], None],
    spark: SparkSession | None,
) -> Engine:
    _, finished = _states(collection, engine)
    if spark is not None and not engine_kind(finished.engine).takes_prepared:
        fix = "name an index on a cluster with --engine, or leave the options of Spark out"
        raise EvenrankError(
            f"{finished.engine}: pages are indexed by this machine, which Spark cannot speed up ({fix})"
        )
    opened, state = _open_or_create(collection, engine, n_threads)
    if state.is_complete:
        return opened
    build = _Build(collection, opened, Checkpoint.parse(opened.mark()), on_commit)
    start = build.reached.position
    source = collection.open_corpus()
    n_workers = 1 if n_threads <= THREADS_FED_BY_ONE and is_plain(source) else workers
    fields = partial(page_fields, namespaces=site_names(source.site))
    path = collection.path.absolute()
    function = fields if spark is None else partial(prepare_pages, fields=fields, layout=opened.layout, path=path)
    mapped: Generator[MappedBatch[Any]] = map_articles(
        function, source, faults, label="index", n_workers=n_workers, start=start, spark=spark
    )
    end = start
    with closing(mapped) as batches:
        for batch in batches:
            end = batch.end
            if isinstance(batch.result, PreparedPages):
                build.add_prepared(batch.result)
            else:
                build.add(batch.result)
            if build.n_waiting >= commit_every:
                build.commit(end)
    build.finish(end)
    write_checksums(index_folder(collection))
    write_state(index_folder(collection), replace(state, is_complete=True))
    return opened


def _open_or_create(collection: Collection, address: str | None, n_threads: int) -> tuple[Engine, BuildState]:
    """The index as far as it is, and its state; a new one when there is none that can be resumed.

    An earlier index is removed when the new one has been made, and stays as it was when that fails.
    """
    folder = index_folder(collection)
    found, finished = _states(collection, address)
    kind, state = engine_kind(finished.engine), replace(finished, is_complete=False)
    if found is not None and replace(found, is_complete=False) == state:
        opened = kind.open(state.engine, folder, state.layout, n_threads)
        if found.is_complete or opened.mark():
            return opened, found
        opened.close()
    _ = collection.classes  # if they are damaged, the index stays as it is
    kind.check(state.engine, folder)
    n_pages = collection.manifest.counts.get("corpus_pages")
    with _set_aside(folder):
        created = kind.create(state.engine, folder, state.layout, n_threads, n_pages)
        write_state(folder, state)
    return created, state


@contextmanager
def _set_aside(folder: Path) -> Iterator[None]:
    """A block that makes a folder anew: what was there is removed afterwards, and comes back when the block fails."""
    with temporary_folder(folder) as kept:
        earlier = kept / folder.name
        if folder.exists():
            os.replace(folder, earlier)
        try:
            yield
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            if earlier.exists():
                os.replace(earlier, folder)
            raise


class Checkpoint(NamedTuple):
    """A place in the corpus that a commit covers; the mark of that commit."""

    n_added: int = 0
    """Pages added to the index up to here."""
    position: Position = START

    def __str__(self) -> str:
        return orjson.dumps([self.n_added, list(self.position)]).decode()

    @classmethod
    def parse(cls, mark: str) -> Checkpoint:
        """The checkpoint of a mark; the start for an empty one."""
        if not mark:
            return cls()
        n_added, position = orjson.loads(mark)
        return cls(n_added, Position(*position))


class _Build:
    """A build under way."""

    def __init__(
        self, collection: Collection, engine: Engine, reached: Checkpoint, on_commit: Callable[[int], None]
    ) -> None:
        self.collection, self.engine, self.reached, self.on_commit = collection, engine, reached, on_commit
        self.n_waiting = 0

    def add(self, fields: list[PageFields]) -> None:
        """Add pages; of a page that the corpus has twice, the later one stays."""
        latest = latest_pages(fields)
        self.engine.add(with_metadata(self.collection, latest))
        self.n_waiting += len(latest)

    def add_prepared(self, pages: PreparedPages) -> None:
        """The same for pages that executors have turned into documents."""
        assert isinstance(self.engine, PreparingEngine)
        self.engine.add_prepared(pages.documents)
        self.n_waiting += pages.n_pages

    def commit(self, position: Position) -> None:
        self.reached = Checkpoint(self.reached.n_added + self.n_waiting, position)
        self.engine.commit(str(self.reached))
        self.n_waiting = 0
        self.on_commit(self.reached.n_added)

    def finish(self, position: Position) -> None:
        self.commit(position)
        self.engine.publish()
        self.engine.close()
        self.engine.refresh()
