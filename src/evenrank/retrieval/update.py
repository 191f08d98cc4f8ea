"""`collection update`: a new version of a collection and its index from a file of changes, in use in one step.

What stays the same is shared with the version before: files of the data folder, segments of the index, vectors of
unchanged texts. Results are those of an import and a build of the same pages.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError
from evenrank.garbage import rare_collections
from evenrank.io.articles import changed_articles, read_parsed
from evenrank.io.content import START
from evenrank.io.faults import FaultLog
from evenrank.parallel import n_cores
from evenrank.retrieval.encode.dense import keep_vectors, recorded_encoders
from evenrank.retrieval.engine.engines import (
    BuildState,
    built_folders,
    engine_kind,
    layout_of,
    open_index,
    read_state,
    sources_of,
    write_state,
)
from evenrank.retrieval.engine.indexing import (
    PageFields,
    build_index,
    fields_of_pages,
    only_build,
    page_fields,
    remove_old_indexes,
    with_metadata,
)
from evenrank.retrieval.engine.protocol import Engine, IndexPage, UpdatingEngine
from evenrank.retrieval.training_pages import write_training_pages
from evenrank.trec.checksums import write_checksums
from evenrank.trec.collection import Collection
from evenrank.trec.dimensions import DIMENSIONS
from evenrank.trec.import_files import named_from
from evenrank.trec.manifest import (
    CHANGES,
    TOPIC_CHANGES,
    Manifest,
    SourceFile,
    locked_folder,
    next_folder,
    put_data,
    put_index,
    read_manifest,
    remove_folder,
    remove_old_data,
    waiting_manifest,
)
from evenrank.trec.sources import check_date, md5_of
from evenrank.trec.title_keys import write_title_keys
from evenrank.trec.updated_data import UpdatedData, new_version, with_changes, write_updated_data
from evenrank.wikipedia.annotate.inline import site_names

UPDATED = "updated"
"""Mark of an index that has all changes."""
MOST_REMOVED = 0.5
"""Share of an index's pages that may be removed or replaced; then it is rebuilt, which makes it small again."""


@dataclass(frozen=True)
class Update:
    """What an update did."""

    collection: Collection
    n_put: int
    """Pages that were added or changed."""
    n_deleted: int
    n_topics: int
    """Topics that were put in or deleted."""
    is_rebuilt: bool
    """Whether the index was rebuilt instead of changed."""

    def __str__(self) -> str:
        parts = f"pages put: {self.n_put:,}, deleted: {self.n_deleted:,}; topics changed: {self.n_topics:,}"
        return f"{parts}; the collection has {len(self.collection):,} pages" + (
            "; index rebuilt" if self.is_rebuilt else ""
        )


def update_collection(
    folder: FilePath,
    changes: FilePath,
    *,
    date: str | None = None,
    warn: Callable[[str], object] = lambda text: None,
    n_threads: int | None = None,
) -> Update:
    """Apply a file of changes (`trec.changes`) to the collection in a folder, its index and its vectors.

    The collection is the new one when this returns; before, and where it raises, it is the old one. After an update
    that was killed, the same call does the rest. `date` is that of the data after the changes, e.g. `2026-11-18`.
    """
    folder, path = Path(folder), Path(changes)
    check_date(date)
    read_manifest(folder)
    with locked_folder(folder), rare_collections():
        collection = Collection.open(folder)
        if waiting_manifest(folder) is not None:
            raise EvenrankError(f"{folder}: has data that wait for their index (run: evenrank index {folder})")
        if collection.corpus is None:
            manifest, data = _write_data(collection, None, path, date)
            return _summary(put_data(folder, manifest), collection, data, warn)
        with ExitStack() as stack:
            engine = stack.enter_context(closing(open_index(collection)))
            stack.enter_context(only_build(collection))
            manifest, data = _write_data(collection, engine, path, date)
            try:
                if not len(data.touched):
                    manifest, is_finished = put_data(folder, manifest), True
                else:
                    index = _update_index(collection, engine, Collection.open(folder, manifest), data, n_threads)
                    is_finished = index is not None
                    manifest = put_index(folder, manifest, index.name) if index else put_data(folder, manifest)
            except BaseException:
                shutil.rmtree(folder / manifest.data_folder, ignore_errors=True)
                raise
            if is_finished:
                remove_old_indexes(collection)
        if not is_finished:
            build_index(folder, n_threads=n_threads).close()
            manifest = read_manifest(folder)
        return _summary(manifest, collection, data, warn, is_rebuilt=not is_finished)


