"""The data of a collection with some pages and topics changed: a new data folder, made from the one in use.

Files that stay the same, and the articles of earlier updates, are the same on disk, too.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.core.text_ids import TextIds, save_text_ids
from evenrank.errors import input_error, reason_of
from evenrank.io.articles import (
    CHANGED_ARTICLES,
    REMOVED,
    ChangedArticles,
    article_facts,
    changed_articles,
    changes_file,
    map_articles,
    read_parsed,
    save_changed_articles,
)
from evenrank.io.atomic import link_or_copy, sync_tree
from evenrank.io.content import START
from evenrank.io.faults import FaultLog
from evenrank.io.json_lines import MAX_FAULTS
from evenrank.io.metadata import Metadata
from evenrank.io.name_lists import NameLists, PageNames, number_by_first_page
from evenrank.io.topics import list_judged
from evenrank.trec.arrays import (
    FIELD,
    TITLE_FILES,
    TOPIC_FILES,
    save_classes,
    save_counts,
    save_title_arrays,
    save_topics,
)
from evenrank.trec.changes import ChangedArticle, Changes, article_line, packed_lines, read_changes
from evenrank.trec.checksums import folder_facts
from evenrank.trec.collection import SUBJECTS, Collection
from evenrank.trec.import_files import count_topics, own_version
from evenrank.trec.manifest import Manifest, SourceFile, new_data_folder, next_folder
from evenrank.trec.page_rows import PageRows

T = TypeVar("T")
MOST_FILES = 64
"""Files of changed articles, and of changes that a manifest names. An update that would make more puts those of earlier
updates together, without articles that were replaced since: a collection that is updated every hour takes no more room
and time after a year."""
HaveArticles = Callable[[NDArray[np.int32]], NDArray[np.bool_]]
"""Which of some pages have an article now."""


@dataclass(frozen=True)
class UpdatedData:
    """What a new data folder holds."""

    changes: Changes
    counts: dict[str, int]
    fields: frozenset[str]
    """Keys of the changed metadata."""
    touched: NDArray[np.int32]
    """All pages of the changes, ascending."""
    had_articles: NDArray[np.bool_]
    """Which of them had an article."""
    have_articles: NDArray[np.bool_]
    """Which of them have one now."""
    n_deleted: int
    """Pages that the collection had and no longer has."""
    n_unknown: int
    """Pages to delete that the collection did not have."""


def write_updated_data(folder: Path, collection: Collection, path: Path, have_articles: HaveArticles) -> UpdatedData:
    """Write the data of a collection as the changes in a file leave them; InputError with all faults of the file."""
    faults, ids = FaultLog(MAX_FAULTS), copied_ids(collection.text_ids)
    known = changed_articles(collection.data) if CHANGED_ARTICLES in collection.manifest.files else None
    n_files = known.n_files if known else 0
    with packed_lines(changes_file(folder, n_files + 1)) as write_article:
        changes = read_changes(
            path, ids, has_articles=collection.corpus is not None, write_article=write_article, faults=faults
        )
    written = sorted(changes.written - changes.metadata.keys())
    has_metadata = collection.has_pages(np.array(written, np.int32)).tolist()
    changes.metadata |= {page: (0, b"{}") for page, has in zip(written, has_metadata, strict=True) if not has}
    names = None if collection.classes is None else NameLists(FIELD)
    metadata = changes.columns(path, collection.dimensions, names, faults)
    faults.faults.sort(key=lambda fault: fault.line)  # metadata are read last
    faults.raise_if_any()
    _save_articles(folder, collection, changes, known)
    pages = _ChangedPages.of(collection, changes, metadata)
    _save_columns(folder, collection, pages)
    had_articles = np.zeros(len(pages.touched), bool)
    if collection.corpus is not None:
        had_articles = have_articles(pages.touched)
        _save_titles(folder, collection, pages, changes, had_articles)
    topics = _save_topics(folder, collection, changes, pages.page_ids)
    if ids is not None:
        save_text_ids(folder, ids)
    if SUBJECTS in collection.manifest.files:
        link_or_copy(collection.data / SUBJECTS, folder / SUBJECTS)
    article_changes = [changes.articles.get(page, ...) for page in pages.touched.tolist()]
    kept = zip(had_articles.tolist(), article_changes, strict=True)
    has_article = np.array([had if change is ... else change is not None for had, change in kept], bool)
    had_metadata, has_metadata = collection.has_pages(pages.touched), np.isin(pages.touched, pages.coming)
    is_gone = ~has_article & ~has_metadata
    was_there = had_articles | had_metadata
    counts = {"pages": len(pages.page_ids), "metadata_lines": len(pages.page_ids)} | count_topics(topics)
    if collection.corpus is not None:
        pairs = (
            ("corpus_pages", had_articles, has_article),
            (
                "corpus_pages_without_metadata",
                had_articles & ~had_metadata,
                has_article & ~has_metadata,
            ),
        )
        counts |= {name: collection.manifest.counts[name] + int(now.sum()) - int(was.sum()) for name, was, now in pairs}
    return UpdatedData(
        changes,
        counts,
        frozenset() if metadata is None else metadata.fields,
        pages.touched,
        had_articles,
        has_article,
        int((is_gone & was_there).sum()),
        int((is_gone & ~was_there).sum()),
    )


def with_changes(sources: Mapping[str, SourceFile], kind: str, source: SourceFile) -> dict[str, SourceFile]:
    """The sources of a collection with one more file of changes; many earlier ones are put together."""
    earlier = {name: one for name, one in sources.items() if name.startswith(kind)}
    kept = {name: one for name, one in sources.items() if name not in earlier}
    if len(earlier) >= MOST_FILES:
        marks = " ".join(f"{one.size_bytes}:{one.md5}" for one in earlier.values())
        mark = hashlib.md5(marks.encode(), usedforsecurity=False).hexdigest()
        joined = SourceFile("earlier changes", sum(one.size_bytes for one in earlier.values()), mark, None)
        earlier = {f"{kind}1": joined}
    return {**kept, **earlier, f"{kind}{len(earlier) + 1}": source}


def new_version(collection: Collection, write: Callable[[Path], T]) -> tuple[T, Manifest]:
    """What a function gives that writes the files of a new data folder, and the manifest that names the folder; both
    are not in use yet."""
    folder, earlier = collection.path, collection.manifest
    fresh, final = new_data_folder(folder), next_folder(folder, "data", earlier.data_folder)
    try:
        given = write(fresh)
        fresh.chmod(folder.stat().st_mode)
        facts = folder_facts(fresh, collection.data, earlier.files)
        sync_tree(fresh)
        os.replace(fresh, final)
    except BaseException as error:
        shutil.rmtree(fresh, ignore_errors=True)
        if isinstance(error, OSError):
            raise input_error(folder, 0, f"could not be written: {reason_of(error)}", "free some space") from error
        raise
    version = own_version()
    return given, replace(earlier, data_folder=final.name, evenrank_version=version, files=facts, index_folder="")


def copied_ids(ids: TextIds | None) -> TextIds | None:
    """Ids that may grow while those given stay as they are."""
    return None if ids is None else TextIds(ids.texts(range(1, len(ids) + 1)))


def _save_articles(folder: Path, collection: Collection, changes: Changes, known: ChangedArticles | None) -> None:
    """Keep the articles of earlier updates beside the new ones."""
    n_files, file_of = (known.n_files, known.file_of) if known else (0, {})
    new = changes_file(folder, n_files + 1)
    if changes.articles and n_files >= MOST_FILES:
        _put_together(
            folder, collection, {page for page, file in file_of.items() if file > 0} - changes.articles.keys()
        )
        n_files, file_of = 1, {page: min(file, 1) for page, file in file_of.items()}
        os.replace(new, changes_file(folder, n_files + 1))
    else:
        for file in range(1, n_files + 1):
            link_or_copy(changes_file(collection.data, file), changes_file(folder, file))
    if not changes.articles:
        new.unlink()
        if known is not None:
            link_or_copy(collection.data / CHANGED_ARTICLES, folder / CHANGED_ARTICLES)
        return
    changed = {page: n_files + 1 if article else REMOVED for page, article in changes.articles.items()}
    save_changed_articles(folder, {**file_of, **changed})


def _put_together(folder: Path, collection: Collection, wanted: set[int]) -> None:
    """One file of the articles that updates changed and that are still wanted."""
    batches = read_parsed(collection.open_corpus(), FaultLog(), start=START._replace(file=1))
    with packed_lines(changes_file(folder, 1)) as write:
        for batch in batches:
            for article in batch.articles:
                if article.page_id in wanted:
                    write(article_line(article))


class _ChangedPages(NamedTuple):
    """Where rows leave the columns of a collection, and which rows come in."""

    touched: NDArray[np.int32]
    """All pages of the changes, ascending."""
    left_out: NDArray[np.intp]
    """Rows of the collection that go, or come in again."""
    coming: NDArray[np.int32]
    """Pages whose rows come in, ascending."""
    places: NDArray[np.intp]
    """Where each comes in among the rows that stay."""
    old_rows: NDArray[np.intp]
    """The row that each has in the collection, or −1."""
    new_rows: NDArray[np.intp]
    """The row that each has in the changed metadata, or −1 where those stay."""
    metadata: Metadata | None
    page_ids: NDArray[np.int32]
    """All pages afterwards."""

    @classmethod
    def of(cls, collection: Collection, changes: Changes, metadata: Metadata | None) -> _ChangedPages:
        touched = np.array(sorted(changes.metadata.keys() | changes.articles.keys()), np.int32)
        rows = collection.rows_of(touched)
        has_metadata = np.array([changes.metadata.get(page, ()) is not None for page in touched.tolist()], bool)
        is_changed = np.array([page in changes.metadata for page in touched.tolist()], bool)
        is_coming = has_metadata & (is_changed | (rows >= 0))
        coming, left_out = touched[is_coming], rows[rows >= 0]
        staying = np.delete(collection.page_ids, left_out)
        places = np.searchsorted(staying, coming)
        new_rows = np.full(len(coming), -1) if metadata is None else PageRows(metadata.page_ids).rows(coming)
        page_ids = np.insert(staying, places, coming)
        return cls(touched, left_out, coming, places, rows[is_coming], new_rows, metadata, page_ids)

    def column(self, old: NDArray[Any], new: NDArray[Any] | None, default: object = 0) -> NDArray[Any]:
        """A column afterwards; rows that are in neither have a default."""
        block = np.full(len(self.coming), default, old.dtype)
        has_old = self.old_rows >= 0
        block[has_old] = old[self.old_rows[has_old]]
        if new is not None:
            block[self.new_rows >= 0] = new[self.new_rows[self.new_rows >= 0]]
        return np.insert(np.delete(old, self.left_out), self.places, block)

    def ragged(self, sizes: NDArray[np.integer], values: NDArray[Any], block: list[NDArray[Any]]) -> NDArray[Any]:
        """Values of rows of different sizes afterwards; `block` has those of the rows that come in."""
        starts = np.cumsum(sizes, dtype=np.int64) - sizes
        gone = [np.arange(starts[row], starts[row] + sizes[row]) for row in self.left_out.tolist()]
        kept = np.delete(values, np.concatenate([np.empty(0, np.intp), *gone]))
        kept_sizes = np.delete(sizes, self.left_out)
        ends = np.concatenate([[0], np.cumsum(kept_sizes, dtype=np.int64)])
        places = np.repeat(ends[self.places], [len(part) for part in block])
        return np.insert(kept, places, np.concatenate([values[:0], *block]))


def _save_columns(folder: Path, collection: Collection, pages: _ChangedPages) -> None:
    """What the metadata say."""
    new = pages.metadata
    np.save(folder / "page_ids.npy", pages.page_ids)
    for name in ("quality_class", "quality_score"):
        np.save(
            folder / f"{name}.npy", pages.column(getattr(collection, name), None if new is None else getattr(new, name))
        )
    for name, mask in collection.masks.items():
        masks = pages.column(mask, None if new is None else new.masks[name])
        np.save(folder / f"mask-{name}.npy", masks)
        if name in collection.counts:
            save_counts(folder, name, masks, _counts_of_groups(collection, name, pages))
    if collection.classes is not None:
        save_classes(folder, _classes(collection.classes, pages))
    if collection.page_views is not None:
        np.save(folder / "page_views.npy", pages.column(collection.page_views, None, default=-1))


def _counts_of_groups(collection: Collection, name: str, pages: _ChangedPages) -> NDArray[np.unsignedinteger]:
    known = collection.counts[name]
    wide = known.values.astype(np.uint32)
    block = []
    new = None if pages.metadata is None else pages.metadata.counts[name]
    new_ends = (
        None if pages.metadata is None else np.cumsum(np.bitwise_count(pages.metadata.masks[name]), dtype=np.int64)
    )
    for old_row, new_row in zip(pages.old_rows.tolist(), pages.new_rows.tolist(), strict=True):
        if new is not None and new_ends is not None and new_row >= 0:
            block.append(new[new_ends[new_row - 1] if new_row else 0 : new_ends[new_row]])
        else:
            block.append(wide[int(known.starts[old_row]) : int(known.starts[old_row + 1])])
    starts = known.starts.astype(np.int64)
    values = pages.ragged(starts[1:] - starts[:-1], wide, block)
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def _classes(known: PageNames, pages: _ChangedPages) -> PageNames:
    lists = dict(enumerate(known.lists))
    new = None if pages.metadata is None else pages.metadata.names
    numbers = None
    if new is not None:
        number_of = {names: number for number, names in lists.items()}
        renumbered = [number_of.setdefault(names, len(number_of)) for names in new.lists]
        lists = {number: names for names, number in number_of.items()}
        numbers = np.array(renumbered, np.int64)[new.numbers]
    return number_by_first_page(pages.column(known.numbers.astype(np.int64), numbers), lists)


def _save_titles(
    folder: Path, collection: Collection, pages: _ChangedPages, changes: Changes, had_articles: NDArray[np.bool_]
) -> None:
    """Titles and sizes of articles."""
    assert collection.titles is not None
    assert collection.size_bytes is not None
    nothing = ChangedArticle(b"", 0)
    found: dict[int, ChangedArticle] = {}
    unknown = []
    for page, row in zip(pages.coming.tolist(), pages.old_rows.tolist(), strict=True):
        if page in changes.articles:
            found[page] = changes.articles[page] or nothing
        elif row >= 0:
            found[page] = ChangedArticle(collection.titles[row].encode(), int(collection.size_bytes[row]))
        else:
            unknown.append(page)
    if unindexed := frozenset(unknown) & frozenset(pages.touched[had_articles].tolist()):
        found |= _look_up(collection, unindexed)
    block = [found.get(page, nothing) for page in pages.coming.tolist()]
    sizes = np.insert(np.delete(collection.size_bytes, pages.left_out), pages.places, [one.size_bytes for one in block])
    np.save(folder / "size_bytes.npy", sizes)
    offsets, text = (np.load(collection.data / name, mmap_mode="r") for name in TITLE_FILES)
    titles = [np.frombuffer(one.title, np.uint8) for one in block]
    lengths = np.diff(offsets)
    new_lengths = np.insert(np.delete(lengths, pages.left_out), pages.places, [len(title) for title in titles])
    save_title_arrays(folder, new_lengths, pages.ragged(lengths, text, titles))


def _look_up(collection: Collection, wanted: frozenset[int]) -> dict[int, ChangedArticle]:
    """Articles of pages that had no metadata, from a pass over the corpus."""
    found: dict[int, ChangedArticle] = {}
    for batch in map_articles(article_facts, collection.open_corpus(), FaultLog(), label="corpus", n_workers=1):
        page_ids, sizes, titles, _ = batch.result
        rows = zip(page_ids.tolist(), sizes.tolist(), titles, strict=True)
        found |= {page: ChangedArticle(title, size) for page, size, title in rows if page in wanted}
    return found


def _save_topics(
    folder: Path, collection: Collection, changes: Changes, page_ids: NDArray[np.int32]
) -> Sequence[Topic]:
    if not changes.topics:
        for name in TOPIC_FILES:
            link_or_copy(collection.data / name, folder / name)
        return collection.topics
    by_id = {topic.id: topic for topic in collection.topics} | changes.topics
    left = [list_judged(topic, page_ids) for topic in by_id.values() if topic is not None]
    topics = sorted(left, key=lambda topic: topic.split != "train")
    save_topics(folder, topics)
    return topics
