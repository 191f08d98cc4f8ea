"""Vectors of pages as int8 in one memory-mapped file, so that no page is ever encoded twice."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class VectorCache:
    """An append-only file of (page id, scale, int8 vector) records. A record that a kill tore is cut off at open."""

    def __init__(self, path: Path, n_dimensions: int) -> None:
        self.path = path
        self._dtype = np.dtype([("page_id", "<i4"), ("scale", "<f4"), ("values", "i1", (n_dimensions,))])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        whole = path.stat().st_size // self._dtype.itemsize * self._dtype.itemsize
        if whole != path.stat().st_size:
            with path.open("r+b") as file:
                file.truncate(whole)
        self._map()

    def _map(self) -> None:
        n_records = self.path.stat().st_size // self._dtype.itemsize
        self._records = np.memmap(self.path, self._dtype, "r") if n_records else np.empty(0, self._dtype)
        page_ids = np.asarray(self._records["page_id"])
        self._order = np.argsort(page_ids, kind="stable")
        self._sorted = page_ids[self._order]

    def __len__(self) -> int:
        return len(self._records)

    def missing(self, page_ids: NDArray[np.integer]) -> NDArray[np.integer]:
        """Those of `page_ids` that have no vector yet, without repetition, in their order."""
        distinct, first = np.unique(page_ids, return_index=True)
        absent = ~np.isin(distinct, self._sorted)
        return np.asarray(page_ids[np.sort(first[absent])])

    def add(self, pages: Iterable[tuple[int, Vectors]]) -> None:
        """Append vectors; they are on disk one by one, so that nothing is lost when the work is interrupted."""
        try:
            with self.path.open("ab", buffering=self._dtype.itemsize * 64) as file:
                for page_id, vector in pages:
                    file.write(self._record(page_id, vector).tobytes())
        finally:
            self._map()

    def _record(self, page_id: int, vector: Vectors) -> NDArray[np.void]:
        record = np.empty((), self._dtype)
        scale = float(np.abs(vector).max()) / 127.0 or 1.0
        record["page_id"], record["scale"] = page_id, scale
        record["values"] = np.round(vector / scale)
        return record

    def get(self, page_ids: NDArray[np.integer]) -> Vectors:
        """The vector of each page; KeyError for one that has none."""
        at = np.minimum(np.searchsorted(self._sorted, page_ids), max(len(self._sorted) - 1, 0))
        if len(page_ids) and (not len(self) or (self._sorted[at] != page_ids).any()):
            raise KeyError("a page without a vector was asked for")
        records = self._records[self._order[at]]
        return np.asarray(records["values"] * records["scale"][:, None], np.float32)