def _summary(
    manifest: Manifest,
    collection: Collection,
    data: UpdatedData,
    warn: Callable[[str], object],
    *,
    is_rebuilt: bool = False,
) -> Update:
    known = {dimension.field for dimension in collection.dimensions}
    left_out = sorted(one.name for one in DIMENSIONS.values() if one.field in data.fields - known)
    if left_out:
        warn(f"the collection has no {', '.join(left_out)}, which changes name (import it again with these fields)")
    if data.n_unknown:
        warn(f"pages to delete that the collection does not have: {data.n_unknown:,}")
    topics = data.changes.topics
    if unknown := [topic for topic, put in topics.items() if put is None and topic not in collection.topic_by_id]:
        warn(f"topics to delete that the collection does not have: {', '.join(map(str, unknown))}")
    remove_old_data(collection.path)
    n_put = len(data.touched) - data.n_deleted - data.n_unknown
    opened = Collection.open(collection.path, manifest)
    return Update(opened, n_put, data.n_deleted, len(topics) - len(unknown), is_rebuilt)


def _write_data(
    collection: Collection, engine: Engine | None, path: Path, date: str | None
) -> tuple[Manifest, UpdatedData]:
    """A data folder with the changes, and the manifest that names it, which is not in use yet."""

    def have_articles(page_ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        assert engine is not None
        return ~np.isnan(engine.values("page_id", page_ids.tolist()))

    earlier = collection.manifest
    data, manifest = new_version(collection, lambda fresh: write_updated_data(fresh, collection, path, have_articles))
    kind = CHANGES if len(data.touched) else TOPIC_CHANGES
    source = SourceFile(named_from(collection.path, path), path.stat().st_size, md5_of(path), None)
    absent = tuple(name for name in earlier.absent if collection.known_dimensions[name].field not in data.fields)
    manifest = replace(
        manifest,
        counts={**earlier.counts, **data.counts},
        sources=with_changes(earlier.sources, kind, source),
        absent=absent,
        data_date=date or earlier.data_date,
    )
    return manifest, data


def _update_index(
    collection: Collection, engine: Engine, updated: Collection, data: UpdatedData, n_threads: int | None
) -> Path | None:
    """The folder of a complete index of the updated collection; None where it has to be rebuilt."""
    n_threads, path = n_threads or n_cores(), collection.path
    earlier = path / collection.manifest.index_folder
    known = read_state(earlier)
    assert known is not None
    kind = engine_kind(known.engine, collection.engine)
    state = BuildState(sources_of(updated), known.engine, layout_of(updated))
    if kind.copy is None or 2 * len(data.touched) > len(updated):
        return None
    for folder in built_folders(path):
        if read_state(folder) == state:
            resumed = kind.open(state.engine, folder, state.layout, n_threads)
            if resumed.mark() == UPDATED:
                return _finish(earlier, engine, folder, resumed, updated, state, data)
    folder = next_folder(path, "index", *(found.name for found in built_folders(path)))
    write_state(folder, state)
    copied = kind.copy(state.engine, earlier, folder, state.layout)
    if copied is None or copied.n_removed > MOST_REMOVED * len(updated):
        remove_folder(folder)  # in which tantivy may still make a lock file
        return None
    pages = _changed_pages(collection, copied, updated, data)
    if not copied.update(pages, data.touched[data.had_articles & ~data.have_articles].tolist(), UPDATED):
        remove_folder(folder)
        return None
    return _finish(earlier, engine, folder, copied, updated, state, data)


def _finish(
    earlier: Path,
    known: Engine,
    folder: Path,
    engine: Engine,
    updated: Collection,
    state: BuildState,
    data: UpdatedData,
) -> Path:
    """Complete an index that has the changed pages."""
    write_training_pages(updated, engine, folder)
    write_title_keys(updated, folder)
    if recorded_encoders(earlier):
        keep_vectors(earlier, known, folder, engine, data.touched)
    engine.close()
    engine.publish()
    write_checksums(folder, earlier)
    write_state(folder, replace(state, is_complete=True))
    return folder


def _changed_pages(
    collection: Collection, engine: UpdatingEngine, updated: Collection, data: UpdatedData
) -> Iterator[IndexPage]:
    """The pages to index again, each once: those with new articles, and those with other metadata."""
    written = {page for page, article in data.changes.articles.items() if article}
    if written:
        source = updated.open_corpus()
        last: dict[int, PageFields] = {}
        start = START._replace(file=changed_articles(updated.data).n_files)
        for batch in read_parsed(source, FaultLog(), start=start):
            fields = page_fields(batch.articles, site_names(source.site))
            last |= {page.page_id: page for page in fields if page.page_id in data.changes.repeated}
            once = [page for page in fields if page.page_id not in data.changes.repeated]
            yield from with_metadata(updated, once)
        yield from with_metadata(updated, list(last.values()))
    left = [page for page in data.touched[data.have_articles].tolist() if page not in written]
    for start_at in range(0, len(left), READ_AT_ONCE):
        indexed = filter(None, engine.pages(left[start_at : start_at + READ_AT_ONCE]))
        yield from with_metadata(updated, fields_of_pages(collection, indexed))


READ_AT_ONCE = 1000
"""Pages that are read from an index at a time."""
