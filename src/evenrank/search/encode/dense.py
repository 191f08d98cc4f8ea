"""Dense similarity: how much nearer a page is to a topic than to the subjects of an encyclopedia at large.

Plain cosine similarity prefers pages that are near to everything. The mean of a list of broad subjects is what any
topic is near to; taking it away from the topic's vector leaves what is particular to the topic.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.progress import track
from evenrank.records import Topic
from evenrank.search.encode.encoder import Encoder, Vectors
from evenrank.search.encode.vector_cache import VectorCache
from evenrank.search.engine.protocol import Engine
from evenrank.search.query.words import lines_of

Floats = NDArray[np.float64]


@dataclass
class DenseCost:
    """What encoding has cost so far."""

    n_encoded: int = 0
    n_cached: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        rate = f", {self.n_encoded / self.seconds:.0f} pages/s" if self.seconds else ""
        return f"{self.n_encoded:,} pages encoded in {self.seconds:.0f} s{rate}; {self.n_cached:,} taken from the cache"


@dataclass(frozen=True)
class DenseScorer:
    """Similarity of pages to topics, with the vectors of pages kept on disk."""

    engine: Engine
    encoder: Encoder
    cache: VectorCache
    cost: DenseCost = field(default_factory=DenseCost)

    @classmethod
    def open(cls, engine: Engine, encoder: Encoder, folder: str | os.PathLike[str]) -> DenseScorer:
        """A scorer whose vectors live in `folder`, one file for each encoder."""
        cache = VectorCache(Path(folder) / f"vectors-{encoder.fingerprint}.bin", encoder.n_dimensions)
        return cls(engine, encoder, cache)

    @cached_property
    def _subjects(self) -> Floats:
        """The vectors of the broad subjects."""
        return np.array([self.encoder.encode_query(line) for line in lines_of("subjects")], np.float64)

    @cached_property
    def _background(self) -> Floats:
        """Their mean."""
        return np.asarray(self._subjects.mean(axis=0))

    def topic_vectors(self, topic: Topic) -> Floats:
        """The topic as a whole, then each part of its title and each keyword, without what any subject has."""
        parts = [part.strip(" .…") for part in (*topic.title.split("/"), *topic.keywords)]
        named = [part for part in dict.fromkeys(parts) if part] or [topic.title]
        vectors = [self.encoder.encode_query(part) for part in named]
        whole = np.mean(vectors, axis=0, dtype=np.float64)
        return np.array([whole / np.linalg.norm(whole), *vectors], np.float64) - self._background

    def similarity(self, topic: Topic, page_ids: NDArray[np.int32]) -> tuple[Floats, Floats]:
        """Nearness of each page to the topic as a whole, and to the nearest of its parts."""
        return self.nearness(topic, self.page_vectors(page_ids))

    def nearness(self, topic: Topic, vectors: Vectors) -> tuple[Floats, Floats]:
        """The same for pages whose vectors are at hand."""
        near = vectors.astype(np.float64) @ self.topic_vectors(topic).T
        return near[:, 0], near[:, 1:].max(axis=1)

    def contrast(self, vectors: Vectors, near: Floats) -> Floats:
        """Nearness in units of how well each page tells broad subjects apart: a page of one subject stands out."""
        spread = (vectors.astype(np.float64) @ self._subjects.T).std(axis=1)
        return np.asarray(near / np.maximum(spread, 1e-9))

    def page_vectors(self, page_ids: NDArray[np.int32]) -> Vectors:
        """The vector of each page; those not in the cache are encoded first, which takes a while."""
        if not len(page_ids):
            return np.empty((0, self.encoder.n_dimensions), np.float32)
        missing = self.cache.missing(page_ids)
        self.cost.n_cached += len(page_ids) - len(missing)
        if len(missing):
            self.cache.add(self._encode(missing))
        return self.cache.get(page_ids)

    def _encode(self, page_ids: NDArray[np.integer]) -> Iterator[tuple[int, Vectors]]:
        started = time.perf_counter()
        pages = self.engine.stored(page_ids.tolist())
        texts = (f"{page.title}. {page.opening}" if page else "" for page in pages)
        vectors = self.encoder.encode_pages(texts)
        for page_id, vector in zip(page_ids.tolist(), track(vectors, "encode", len(pages), "page"), strict=True):
            yield page_id, vector
            self.cost.n_encoded += 1
        self.cost.seconds += time.perf_counter() - started


def feedback(vectors: Vectors, first: Vectors) -> Floats:
    """Nearness of each page to the first ones, held to be relevant, beyond its nearness to all pages together."""
    near_first, near_all = (_direction(some) for some in (first, vectors))
    return np.asarray(vectors.astype(np.float64) @ (near_first - near_all))


def _direction(vectors: Vectors) -> Floats:
    mean = vectors.mean(axis=0, dtype=np.float64)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12))
