"""The arrays of a collection on disk, opened by memory map: topics with their judged pages, titles, classes of pages,
and how often the groups of a page occur.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.core.records import Topic, no_pages
from evenrank.core.sparse import Memberships
from evenrank.io.name_lists import PageNames

LISTS = ("rel_docs", "assessed_docs")
TOPIC_FILES = ("topics.json", *(f"{name}.npy" for name in LISTS))
"""Files of a data folder that hold the topics."""


def save_topics(folder: Path, topics: Sequence[Topic]) -> None:
    """Topics as a small JSON file, their page lists as one array for each kind of list."""
    records = []
    for topic in topics:
        record = {name: getattr(topic, name) for name in _PLAIN}
        record |= {name: None if getattr(topic, name) is None else len(getattr(topic, name)) for name in LISTS}
        records.append(record)
    (folder / "topics.json").write_bytes(orjson.dumps(records))
    for name in LISTS:
        lists = [getattr(topic, name) for topic in topics if getattr(topic, name) is not None]
        np.save(folder / f"{name}.npy", np.concatenate([no_pages(), *lists]).astype("<i4"))


def load_topics(folder: Path) -> tuple[Topic, ...]:
    """The topics of `save_topics`; page lists are views of the memory map."""
    pages = {name: np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray) for name in LISTS}
    taken = dict.fromkeys(LISTS, 0)
    topics = []
    for record in orjson.loads((folder / "topics.json").read_bytes()):
        lists: dict[str, NDArray[np.int32] | None] = {}
        for name in LISTS:
            length = record[name]
            lists[name] = None if length is None else pages[name][taken[name] : taken[name] + length]
            taken[name] += length or 0
        plain = {name: record[name] for name in _PLAIN}
        topics.append(Topic(**{**plain, **lists, "keywords": tuple(record["keywords"])}))
    if any(taken[name] != len(pages[name]) for name in LISTS):
        raise ValueError("topics.json does not belong to the lists of judged pages")
    return tuple(topics)


_PLAIN = ("id", "title", "keywords", "scope", "homepage", "split", "max_tier")


TITLE_FILES = ("title_offsets.npy", "titles.npy")


class Titles:
    """The title of each page row; empty where the corpus had none."""

    def __init__(self, folder: Path) -> None:
        # Views as plain arrays: a slice of a numpy.memmap costs ten times as much.
        self.offsets: NDArray[np.int64] = np.load(folder / "title_offsets.npy", mmap_mode="r").view(np.ndarray)
        self.text: NDArray[np.uint8] = np.load(folder / "titles.npy", mmap_mode="r").view(np.ndarray)
        self._view = memoryview(self.text)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[str]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, row: int) -> str:
        begin, end = self.offsets[row], self.offsets[row + 1]
        return bytes(self._view[begin:end]).decode()

    def at(self, rows: NDArray[np.intp]) -> list[str]:
        """The titles of some rows; an empty one for a row of −1."""
        begins, ends = self.offsets[rows].tolist(), self.offsets[rows + 1].tolist()
        parts = zip(begins, ends, (rows >= 0).tolist(), strict=True)
        return [bytes(self._view[begin:end]).decode() if is_there else "" for begin, end, is_there in parts]


def save_titles(folder: Path, titles: Iterable[bytes]) -> None:
    """Write titles, one for each page row, in order."""
    parts = list(titles)
    save_title_arrays(
        folder, np.array([len(part) for part in parts], np.int64), np.frombuffer(b"".join(parts), np.uint8)
    )


def save_title_arrays(folder: Path, sizes: NDArray[np.integer], text: NDArray[np.uint8]) -> None:
    """Write titles as their sizes in bytes and their bytes."""
    offsets = np.zeros(len(sizes) + 1, "<i8")
    np.cumsum(sizes, out=offsets[1:])
    np.save(folder / TITLE_FILES[0], offsets)
    np.save(folder / TITLE_FILES[1], text)


@dataclass(frozen=True)
class GroupCounts:
    """The counts of the groups in each page's mask: row r has `values[starts[r]:starts[r + 1]]`, by ascending bit."""

    starts: NDArray[np.unsignedinteger]
    values: NDArray[np.unsignedinteger]

    def weigh(self, rows: NDArray[np.intp], groups: Memberships) -> Memberships:
        """The groups of rows with their counts as shares; a row of −1 keeps the shares that it has."""
        sizes = groups.sizes
        within = np.arange(len(groups.groups)) - np.repeat(groups.starts[:-1], sizes)
        row_of_entry = np.repeat(rows, sizes)
        is_listed = row_of_entry >= 0
        shares = groups.shares.astype(np.float64)
        shares[is_listed] = self.values[self.starts[row_of_entry[is_listed]].astype(np.int64) + within[is_listed]]
        return Memberships(groups.starts, groups.groups, shares)


def counts_files(dimension: str) -> tuple[str, str]:
    """Names of the two arrays of a dimension, without their ending."""
    return f"count-starts-{dimension}", f"counts-{dimension}"


def save_counts(
    folder: Path, dimension: str, masks: NDArray[np.unsignedinteger], values: NDArray[np.unsignedinteger]
) -> None:
    """Write the counts of all pages."""
    starts = np.concatenate([[0], np.cumsum(np.bitwise_count(masks), dtype=np.int64)])
    names = counts_files(dimension)
    np.save(folder / f"{names[0]}.npy", starts.astype("<u4" if starts[-1] < 2**32 else "<u8"))
    np.save(folder / f"{names[1]}.npy", values)


FIELD = "instance_of"
"""Field of the metadata."""
CLASS_FILES = (f"{FIELD}.npy", f"{FIELD}.json")
"""Files of a data folder: the number of each page's list of names, and the lists."""


def save_classes(folder: Path, classes: PageNames) -> None:
    """Write the classes of all pages."""
    np.save(folder / CLASS_FILES[0], classes.numbers)
    (folder / CLASS_FILES[1]).write_bytes(orjson.dumps(classes.lists))


def load_classes(folder: Path, n_pages: int) -> PageNames:
    """What `save_classes` wrote; ValueError when it does not belong to these pages."""
    numbers: NDArray[np.unsignedinteger] = np.load(folder / CLASS_FILES[0], mmap_mode="r")
    lists = tuple(map(tuple, orjson.loads((folder / CLASS_FILES[1]).read_bytes())))
    if numbers.shape != (n_pages,) or int(numbers.max(initial=0)) >= len(lists):
        raise ValueError(f"{CLASS_FILES[0]} does not belong to these pages")
    return PageNames(numbers, lists)


def names_at(classes: PageNames | None, rows: NDArray[np.intp]) -> list[tuple[str, ...]]:
    """The names of each row; none for a row of −1, nor where classes are not known."""
    if classes is None:
        return [()] * len(rows)
    numbers = np.where(rows >= 0, classes.numbers[rows], 0)
    return [classes.lists[number] for number in numbers.tolist()]
