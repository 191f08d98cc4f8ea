"""A collection on disk, opened by memory map: pages with their groups, topics with their judgments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import Dimension, GroupSpace
from evenrank.core.records import Run, Topic
from evenrank.core.text_ids import FILE_NAME as IDS_FILE
from evenrank.core.text_ids import TextIds, load_text_ids
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError, UnknownNameError, WrongTypeError
from evenrank.io.judgment_record import CampaignRuns
from evenrank.io.locking import Lease
from evenrank.io.name_lists import PageNames
from evenrank.trec.arrays import (
    CLASS_FILES,
    TITLE_FILES,
    TOPIC_FILES,
    GroupCounts,
    Titles,
    counts_files,
    load_classes,
    load_topics,
)
from evenrank.trec.checksums import check_file, damaged
from evenrank.trec.dimensions import DIMENSIONS, own_dimension
from evenrank.trec.manifest import Manifest, previous_manifest, read_manifest, waiting_manifest
from evenrank.trec.page_rows import PageRows

if TYPE_CHECKING:
    from evenrank.io.articles import ArticleFile


T = TypeVar("T")
PAGE_ARRAYS = ("page_ids", "quality_class", "quality_score")
SUBJECTS = "subjects.jsonl"
"""File of a data folder with the subjects that have no article."""
LEARNED_MODEL = "relevance-model.json"
"""File with the relevance model that was learned on a collection; a release has it among its data."""
DAMAGE = (OSError, EOFError, ValueError, KeyError, TypeError)
"""What reading corrupted files raises."""


@dataclass(frozen=True)
class Collection:
    """Pages, topics and judgments. Arrays run beside `page_ids`, which ascends; a row is a position in them."""

    path: Path
    manifest: Manifest
    page_ids: NDArray[np.int32]
    quality_class: NDArray[np.uint8]
    """Class in work order (`records.WORK_ORDER`); `records.NO_CLASS` where unknown."""
    quality_score: NDArray[np.float32]
    """From 0 (needs work) to 1; NaN where unknown."""
    masks: dict[str, NDArray[np.unsignedinteger]]
    """Group masks by dimension name; bit i is the dimension's group i, bit 0 is unknown."""
    size_bytes: NDArray[np.int32] | None
    """Length of each article's text; None without a corpus."""
    page_views: NDArray[np.int64] | None = None
    """How often each page was read; −1 where unknown. None when no views were imported."""
    counts: dict[str, GroupCounts] = field(default_factory=dict)
    """How often the groups of each page occur, for the dimensions that count."""
    other_topics: tuple[Topic, ...] | None = None
    """Topics in place of those on disk; None for those on disk."""
    campaign: CampaignRuns | None = None
    """What the judgments say of the runs of their campaign; None where they say nothing."""
    engine: object = field(default=None, repr=False, compare=False)
    """The `EngineKind` that opens its index, where no entry point names it."""
    _leases: tuple[Lease, ...] = field(default=(), repr=False, compare=False)
    """Keep the folders of data and index while this collection is open, even if other processes replace both."""

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], manifest: Manifest | None = None, *, engine: object = None
    ) -> Collection:
        """The collection in a folder that `collection import` or `collection generate` made.

        `manifest` names another version than the one that the collection has now: data that wait for their index, or
        the version that another process uses, as long as that process keeps it. Where no folder has it, `path` may be
        a name of ir_datasets, such as `trec-fair/2021/eval`, whose files are in the cache of that package. `engine` is
        the `EngineKind` that the index was built with, if that was an object that no entry point names.
        """
        folder = Path(path)
        if not folder.exists():
            from evenrank.trec.ir_dataset import cached_collection  # which imports files, and so this module

            folder = cached_collection(folder.as_posix()) or folder
        if manifest is not None:
            try:
                return replace(cls._opened(folder, manifest), engine=engine)
            except DAMAGE as error:
                raise damaged(folder / manifest.data_folder, error) from error
        manifest = read_manifest(folder)
        while True:
            try:
                return replace(cls._opened(folder, manifest), engine=engine)
            except DAMAGE as error:
                known, manifest = manifest, read_manifest(folder)
                if manifest == known:  # else another process replaced data or index meanwhile
                    raise damaged(folder / manifest.data_folder, error) from error

    @classmethod
    def _opened(cls, folder: Path, manifest: Manifest) -> Collection:
        data = folder / manifest.data_folder
        leases = _leases(folder, manifest)

        def array(name: str) -> NDArray[Any]:
            check_file(data, f"{name}.npy", manifest.files)
            # A view as a plain array: each slice of a numpy.memmap costs as much as ten of one.
            loaded: NDArray[Any] = np.load(data / f"{name}.npy", mmap_mode="r").view(np.ndarray)
            return loaded

        opened = cls(
            path=folder,
            manifest=manifest,
            page_ids=array("page_ids"),
            quality_class=array("quality_class"),
            quality_score=array("quality_score"),
            masks={name: array(f"mask-{name}") for name in manifest.dimensions},
            size_bytes=array("size_bytes") if _has_titles(data, manifest) else None,
            page_views=array("page_views") if "page_views.npy" in manifest.files else None,
            counts={name: GroupCounts(*map(array, counts_files(name))) for name in manifest.counted},
            campaign=CampaignRuns(**manifest.campaign) if manifest.campaign else None,
            _leases=leases,
        )
        _check_shapes(opened)
        return opened

    def __len__(self) -> int:
        return len(self.page_ids)

    def __repr__(self) -> str:
        splits = {s: sum(t.split == s for t in self.topics) for s in ("train", "eval")}
        return (
            f"<Collection {str(self.path)!r}: {len(self):,} pages, "
            f"{splits['train']} training and {splits['eval']} evaluation topics>"
        )

    @property
    def data(self) -> Path:
        """The folder with the arrays."""
        return self.path / self.manifest.data_folder

    @property
    def subjects_file(self) -> Path | None:
        """The file of subjects that have an item and no article here; None when none was imported."""
        return self.data / SUBJECTS if SUBJECTS in self.manifest.files else None

    @property
    def learned_model(self) -> Path:
        """Where the relevance model that was learned on it is, or would be."""
        own, released = self.path / LEARNED_MODEL, self.data / LEARNED_MODEL
        return released if released.is_file() and not own.is_file() else own

    @cached_property
    def topics(self) -> tuple[Topic, ...]:
        """All topics: training topics, then evaluation topics."""
        if self.other_topics is not None:
            return self.other_topics
        return self._read(TOPIC_FILES, load_topics)

    @property
    def free_topic_id(self) -> int:
        """First number above those of the topics, for a subject that is none of them."""
        return max(self.topic_by_id, default=0) + 1

    @cached_property
    def topic_by_id(self) -> dict[int, Topic]:
        return {topic.id: topic for topic in self.topics}

    @cached_property
    def titles(self) -> Titles | None:
        """Titles by row; None without a corpus."""
        return self._read(TITLE_FILES, Titles) if _has_titles(self.data, self.manifest) else None

    @cached_property
    def classes(self) -> PageNames | None:
        """What kinds of thing pages are about, by row; None where the metadata did not say (`instance_of`)."""
        if CLASS_FILES[0] not in self.manifest.files:
            return None
        return self._read(CLASS_FILES, lambda folder: load_classes(folder, len(self)))

    @cached_property
    def text_ids(self) -> TextIds | None:
        """Ids of pages with their numbers, where ids are text; None where ids are numbers."""
        return self._read((IDS_FILE,), load_text_ids) if self.manifest.has_text_ids else None

    def _read(self, names: Iterable[str], load: Callable[[Path], T]) -> T:
        """What `load` makes of some files of the data folder; an error of ours when they are damaged."""
        try:
            for name in names:
                check_file(self.data, name, self.manifest.files)
            return load(self.data)
        except DAMAGE as error:
            raise damaged(self.data, error) from error

    def shown_id(self, page_id: int) -> int | str:
        """The id of a page as its files have it: the number itself, or text."""
        return int(page_id) if self.text_ids is None else self.text_ids.text(int(page_id))

    def titles_of(self, page_ids: Iterable[int]) -> list[str]:
        """Titles of pages; the id of a page that has none."""
        pages = list(page_ids)
        rows = self.rows_of(np.array(pages or [0], np.int64))[: len(pages)]
        titles = self.titles.at(rows) if self.titles else [""] * len(pages)
        return [title or f"Page {self.shown_id(page)}" for page, title in zip(pages, titles, strict=True)]

    def with_topics(self, topics: Iterable[Topic]) -> Collection:
        """The same pages with other topics or judgments."""
        return replace(self, other_topics=tuple(topics))

    @property
    def corpus(self) -> Path | None:
        """The corpus file; None when the collection was made without one."""
        source = self.manifest.sources.get("corpus")
        return None if source is None else self.path / source.path

    def open_corpus(self) -> ArticleFile:
        """The articles of the corpus, under the numbers that the collection gives them."""
        from evenrank.io.articles import CHANGED_ARTICLES, open_articles

        if self.corpus is None:
            raise EvenrankError(f"{self.path}: no corpus (import the collection with --corpus)")
        ids_folder = self.data if self.manifest.has_text_ids else None
        changes = self.data if CHANGED_ARTICLES in self.manifest.files else None
        return open_articles(self.corpus, ids_folder=ids_folder, changes=changes, language=self.manifest.language)

    @property
    def n_changes(self) -> int:
        """How many updates have changed its articles."""
        return sum(name.startswith("articles-") for name in self.manifest.files)

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The dimensions that the pages are annotated with."""
        missing = [name for name in self.manifest.dimensions if name not in self.known_dimensions]
        if missing:
            found = f"{self.path}: has the dimension {', '.join(missing)} of a plug-in that is not installed"
            raise EvenrankError(f"{found} (install it, or import the collection again)")
        return tuple(self.known_dimensions[name] for name in self.manifest.dimensions)

    @cached_property
    def known_dimensions(self) -> Mapping[str, Dimension]:
        """All dimensions by name: Evenrank's, those of plug-ins, and the collection's own."""
        own = self.manifest.own_dimensions
        return DIMENSIONS.with_more({name: own_dimension(name, record) for name, record in own.items()})

    def has_groups(self, dimension: str) -> bool:
        """Whether the metadata say anything about a dimension."""
        return dimension in self.masks and dimension not in self.manifest.absent

    def default_groups(self, usual: Iterable[str]) -> tuple[str, ...]:
        """The dimensions to use where none are named: the usual ones, or its own if it has none of those."""
        names = tuple(usual)
        own = tuple(self.manifest.own_dimensions)
        return own if own and not any(map(self.has_groups, names)) else names

    def space(self, groups: str = "intersection") -> GroupSpace:
        """The group space of `geography`, `gender`, …; of `intersection` (geography and gender); or of several
        names joined by commas."""
        names = ["geography", "gender"] if groups == "intersection" else [part.strip() for part in groups.split(",")]
        for name in names:
            if name not in self.masks:
                if name == "intersection":
                    raise EvenrankError(f"groups {groups!r}: give intersection alone (it means geography,gender)")
                raise UnknownNameError("dimension", name, ["intersection", *self.masks], f"of {self.path}")
            if names.count(name) > 1:
                raise EvenrankError(f"groups {groups!r}: dimension {name!r} appears twice (name each once)")
        return GroupSpace(tuple(self.known_dimensions[name] for name in names))

    @cached_property
    def _page_rows(self) -> PageRows:
        return PageRows(self.page_ids)

    def rows_of(self, page_ids: NDArray[np.integer]) -> NDArray[np.intp]:
        """The row of each page; −1 for a page that has no metadata."""
        return self._page_rows.rows(np.asarray(page_ids))

    def has_pages(self, page_ids: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which of the pages have metadata."""
        return self._page_rows.contain(np.asarray(page_ids))

    @cached_property
    def _relevant_rows(self) -> dict[int, NDArray[np.intp]]:
        return {}

    def relevant_rows(self, topic: Topic) -> NDArray[np.intp]:
        """Rows of the topic's relevant pages that have metadata (looked up once for each topic)."""
        if topic.id not in self._relevant_rows:
            self.look_up_relevant([topic])
        return self._relevant_rows[topic.id]

    def look_up_relevant(self, topics: Iterable[Topic]) -> None:
        """Look the relevant pages of several topics up at once, which is faster than topic by topic."""
        new = [topic for topic in topics if topic.id not in self._relevant_rows]
        if not new:
            return
        rows = self.rows_of(np.concatenate([topic.rel_docs for topic in new]))
        ends = np.cumsum([len(topic.rel_docs) for topic in new])
        for topic, found in zip(new, np.split(rows, ends[:-1]), strict=True):
            self._relevant_rows[topic.id] = found[found >= 0]

    def masks_of(self, rows: NDArray[np.intp], space: GroupSpace, missing: int) -> list[NDArray[np.unsignedinteger]]:
        """The masks of rows, for each dimension of `space`; rows of −1 get the mask `missing`."""
        found = []
        for dimension in space.dimensions:
            mask = self.masks[dimension.name][rows]
            mask[rows < 0] = missing
            found.append(mask)
        return found


