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

from evenrank.retrieval.encode import vector_graph
from evenrank.retrieval.encode.vector_graph import VectorGraph, change_graph, has_usearch, write_graph

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
            self.__dict__.pop("_graph", None)

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

    @property
    def graph_path(self) -> Path:
        """The file of the graph, which is made once there are many vectors (`index`)."""
        return self.path.with_suffix(".graph")

    @cached_property
    def _graph(self) -> VectorGraph | None:
        """What finds near vectors; None where all are compared."""
        if len(self) <= vector_graph.EXACT_UP_TO or not has_usearch() or not self.graph_path.is_file():
            return None
        return VectorGraph.open(self.graph_path, len(self))

    def index(self, earlier: VectorCache | None = None) -> None:
        """Make the graph of a large file, from that of an earlier one if most vectors are the same; none without the
        extra `ann`."""
        self.__dict__.pop("_graph", None)
        if len(self) <= vector_graph.EXACT_UP_TO or not has_usearch() or self._graph is not None:
            return
        page_ids, label = self._records.page_ids, f"graph of {self.path.stem}"
        if earlier is not None and earlier._graph is not None:
            is_same = earlier._has_same(self)
            kept, added = page_ids[is_same], page_ids[~is_same]
            removed = np.setdiff1d(earlier._records.page_ids, kept, assume_unique=True)
            if len(added) + len(removed) <= vector_graph.MOST_CHANGED * len(page_ids):
                change_graph(earlier.graph_path, self.graph_path, removed, added, self._packed(~is_same), label)
                self.__dict__.pop("_graph", None)
                return
        write_graph(self.graph_path, page_ids, self._packed(np.ones(len(page_ids), bool)), label)
        self.__dict__.pop("_graph", None)

    def _packed(self, is_wanted: NDArray[np.bool_]) -> NDArray[np.int8]:
        """Some vectors as they are kept, without their scale, in the order of page ids."""
        return np.asarray(self._records.values["values"][self._records.order[is_wanted]])

    def _has_same(self, other: VectorCache) -> NDArray[np.bool_]:
        """Whether each page of another file, in the order of page ids, has the same vector here."""
        mine, theirs = self._records, other._records
        at = np.minimum(np.searchsorted(mine.page_ids, theirs.page_ids), max(len(mine.page_ids) - 1, 0))
        is_same: NDArray[np.bool_] = mine.page_ids[at] == theirs.page_ids
        for start in range(0, len(at), BLOCK):
            part = slice(start, start + BLOCK)
            one, two = mine.values["values"][mine.order[at[part]]], theirs.values["values"][theirs.order[part]]
            is_same[part] &= (one == two).all(axis=1)
        return is_same

    def nearest(
        self, vector: NDArray[np.floating], n: int, up_to_page_id: int | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The n pages whose vectors have the largest dot product with a vector, and those products; ties by page id.

        Every vector is compared, or those that the graph of a large file is near to. Only pages up to a page id, if one
        is given; then every vector is compared.
        """
        records = self._records
        if self._graph is not None and up_to_page_id is None:
            page_ids = np.sort(self._graph.near(vector, n))
            near = dot_products(self.get(page_ids), vector)
        else:
            page_ids = records.page_ids
            near = records.similarities(vector)[records.order]
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
