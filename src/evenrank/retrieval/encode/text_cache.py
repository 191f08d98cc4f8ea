"""Vectors of short texts (titles, keywords) and scores of pairs, kept on disk beside an index."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.retrieval.encode.record_file import append_records, read_file_records

Vectors = NDArray[np.float32]


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
