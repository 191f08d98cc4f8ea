"""Building the index of a collection: streaming, with constant memory, resumed where a killed build stopped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from evenrank.annotate.wikitext import has_markup
from evenrank.collection.collection import Collection
from evenrank.collection.given import FilePath, given_collection
from evenrank.errors import EvenrankError, NoIndexError
from evenrank.formats.articles import map_articles, open_articles
from evenrank.formats.faults import FaultLog
from evenrank.parallel import n_cores
from evenrank.progress import Progress
from evenrank.records import NO_CLASS
from evenrank.search.engine.build_state import BuildState, Checkpoint, read_state, sources_of, write_state
from evenrank.search.engine.fields import PageFields, page_fields
from evenrank.search.engine.page_set import PageSet
from evenrank.search.engine.protocol import GROUP_FIELDS, IndexPage
from evenrank.search.engine.tantivy_engine import TantivyEngine

COMMIT_EVERY = 250_000
"""Pages between commits: what a killed build may lose."""
THREADS_FED_BY_ONE = 4
"""Writer threads that one process keeps busy with plain text, which is sooner read than sent between processes."""


def index_folder(collection: Collection) -> Path:
    return collection.path / "index"


def open_index(collection: Collection) -> TantivyEngine:
    """The finished index of a collection; an error that says what to run when there is none."""
    folder = index_folder(collection)
    state = read_state(folder)
    run = f"run: evenrank index {collection.path}"
    if state is None:
        raise NoIndexError(f"{collection.path}: no index ({run})")
    if state.sources != sources_of(collection):
        raise NoIndexError(f"{folder}: made from other files than the collection has now ({run})")
    if not state.is_complete:
        raise NoIndexError(f"{folder}: the index is not finished ({run}; it resumes)")
    return TantivyEngine.open(folder / "pages")


def build_index(
    collection: Collection | FilePath,
    faults: FaultLog | None = None,
    *,
    n_threads: int | None = None,
    progress: Progress | None = None,
    commit_every: int = COMMIT_EVERY,
    on_commit: Callable[[int], None] = lambda n_added: None,
) -> TantivyEngine:
    """The index of a collection's corpus. A finished one is opened, a stopped one finished, any other replaced.

    `faults` gathers the records of the corpus that are skipped because they are broken.
    """
    collection, faults = given_collection(collection), FaultLog() if faults is None else faults
    if collection.corpus is None:
        raise EvenrankError(f"{collection.path}: no corpus (import the collection with --corpus)")
    n_threads = n_cores() if n_threads is None else max(1, n_threads)
    engine, state = _open_or_create(collection, n_threads)
    if state.is_complete:
        return engine
    build = _Build(collection, engine, state, on_commit)
    start = state.checkpoints[-1].position
    n_workers = 1 if n_threads <= THREADS_FED_BY_ONE and is_plain(collection.corpus) else n_threads
    batches = map_articles(page_fields, collection.corpus, faults, n_workers=n_workers, start=start, progress=progress)
    for batch in batches:
        build.add(batch.result)
        if build.n_waiting >= commit_every:
            build.commit(Checkpoint(build.n_added, batch.end))
    build.finish()
    return engine


def is_plain(corpus: Path, n_bytes: int = 1 << 18) -> bool:
    """Whether most articles at the start of a corpus are text without markup."""
    source = open_articles(corpus)
    head = next(source.raw_batches(FaultLog(), size=n_bytes), None)
    articles = source.parse(head).articles if head else ()
    return 2 * sum(has_markup(article.text) for article in articles) < len(articles)


def _open_or_create(collection: Collection, n_threads: int) -> tuple[TantivyEngine, BuildState]:
    """The index as far as it is, and its state with the checkpoint to go on from as the last one."""
    folder = index_folder(collection)
    state = read_state(folder)
    if state is not None and state.sources == sources_of(collection):
        engine = TantivyEngine.open(folder / "pages", n_threads)
        checkpoint = state.resume_at(engine.n_added)
        if state.is_complete or checkpoint is not None:
            return engine, replace(state, checkpoints=(*state.checkpoints, *filter(None, [checkpoint])))
    shutil.rmtree(folder, ignore_errors=True)
    engine = TantivyEngine.create(folder / "pages", n_threads)
    state = BuildState(sources_of(collection))
    write_state(folder, state)
    return engine, state


class _Build:
    """A build under way."""

    def __init__(
        self, collection: Collection, engine: TantivyEngine, state: BuildState, on_commit: Callable[[int], None]
    ) -> None:
        self.collection, self.engine, self.state, self.on_commit = collection, engine, state, on_commit
        self.folder = index_folder(collection)
        self.seen = PageSet.load(self.folder / "seen.npy")
        self.n_added = state.checkpoints[-1].n_added
        self.n_waiting = 0

    def add(self, fields: list[PageFields]) -> None:
        """Add pages; of a page that the corpus has twice, the later one stays."""
        for page_id in self.seen.add([page.page_id for page in fields]):
            self.engine.delete([page_id])
        latest = {page.page_id: page for page in fields}
        self.engine.add(self._with_metadata(list(latest.values())))
        self.n_added += len(latest)
        self.n_waiting += len(latest)

    def _with_metadata(self, fields: list[PageFields]) -> Iterator[IndexPage]:
        collection = self.collection
        rows = collection.rows_of(np.array([page.page_id for page in fields], np.int32))
        known = rows >= 0
        masks = {name: np.where(known, collection.masks[name][rows], 1).tolist() for name in GROUP_FIELDS}
        classes = np.where(known, collection.quality_class[rows], NO_CLASS).tolist()
        scores = np.where(known, collection.quality_score[rows], np.nan).tolist()
        for at, page in enumerate(fields):
            groups = {name: masks[name][at] for name in GROUP_FIELDS}
            yield IndexPage(*page, masks=groups, quality_class=classes[at], quality_score=scores[at])

    def commit(self, checkpoint: Checkpoint) -> None:
        self.seen.save(self.folder / "seen.npy")
        self.state = self.state.reached(checkpoint)
        write_state(self.folder, self.state)
        self.engine.commit()
        self.n_waiting = 0
        self.on_commit(self.n_added)

    def finish(self) -> None:
        self.engine.commit()
        self.engine.close()
        self.engine.refresh()
        write_state(self.folder, replace(self.state, is_complete=True))
        (self.folder / "seen.npy").unlink(missing_ok=True)