def _leases(folder: Path, manifest: Manifest) -> tuple[Lease, ...]:
    """Leases of the data and the index of a version; FileNotFoundError when it was replaced and removed meanwhile."""
    of_data = Lease(folder / manifest.data_folder)
    if not manifest.index_folder:
        return (of_data,)
    try:
        return of_data, Lease(folder / manifest.index_folder)
    except FileNotFoundError:
        if previous_manifest(folder) not in (manifest, None):
            raise
        return (of_data,)  # a collection of an earlier version that has no index


def _has_titles(data: Path, manifest: Manifest) -> bool:
    """Whether a data folder should hold titles: as its manifest says or, where that names no files, as it looks."""
    return "titles.npy" in manifest.files if manifest.files else (data / "titles.npy").exists()


def _check_shapes(collection: Collection) -> None:
    """ValueError when an array has not one value for each page."""
    arrays: dict[str, NDArray[Any]] = {name: getattr(collection, name) for name in PAGE_ARRAYS}
    arrays |= collection.masks
    if collection.size_bytes is not None:
        arrays["size_bytes"] = collection.size_bytes
    if collection.page_views is not None:
        arrays["page_views"] = collection.page_views
    n_pages = collection.manifest.counts.get("pages")
    for name, array in arrays.items():
        if array.shape != (n_pages,) or array.dtype.hasobject:
            raise ValueError(f"{name} has the shape {array.shape}, where {n_pages} pages were expected")
    for name, counts in collection.counts.items():
        if len(counts.starts) != len(collection) + 1 or counts.starts[-1] != len(counts.values):
            raise ValueError(f"the counts of {name} do not belong to these pages")


