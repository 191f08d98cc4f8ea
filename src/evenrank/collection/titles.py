"""Titles of all pages as one text with offsets, opened by memory map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TITLE_FILES = ("title_offsets.npy", "titles.npy")


class Titles:
    """The title of each page row; empty where the corpus had none."""

    def __init__(self, folder: Path) -> None:
        self._offsets: NDArray[np.int64] = np.load(folder / "title_offsets.npy", mmap_mode="r")
        self._text = np.load(folder / "titles.npy", mmap_mode="r")

    def __len__(self) -> int:
        return len(self._offsets) - 1

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


def has_titles(folder: Path, known: Mapping[str, object]) -> bool:
    """Whether a data folder should hold titles: as its manifest says or, where that names no files, as it looks."""
    return "titles.npy" in known if known else (folder / "titles.npy").exists()
