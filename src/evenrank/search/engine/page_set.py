"""A set of page ids as a bit map: 9 MB for English Wikipedia, where a set of objects takes half a gigabyte."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.formats.atomic import atomic_file


class PageSet:
    """Page ids that were seen."""

    def __init__(self, bits: NDArray[np.uint8] | None = None) -> None:
        self._bits = np.zeros(0, np.uint8) if bits is None else bits

    def add(self, page_ids: Sequence[int]) -> list[int]:
        """Put in all page ids; returns those that were in before."""
        ids = np.unique(np.asarray(page_ids, np.int64))
        if not len(ids):
            return []
        self._grow(int(ids[-1]) // 8 + 1)
        bit = np.left_shift(1, ids % 8).astype(np.uint8)
        before = (self._bits[ids // 8] & bit) > 0
        np.bitwise_or.at(self._bits, ids // 8, bit)
        return [int(page_id) for page_id in ids[before]]

    def _grow(self, n_bytes: int) -> None:
        if n_bytes > len(self._bits):
            more = np.zeros(max(n_bytes, 2 * len(self._bits)) - len(self._bits), np.uint8)
            self._bits = np.concatenate([self._bits, more])

    def save(self, path: Path) -> None:
        with atomic_file(path) as file:
            np.save(file, self._bits)

    @classmethod
    def load(cls, path: Path) -> PageSet:
        """The set in a file; the empty set when there is no file."""
        return cls(np.load(path)) if path.exists() else cls()
