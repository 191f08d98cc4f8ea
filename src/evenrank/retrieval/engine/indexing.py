"""Building the index of a collection: streaming, with constant memory, resumed where a killed build stopped.

A build has a folder of its own beside the index in use. When it is complete, with the vectors of its pages if the
earlier index has such, one new manifest switches the collection to it, and to the data that it was made from.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.core.groups import UNKNOWN_MASK
from evenrank.core.records import NO_CLASS, Article
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError, WrongTypeError, reason_of
from evenrank.garbage import rare_collections
from evenrank.io.articles import ArticleFile, MappedBatch, map_articles
from evenrank.io.content import START, Position
from evenrank.io.faults import FaultLog
from evenrank.io.locking import no_leases, only_writer
from evenrank.parallel import n_cores
from evenrank.retrieval.engine.engines import (
    DEFAULT_ADDRESS,
    BuildState,
    EngineKind,
    built_folders,
    engine_kind,
    index_folder,
    layout_of,
    read_state,
    remembered_address,
    sources_of,
    write_state,
)
from evenrank.retrieval.engine.protocol import (
    Engine,
    EngineUnavailableError,
    IndexLayout,
    IndexPage,
    PreparingEngine,
)
from evenrank.retrieval.training_pages import write_training_pages
from evenrank.trec.arrays import names_at
from evenrank.trec.checksums import write_checksums
from evenrank.trec.collection import Collection, newest_collection
from evenrank.trec.dimensions import OCCUPATION
from evenrank.trec.manifest import (
    Manifest,
    next_folder,
    previous_manifest,
    put_index,
    refuse_releases,
    remove_folder,
    remove_old_data,
)
from evenrank.trec.title_keys import write_title_keys
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
    kinds_of_pages = kinds_by_metadata(collection, rows)
    for page, kinds, quality, score, *groups in zip(
        fields, kinds_of_pages, classes, scores, *masks.values(), strict=True
    ):
        by_name = dict(zip(masks, groups, strict=True))
        page_id, title, lead, text, filed, boxed, kind = page
        if kinds:
            kind = f"{kind}\n{kinds}" if kind else kinds
        yield IndexPage(page_id, title, lead, text, filed, boxed, kind, by_name, quality, score)


def kinds_by_metadata(collection: Collection, rows: NDArray[np.intp]) -> list[str]:
    """What the metadata say that the pages in some rows are, one kind a line; nothing for a row of −1."""
    masks = [UNKNOWN_MASK] * len(rows)
    if OCCUPATION.name in collection.masks:
        masks = np.where(rows >= 0, collection.masks[OCCUPATION.name][rows], UNKNOWN_MASK).tolist()
    named = names_at(collection.classes, rows)
    return ["\n".join((*occupations(mask), *names)) for mask, names in zip(masks, named, strict=True)]


def fields_of_pages(collection: Collection, pages: Iterable[IndexPage]) -> list[PageFields]:
    """What `with_metadata` made pages of a collection from."""
    indexed = list(pages)
    rows = collection.rows_of(np.array([page.page_id for page in indexed], np.int32))
    return [
        PageFields(*page[:6], page.kind.removesuffix(kinds).removesuffix("\n") if kinds else page.kind)
        for page, kinds in zip(indexed, kinds_by_metadata(collection, rows), strict=True)
    ]


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
    version: tuple[Path, Manifest],
) -> PreparedPages:
    """Articles of a version of a collection as documents: most of the client's work. Runs on the executors of Spark."""
    from evenrank.retrieval.engine.opensearch_index import bulk_bodies

    latest = latest_pages(fields(articles))
    return PreparedPages(len(latest), list(bulk_bodies(with_metadata(_collection(*version), latest), layout)))


_OPENED: list[Collection] = []
"""The collection that this process, an executor of Spark, has open."""


def _collection(path: Path, manifest: Manifest) -> Collection:
    if not _OPENED or _OPENED[0].path != path or _OPENED[0].manifest != manifest:
        _OPENED[:] = [Collection.open(path, manifest)]
    return _OPENED[0]


