"""Vectors of pages and short texts, and scores of pairs, kept on disk beside an index.

A record that a kill tore is passed over, and cut off before the next one is added.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

N_BUFFERED = 64
"""Records that are written at a time, and may be lost when the work is interrupted."""


def read_file_records(path: Path, dtype: np.dtype[Any]) -> NDArray[np.void]:
    """The whole records of a file, by memory map; the file is made when there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    n = path.stat().st_size // dtype.itemsize
    return np.memmap(path, dtype, "r", shape=(n,)) if n else np.empty(0, dtype)


def append_records(path: Path, dtype: np.dtype[Any], records: Iterable[NDArray[np.void]]) -> None:
    """Add records, one or several at a time, as they are made."""
    with path.open("ab", buffering=dtype.itemsize * N_BUFFERED) as file, _alone(file):
        file.truncate(path.stat().st_size // dtype.itemsize * dtype.itemsize)
        for record in records:
            file.write(record.tobytes())


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


def text_key(text: str) -> int:
    """Identifies a text: 63 bits of its sha256."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "little") >> 1


class TextVectors:
    """Vectors of texts, not rounded, so that it makes no difference whether one was kept or made just now."""

    def __init__(self, path: Path, n_dimensions: int) -> None:
        self.path = path
        self._dtype = np.dtype([("key", "<i8"), ("vector", "<f4", (n_dimensions,))])
        self._known = {int(record["key"]): record["vector"] for record in read_file_records(path, self._dtype)}

    def get(self, texts: Sequence[str], encode: Callable[[str], Vectors]) -> Vectors:
        """The vector of each text; those that are not known are encoded and kept."""
        keys = [text_key(text) for text in texts]
        lacking = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        made = {key: encode(text) for key, text in lacking.items()}
        if made:
            self._known |= made
            append_records(self.path, self._dtype, (self._record(key, vector) for key, vector in made.items()))
        return np.array([self._known[key] for key in keys], np.float32)

    def _record(self, key: int, vector: Vectors) -> NDArray[np.void]:
        record = np.empty((), self._dtype)
        record["key"], record["vector"] = key, vector
        return record


class PairScores:
    """What a cross-encoder said of pairs of a query and a page."""

    _DTYPE = np.dtype([("key", "<i8"), ("page_id", "<i4"), ("score", "<f4")])

    def __init__(self, path: Path) -> None:
        self.path = path
        records = read_file_records(path, self._DTYPE)
        self._known = {(int(r["key"]), int(r["page_id"])): float(r["score"]) for r in records}

    def get(
        self, query: str, page_ids: Sequence[int], score: Callable[[list[int]], Iterable[float]]
    ) -> NDArray[np.float64]:
        """The score of each page; `score` is asked for those that are not known."""
        key = text_key(query)
        lacking = [page_id for page_id in page_ids if (key, page_id) not in self._known]
        if lacking:
            found = {(key, page): float(np.float32(s)) for page, s in zip(lacking, score(lacking), strict=True)}
            self._known |= found
            records = (np.array((key, page, s), self._DTYPE) for (_, page), s in found.items())
            append_records(self.path, self._DTYPE, records)
        return np.array([self._known[key, page_id] for page_id in page_ids], np.float64)


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

    def take_over(self, other: VectorCache, page_ids: NDArray[np.integer]) -> None:
        """Append the vectors that another file has of these pages."""
        known = other._records
        at = known.order[np.searchsorted(known.page_ids, page_ids)]
        if len(at):
            parts = (known.values[at[start : start + BLOCK]] for start in range(0, len(at), BLOCK))
            append_records(self.path, self._dtype, parts)
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
