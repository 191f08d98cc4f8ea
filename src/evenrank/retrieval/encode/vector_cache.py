"""Vectors of pages and short texts, scores of pairs, and graphs of near vectors, kept on disk beside an index.

A record that a kill tore is passed over, and cut off before the next one is added.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.io.atomic import atomic_file
from evenrank.progress import track
from evenrank.trec.checksums import file_facts

N_BUFFERED = 64
"""Records that are written at a time, and may be lost when the work is interrupted."""


def read_file_records(path: Path, dtype: np.dtype[Any]) -> NDArray[np.void]:
    """The whole records of a file, by memory map; the file is made when there is none."""
    if not path.exists():  # a folder that can only be read may have it
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


MOST_RECENT = 4096
"""Texts whose vectors are remembered, about 8 MB."""


class RecentTextVectors(TextVectors):
    """The same for texts of visitors: the most recent ones are remembered, and nothing is written."""

    def __init__(self, path: Path, n_dimensions: int) -> None:
        super().__init__(path, n_dimensions)
        self._recent: OrderedDict[int, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, texts: Sequence[str], encode: Callable[[str], Vectors]) -> Vectors:
        """The vector of each text."""
        return np.array([self._vector(text, encode) for text in texts], np.float32)

    def _vector(self, text: str, encode: Callable[[str], Vectors]) -> Vectors:
        key = text_key(text)
        with self._lock:
            known = self._known.get(key, self._recent.get(key))
        vector = encode(text) if known is None else known
        with self._lock:
            self._recent[key] = vector
            self._recent.move_to_end(key)
            while len(self._recent) > MOST_RECENT:
                self._recent.popitem(last=False)
        return vector


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


EXACT_UP_TO = 200_000
"""Vectors that are all compared: that takes 20 ms at most."""
GRAPH_WIDTH = 2
"""Pages that the graph is asked for, for each one that is wanted: of 2000 wanted ones, 98 % are then found."""
LEAST_ASKED = 200
CONNECTIONS, EFFORT = 16, 64
"""Neighbours of each page in the graph, and pages looked at to find them."""
GRAPH_BLOCK = 10_000
"""Vectors that are added at a time."""
LOG = logging.getLogger("evenrank.retrieval")
MOST_CHANGED = 0.3
"""Share of the pages from which a new graph is better than a changed one."""


@cache
def has_usearch() -> bool:
    """Whether the package that makes and searches graphs is installed."""
    return find_spec("usearch") is not None


def index_type() -> Any:
    """usearch's index. The encoders' onnxruntime is loaded first: loaded after usearch, it ends the process (seen with
    usearch 2.26 and onnxruntime 1.31)."""
    with suppress(ImportError):
        import onnxruntime  # noqa: F401
    from usearch.index import Index

    return Index


def write_graph(path: Path, page_ids: NDArray[np.integer], vectors: NDArray[np.int8], label: str) -> None:
    """The graph of these pages. One thread, so that the same pages give the same graph."""
    graph = index_type()(
        ndim=vectors.shape[1], metric="cos", dtype="i8", connectivity=CONNECTIONS, expansion_add=EFFORT, multi=False
    )
    _add_vectors(graph, page_ids, vectors, label)
    _save_graph(graph, path)


def change_graph(
    earlier: Path,
    path: Path,
    removed: NDArray[np.integer],
    page_ids: NDArray[np.integer],
    vectors: NDArray[np.int8],
    label: str,
) -> None:
    """An earlier graph without some pages and with others."""
    graph: Any = index_type().restore(str(earlier), view=False)
    if len(removed):
        graph.remove(removed.astype(np.uint64), threads=1)
    _add_vectors(graph, page_ids, vectors, label)
    _save_graph(graph, path)


def _add_vectors(graph: Any, page_ids: NDArray[np.integer], vectors: NDArray[np.int8], label: str) -> None:
    starts = range(0, len(page_ids), GRAPH_BLOCK)
    for start in track(starts, label, len(starts), "block"):
        part = slice(start, start + GRAPH_BLOCK)
        graph.add(page_ids[part].astype(np.uint64), np.ascontiguousarray(vectors[part]), threads=1)


def graph_facts_path(path: Path) -> Path:
    """The file with size and checksum of a graph: the package does not survive a damaged one."""
    return path.with_name(f"{path.name}.json")


def _save_graph(graph: Any, path: Path) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        graph.save(str(temporary))
        graph_facts_path(path).unlink(missing_ok=True)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    with atomic_file(graph_facts_path(path)) as file:
        file.write(orjson.dumps({"pages": len(graph), **asdict(file_facts(path))}) + b"\n")


class VectorGraph:
    """A graph of neighbouring vectors (HNSW, Malkov and Yashunin 2018), which finds the nearest of millions without
    looking at all of them; threads may share it.

    It finds nearly all of those: the pages near to it are then compared exactly (`VectorCache.nearest`).
    """

    def __init__(self, path: Path) -> None:
        self._graph: Any = index_type().restore(str(path), view=True)

    @classmethod
    def open(cls, path: Path, n_pages: int) -> VectorGraph | None:
        """The graph in a file; None for one that is damaged or of other pages."""
        try:
            said = orjson.loads(graph_facts_path(path).read_bytes())
            if said != {"pages": said["pages"], **asdict(file_facts(path))}:
                raise ValueError("its checksum does not match its content")
            return cls(path) if said["pages"] == n_pages else None
        except (OSError, ValueError, KeyError, TypeError) as error:
            LOG.warning("%s: not used, so all vectors are compared: %s (run: evenrank index --dense)", path, error)
            return None

    def __len__(self) -> int:
        return len(self._graph)

    def near(self, vector: NDArray[np.floating], n: int) -> NDArray[np.int32]:
        """Pages among which nearly all of the n nearest are, in any order."""
        wanted = np.asarray(vector, np.float64)
        scaled = np.round(wanted * (127.0 / max(float(np.abs(wanted).max()), 1e-12))).astype(np.int8)
        found = self._graph.search(scaled, min(len(self), max(GRAPH_WIDTH * n, LEAST_ASKED)), threads=1)
        return np.asarray(found.keys, np.int32)


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
        if len(self) <= EXACT_UP_TO or not has_usearch() or not self.graph_path.is_file():
            return None
        return VectorGraph.open(self.graph_path, len(self))

    def index(self, earlier: VectorCache | None = None) -> None:
        """Make the graph of a large file, from that of an earlier one if most vectors are the same; none without the
        extra `ann`."""
        self.__dict__.pop("_graph", None)
        if len(self) <= EXACT_UP_TO or not has_usearch() or self._graph is not None:
            return
        page_ids, label = self._records.page_ids, f"graph of {self.path.stem}"
        if earlier is not None and earlier._graph is not None:
            is_same = earlier._has_same(self)
            kept, added = page_ids[is_same], page_ids[~is_same]
            removed = np.setdiff1d(earlier._records.page_ids, kept, assume_unique=True)
            if len(added) + len(removed) <= MOST_CHANGED * len(page_ids):
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