TopicChoice = str | int | Iterable[str | int]
"""`train`, `eval`, `all`, an id, ids joined by commas, or several of these."""
SPLITS = ("train", "eval", "all")


def as_collection(collection: Collection | FilePath) -> Collection:
    """The collection itself, or the one in a folder."""
    if isinstance(collection, Collection):
        return collection
    if not isinstance(collection, (str, os.PathLike)):
        raise WrongTypeError(collection, "collection", "a Collection, or the path of its folder")
    return Collection.open(collection)


def newest_collection(collection: Collection | FilePath) -> Collection:
    """The collection with the data that wait for their index, if there are any."""
    opened = as_collection(collection)
    waiting = waiting_manifest(opened.path)
    return opened if waiting is None else Collection.open(opened.path, waiting, engine=opened.engine)


class HasRun(Protocol):
    """What has a run, as the result of `rank` does."""

    @property
    def run(self) -> Run: ...


GivenRun = Run | FilePath | HasRun
"""A run as functions take it."""


def given_runs(runs: GivenRun | Iterable[GivenRun]) -> list[Run | FilePath]:
    """The runs as a list, whether one or several are given."""
    is_one = isinstance(runs, (Run, str, os.PathLike)) or not isinstance(runs, Iterable)
    given: list[Run | FilePath] = []
    for one in [runs] if is_one else runs:  # type: ignore[union-attr]
        made = getattr(one, "run", None)
        if isinstance(one, (Run, str, os.PathLike)):
            given.append(one)
        elif isinstance(made, Run):
            given.append(made)
        else:
            raise WrongTypeError(one, "run", "a Run, what `rank` gave, the path of a run file, or a list of these")
    return given


