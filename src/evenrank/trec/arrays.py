"""Topics with their judged pages, and titles, as flat arrays on disk that are opened by memory map."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.core.records import Topic, no_pages

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
    pages = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in LISTS}
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
        self._offsets: NDArray[np.int64] = np.load(folder / "title_offsets.npy", mmap_mode="r").view(np.ndarray)
        self._text = memoryview(np.load(folder / "titles.npy", mmap_mode="r").view(np.ndarray))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __iter__(self) -> Iterator[str]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, row: int) -> str:
        begin, end = self._offsets[row], self._offsets[row + 1]
        return bytes(self._text[begin:end]).decode()


def save_titles(folder: Path, titles: Iterable[bytes]) -> None:
    """Write titles, one for each page row, in order."""
    parts = list(titles)
    offsets = np.zeros(len(parts) + 1, "<i8")
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    np.save(folder / "title_offsets.npy", offsets)
    np.save(folder / "titles.npy", np.frombuffer(b"".join(parts), np.uint8))
