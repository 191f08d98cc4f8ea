"""A graph of neighbouring vectors (HNSW, Malkov and Yashunin 2018), which finds the nearest of millions without looking
at all of them. It finds nearly all of those: the pages near to it are then compared exactly (`VectorCache.nearest`)."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.io.atomic import atomic_file
from evenrank.progress import track
from evenrank.trec.checksums import file_facts

EXACT_UP_TO = 200_000
"""Vectors that are all compared: that takes 20 ms at most."""
WIDTH = 2
"""Pages that the graph is asked for, for each one that is wanted: of 2000 wanted ones, 98 % are then found."""
LEAST_ASKED = 200
CONNECTIONS, EFFORT = 16, 64
"""Neighbours of each page in the graph, and pages looked at to find them."""
BLOCK = 10_000
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
    _add(graph, page_ids, vectors, label)
    _save(graph, path)


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
    _add(graph, page_ids, vectors, label)
    _save(graph, path)


def _add(graph: Any, page_ids: NDArray[np.integer], vectors: NDArray[np.int8], label: str) -> None:
    starts = range(0, len(page_ids), BLOCK)
    for start in track(starts, label, len(starts), "block"):
        part = slice(start, start + BLOCK)
        graph.add(page_ids[part].astype(np.uint64), np.ascontiguousarray(vectors[part]), threads=1)


def graph_facts_path(path: Path) -> Path:
    """The file with size and checksum of a graph: the package does not survive a damaged one."""
    return path.with_name(f"{path.name}.json")


def _save(graph: Any, path: Path) -> None:
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
    """A graph that is searched; threads may share it."""

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
        found = self._graph.search(scaled, min(len(self), max(WIDTH * n, LEAST_ASKED)), threads=1)
        return np.asarray(found.keys, np.int32)