COMMIT_EVERY = 250_000
"""Pages between commits: what a killed build may lose."""
THREADS_FED_BY_ONE = 4
"""Writer threads that one process keeps busy with plain text, which is sooner read than sent between processes."""


def build_index(
    collection: Collection | FilePath,
    faults: FaultLog | None = None,
    *,
    engine: str | EngineKind | None = None,
    n_threads: int | None = None,
    workers: int | None = None,
    commit_every: int = COMMIT_EVERY,
    on_commit: Callable[[int], None] = lambda n_added: None,
    spark: SparkSession | None = None,
    keeps_vectors: bool = True,
) -> Engine:
    """The index of a collection's newest corpus. A finished one is opened, a stopped one finished, any other replaced.

    Until the new index is complete, an earlier one stays in use, with the data that it was made from. If that one has
    vectors of all pages, so has the new one: those of unchanged texts are taken over, the others made; unless
    `keeps_vectors` is False.

    `engine` is the address of the engine that will store it, or an `EngineKind`; None keeps the engine that the
    collection's index has. Whoever opens the index of an object that no entry point names has to know the object, too:
    `Collection.open(…, engine=…)`.
    `n_threads` write the index, by default one for each core; `workers` are processes that parse the articles for them,
    by default this one alone. `faults` gathers the records of the corpus that are skipped because they are broken. The
    executors of a `spark` session turn articles into documents for an engine on other machines; they see the collection
    under the same path. The password in an address is not kept with the index: it becomes EVENRANK_ENGINE_PASSWORD of
    this process, which later ones need, too.
    """
    collection, faults = newest_collection(collection), FaultLog() if faults is None else faults
    if isinstance(engine, EngineKind):
        collection, engine = replace(collection, engine=engine), engine.address or engine.scheme
    if engine is not None and not isinstance(engine, str):
        raise WrongTypeError(engine, "engine", "an address or an EngineKind")
    engine = remembered_address(engine) if engine else None
    if collection.corpus is None:
        raise EvenrankError(f"{collection.path}: no corpus (import the collection with --corpus)")
    n_threads = n_cores() if n_threads is None else max(1, n_threads)
    finished = _finished_state(collection, engine)
    if spark is not None and not engine_kind(finished.engine, collection.engine).takes_prepared:
        fix = "name an index on a cluster with --engine, or leave the options of Spark out"
        raise EvenrankError(
            f"{finished.engine}: pages are indexed by this machine, which Spark cannot speed up ({fix})"
        )
    folder = index_folder(collection)
    if read_state(folder) == finished:
        with suppress(EvenrankError, OSError), only_build(collection):  # what a killed process left
            remove_old_indexes(collection)
        kind = engine_kind(finished.engine, collection.engine)
        return kind.open(finished.engine, folder, finished.layout, n_threads)
    with only_build(collection), rare_collections():
        opened, folder, state = _open_or_create(collection, finished, n_threads)
        if not state.is_complete:
            _fill(collection, opened, faults, n_threads, workers, commit_every, on_commit, spark)
            if engine_kind(state.engine, collection.engine).copy is not None:  # others take the time of a cluster
                write_training_pages(collection, opened, folder)
            write_title_keys(collection, folder)
            write_checksums(folder)
            write_state(folder, finished)
        if keeps_vectors:
            _keep_vectors(collection, opened, folder)
        put_index(collection.path, collection.manifest, folder.name)
        remove_old_indexes(collection)
        remove_old_data(collection.path)
        return opened


@contextmanager
def only_build(collection: Collection) -> Iterator[None]:
    """A block in which no other process changes the indexes of a collection."""
    refuse_releases(collection.path)
    with ExitStack() as stack:
        try:
            stack.enter_context(only_writer(collection.path / ".index.lock", collection.path))
        except OSError as error:
            text = f"{collection.path}: could not be written: {reason_of(error)}"
            raise EvenrankError(f"{text} (an index is built in the collection's folder)") from error
        yield


def _finished_state(collection: Collection, address: str | None) -> BuildState:
    """The state of the index when it is finished; without an address, the engine stays the one there is."""
    current = previous_manifest(collection.path)
    folders = [collection.path / current.index_folder] if current is not None and current.index_folder else []
    found = filter(None, map(read_state, [*folders, *reversed(built_folders(collection.path))]))
    engine = address or next((state.engine for state in found), DEFAULT_ADDRESS)
    return BuildState(sources_of(collection), engine, layout_of(collection), is_complete=True)