def given_run(run: GivenRun) -> Run | FilePath:
    """The one run that is given."""
    given = given_runs(run)
    if len(given) != 1:
        raise WrongTypeError(run, "run", "one Run, what `rank` gave for one, or the path of a run file")
    return given[0]


def as_run(collection: Collection, run: GivenRun) -> Run:
    """A run, or the one in a file, whose pages have the numbers that the collection gives them."""
    from evenrank.io.runs import read_run

    run = given_run(run)
    ids = collection.text_ids
    if not isinstance(run, Run):
        return read_run(run, ids)
    if run.ids is ids:
        return run
    if run.ids is None or ids is None:
        kinds = ("whole numbers", "text")
        found, wanted = kinds if run.ids is None else kinds[::-1]
        raise EvenrankError(f"{run.name}: page ids are {found}, but those of {collection.path} are {wanted}")
    return replace(run, pages=run.ids.renumbered(ids)[run.pages], ids=ids)


def choose_topics(collection: Collection, wanted: TopicChoice) -> list[int]:
    """Ids of the chosen topics, ascending; several choices add up."""
    chosen: set[int] = set()
    for part in _parts(wanted):
        if part in SPLITS:
            chosen |= {topic.id for topic in collection.topics if part in (topic.split, "all")}
        elif part.isdecimal() and int(part) in collection.topic_by_id:
            chosen.add(int(part))
        else:
            ids = ", ".join(map(str, sorted(collection.topic_by_id)[:4]))
            raise UnknownNameError("topic", part, SPLITS, f"or an id of {collection.path}, such as {ids}")
    if not chosen:
        has = ", ".join(sorted({topic.split for topic in collection.topics})) or "none at all"
        names = ", ".join(_parts(wanted))
        raise EvenrankError(f"{collection.path}: no topics of {names!r} (choose others with --topics; it has: {has})")
    return sorted(chosen)


def _parts(wanted: TopicChoice) -> list[str]:
    if isinstance(wanted, str):
        return [part.strip() for part in wanted.split(",")]
    if not isinstance(wanted, Iterable):
        return [str(wanted)]
    return [part for one in wanted for part in _parts(one)]
