"""Vectors of pages as int8 in one memory-mapped file, so that no page is ever encoded twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class _Records(NamedTuple):
    """The records of the file, by rising page id."""

    values: NDArray[np.void]
    order: NDArray[np.intp]
    page_ids: NDArray[np.int32]


class VectorCache:
    """An append-only file of (page id, scale, int8 vector) records, which threads and processes may share.

    A record that a kill tore is passed over, and cut off before the next one is added.
    """

    def __init__(self, path: Path, n_dimensions: int) -> None:
        self.path = path
        self._dtype = np.dtype([("page_id", "<i4"), ("scale", "<f4"), ("values", "i1", (n_dimensions,))])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        self._records = self._read()

    def _read(self) -> _Records:
        n = self.path.stat().st_size // self._dtype.itemsize
        values = np.memmap(self.path, self._dtype, "r", shape=(n,)) if n else np.empty(0, self._dtype)
        page_ids = np.asarray(values["page_id"])
        order = np.argsort(page_ids, kind="stable")
        return _Records(values, order, page_ids[order])

    def __len__(self) -> int:
        return len(self._records.values)

    def missing(self, page_ids: NDArray[np.integer]) -> NDArray[np.integer]:
        """Those of `page_ids` that have no vector yet, without repetition, in their order."""
        distinct, first = np.unique(page_ids, return_index=True)
        absent = ~np.isin(distinct, self._records.page_ids)
        return np.asarray(page_ids[np.sort(first[absent])])

    def add(self, pages: Iterable[tuple[int, Vectors]]) -> None:
        """Append vectors; they are on disk one by one, so that nothing is lost when the work is interrupted."""
        try:
            with self.path.open("ab", buffering=self._dtype.itemsize * 64) as file, _alone(file):
                file.truncate(self.path.stat().st_size // self._dtype.itemsize * self._dtype.itemsize)
                for page_id, vector in pages:
                    file.write(self._record(page_id, vector).tobytes())
        finally:
            self._records = self._read()

    def _record(self, page_id: int, vector: Vectors) -> NDArray[np.void]:
        record = np.empty((), self._dtype)
        scale = float(np.abs(vector).max()) / 127.0 or 1.0
        record["page_id"], record["scale"] = page_id, scale
        record["values"] = np.round(vector / scale)
        return record

    def get(self, page_ids: NDArray[np.integer]) -> Vectors:
        """The vector of each page; KeyError for one that has none."""
        values, order, known = self._records
        at = np.minimum(np.searchsorted(known, page_ids), max(len(known) - 1, 0))
        if len(page_ids) and (not len(known) or (known[at] != page_ids).any()):
            raise KeyError("a page without a vector was asked for")
        records = values[order[at]]
        return np.asarray(records["values"] * records["scale"][:, None], np.float32)


@contextmanager
def _alone(file: IO[bytes]) -> Iterator[None]:
    """Keep other threads and processes from writing to a file, where the system can (not on Windows)."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        file.flush()
        fcntl.flock(file, fcntl.LOCK_UN)