def _keep_vectors(collection: Collection, engine: Engine, folder: Path) -> None:
    """Give a new index the vectors of all pages, if the index in use has them."""
    from evenrank.retrieval.encode.dense import keep_vectors, recorded_encoders

    current = previous_manifest(collection.path)
    earlier = None if current is None or not current.index_folder else collection.path / current.index_folder
    state = None if earlier is None else read_state(earlier)
    if earlier is None or state is None or earlier == folder or not recorded_encoders(earlier):
        return
    known: Engine | None = engine
    if state.sources != sources_of(collection):
        try:
            known = engine_kind(state.engine, collection.engine).open(state.engine, earlier, state.layout, 1)
        except EvenrankError:  # its texts cannot be compared, so all vectors are made again
            known = None
    keep_vectors(earlier, known, folder, engine)


def remove_old_indexes(collection: Collection) -> None:
    """Remove the indexes that no manifest names and no process has leased; called by the only one that builds.

    Of an engine on other machines, the index before the current one stays (`EngineKind.keeps_previous`).
    """
    path = collection.path
    current = previous_manifest(path)
    if current is None:
        return
    in_use = read_state(path / current.index_folder)
    old = [folder for folder in built_folders(path) if folder.name != current.index_folder]
    for folder in old:
        state = read_state(folder)
        if state is None or in_use is None or _can_be_resumed(state, in_use):
            continue
        with suppress(EvenrankError, OSError):
            kind = engine_kind(state.engine, collection.engine)
            with no_leases(folder) as is_free:
                if is_free and not (kind.keeps_previous and folder == old[-1]):
                    kind.remove(state.engine, folder)
                    remove_folder(folder)


def _can_be_resumed(state: BuildState, in_use: BuildState) -> bool:
    """Whether a build is to replace the index in use by one of another engine, and was stopped."""
    return not state.is_complete and state.sources == in_use.sources and state.engine != in_use.engine


def _fill(
    collection: Collection,
    opened: Engine,
    faults: FaultLog,
    n_threads: int,
    workers: int | None,
    commit_every: int,
    on_commit: Callable[[int], None],
    spark: SparkSession | None,
) -> None:
    """Add the articles that the last commit of a build does not cover, and publish the index."""
    build = _Build(collection, opened, Checkpoint.parse(opened.mark()), on_commit)
    start = build.reached.position
    source = collection.open_corpus()
    n_workers = 1 if n_threads <= THREADS_FED_BY_ONE and is_plain(source) else workers
    fields = partial(page_fields, namespaces=site_names(source.site))
    session = (collection.path.absolute(), collection.manifest)
    function = fields if spark is None else partial(prepare_pages, fields=fields, layout=opened.layout, version=session)
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


def _open_or_create(collection: Collection, finished: BuildState, n_threads: int) -> tuple[Engine, Path, BuildState]:
    """The index as far as it is, its folder and state; a new one when there is none that can be resumed."""
    kind, state = engine_kind(finished.engine, collection.engine), replace(finished, is_complete=False)
    folders = built_folders(collection.path)
    for folder in reversed(folders):
        found = read_state(folder)
        if found is not None and replace(found, is_complete=False) == state:
            try:
                opened = kind.open(state.engine, folder, state.layout, n_threads)
            except EngineUnavailableError:
                raise
            except EvenrankError:  # killed before the engine had made it
                continue
            if found.is_complete or opened.mark():
                return opened, folder, found
            opened.close()
    _ = collection.classes  # if they are damaged, nothing is written
    current = previous_manifest(collection.path)
    named = [found.name for found in folders] + ([current.index_folder] if current is not None else [])
    folder = next_folder(collection.path, "index", *named)
    kind.check(state.engine, folder)
    n_pages = collection.manifest.counts.get("corpus_pages")
    write_state(folder, state)
    try:
        return kind.create(state.engine, folder, state.layout, n_threads, n_pages), folder, state
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
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
