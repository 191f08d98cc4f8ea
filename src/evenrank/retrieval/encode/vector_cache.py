"""Vectors of pages as int8 in one memory-mapped file: no page is encoded twice, and the nearest are found exactly."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.retrieval.encode.record_file import append_records, read_file_records

Vectors = NDArray[np.float32]

MOST_UNPACKED = 200_000
"""Vectors that are kept as floats once they are searched (300 MB); of more, blocks are unpacked for each search."""
BLOCK = 20_000
"""Vectors that are unpacked at a time."""


class _Records:
    """The records of the file as they were when it was read, and their order by page id."""

    def __init__(self, values: NDArray[np.void]) -> None:
        self.values = values
        page_ids = np.asarray(values["page_id"])
        self.order = np.argsort(page_ids, kind="stable")
        self.page_ids = page_ids[self.order]

    @cached_property
    def unpacked(self) -> Vectors:
        return unpack_vectors(self.values)

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """The mean vector; blocks are unpacked in turn."""
        starts = range(0, len(self.values), BLOCK)
        total = sum(
            (unpack_vectors(self.values[at : at + BLOCK]).sum(axis=0, dtype=np.float64) for at in starts), np.zeros(1)
        )
        return np.asarray(total / max(len(self.values), 1))

    def similarities(self, vector: NDArray[np.floating]) -> Vectors:
        """The dot product of each record with a vector."""
        wanted = np.asarray(vector, np.float32)
        if len(self.values) <= MOST_UNPACKED:
            return dot_products(self.unpacked, wanted)
        starts = range(0, len(self.values), BLOCK)
        return np.concatenate([dot_products(unpack_vectors(self.values[at : at + BLOCK]), wanted) for at in starts])


def dot_products(vectors: Vectors, vector: NDArray[np.floating]) -> Vectors:
    """The dot product of each vector with one; not by BLAS, so the bits do not depend on the number of cores."""
    return np.asarray(np.einsum("pd,d->p", vectors, np.asarray(vector, np.float32)))


def unpack_vectors(records: NDArray[np.void]) -> Vectors:
    """The vectors of records as floats."""
    return np.asarray(records["values"] * records["scale"][:, None], np.float32)


class VectorCache:
    """An append-only file of (page id, scale, int8 vector) records."""

    def __init__(self, path: Path, n_dimensions: int) -> None:
        self.path = path
        self._dtype = np.dtype([("page_id", "<i4"), ("scale", "<f4"), ("values", "i1", (n_dimensions,))])
        self._records = _Records(read_file_records(path, self._dtype))

    def __len__(self) -> int:
        return len(self._records.values)

    def missing(self, page_ids: NDArray[np.integer]) -> NDArray[np.integer]:
        """Those of `page_ids` that have no vector yet, without repetition, in their order."""
        distinct, first = np.unique(page_ids, return_index=True)
        known = self._records.page_ids
        at = np.minimum(np.searchsorted(known, distinct), max(len(known) - 1, 0))
        absent = known[at] != distinct if len(known) else np.ones(len(distinct), bool)
        return np.asarray(page_ids[np.sort(first[absent])])

    def add(self, pages: Iterable[tuple[int, Vectors]]) -> None:
        """Append vectors, as they are made, so that little is lost when the work is interrupted."""
        try:
            append_records(self.path, self._dtype, (self._record(page_id, vector) for page_id, vector in pages))
        finally:
            self._records = _Records(read_file_records(self.path, self._dtype))

    def _record(self, page_id: int, vector: Vectors) -> NDArray[np.void]:
        record = np.empty((), self._dtype)
        scale = float(np.abs(vector).max()) / 127.0 or 1.0
        record["page_id"], record["scale"] = page_id, scale
        record["values"] = np.round(vector / scale)
        return record

    def get(self, page_ids: NDArray[np.integer]) -> Vectors:
        """The vector of each page; KeyError for one that has none."""
        known = self._records.page_ids
        at = np.minimum(np.searchsorted(known, page_ids), max(len(known) - 1, 0))
        if len(page_ids) and (not len(known) or (known[at] != page_ids).any()):
            raise KeyError("a page without a vector was asked for")
        return unpack_vectors(self._records.values[self._records.order[at]])

    def mean(self) -> NDArray[np.float64]:
        """The mean of all vectors."""
        return self._records.mean

    def nearest(
        self, vector: NDArray[np.floating], n: int, up_to_page_id: int | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The n pages whose vectors have the largest dot product with a vector, and those products; ties by page id.

        Exact: every vector is compared. Only pages up to a page id, if one is given.
        """
        records = self._records
        near = records.similarities(vector)[records.order]
        page_ids = records.page_ids
        if up_to_page_id is not None:
            n_allowed = int(np.searchsorted(page_ids, up_to_page_id, side="right"))
            near, page_ids = near[:n_allowed], page_ids[:n_allowed]
        n = min(n, len(near))
        if not n:
            return page_ids[:0], np.empty(0)
        least = np.partition(near, len(near) - n)[len(near) - n]
        kept = np.flatnonzero(near >= least)
        best = kept[np.argsort(-near[kept], kind="stable")][:n]
        return page_ids[best], near[best].astype(np.float64)
