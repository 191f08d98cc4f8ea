"""Dense similarity: how much nearer a page is to a topic than to the subjects of an encyclopedia at large.

Plain cosine similarity prefers pages that are near to everything. The mean of a list of broad subjects is what any
topic is near to; taking it away from the topic's vector leaves what is particular to the topic.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.core.settings import check_value
from evenrank.core.types import FilePath, Floats
from evenrank.errors import EvenrankError
from evenrank.io.atomic import atomic_file
from evenrank.progress import track
from evenrank.retrieval.encode.encoder import Encoder, EncoderSettings, Vectors
from evenrank.retrieval.encode.vector_cache import TextVectors, VectorCache, dot_products
from evenrank.retrieval.engine.engines import index_folder, open_index
from evenrank.retrieval.engine.protocol import Engine, StoredPage
from evenrank.retrieval.word_lists import lines_of
from evenrank.trec.collection import Collection, as_collection
from evenrank.wikipedia.annotate.wikitext import first_paragraph

_SENTENCE_END = re.compile(r"(?<=[^\s.][^\s.][^\s.])[.!?][\"'”’)\]]*(?=\s+[\"'“‘(\[]?[^\W\d_a-z])|[。！？।]")
"""A full stop after a word of three letters or more, before a capital: neither "b." nor "U.S." nor "St." ends one."""
LONGEST_SENTENCE = 600
"""Characters that are searched for the end of a sentence."""


def first_sentence(text: str) -> str:
    """The first sentence of a text, at most 600 characters."""
    head = text.lstrip()[:LONGEST_SENTENCE]
    end = _SENTENCE_END.search(head)
    return head[: end.end()].rstrip() if end else head


def title_and_sentence(title: str, opening: str) -> str:
    """What a page says of itself: its title and the first sentence of its first paragraph."""
    lead = " ".join(first_paragraph(opening)[0].split())
    return f"{title}. {first_sentence(lead)}"


def encoded_texts(page: StoredPage) -> tuple[str, ...]:
    """The texts of a page whose vectors make up its own: what it says of itself, and what others filed it under."""
    said = title_and_sentence(page.title, page.opening)
    if not page.categories:
        return (said,)
    return said, f"{page.title}; {'; '.join(page.categories)}"


TITLE_SHARE = 0.5
"""Share of the title in a topic's vector; the keywords, however many, have the rest (chosen on the topics of 2022)."""
ENCODED_AT_ONCE = 5000
"""Pages whose texts are read from the index at a time."""


@dataclass
class DenseCost:
    """What encoding has cost so far."""

    n_encoded: int = 0
    n_cached: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        rate = f", {self.n_encoded / self.seconds:.0f} pages/s" if self.seconds else ""
        return f"{self.n_encoded:,} pages encoded in {self.seconds:.0f} s{rate}; {self.n_cached:,} taken from the cache"


class TopicVectors(NamedTuple):
    """Vectors of a topic, without what any subject has."""

    topic: Floats
    """Title and keywords."""
    title: Floats
    """The title alone; of a topic without one, the keywords."""


@dataclass(frozen=True)
class DenseScorer:
    """Similarity of pages to topics, with the vectors of pages and of topics' words kept on disk."""

    engine: Engine
    encoder: Encoder
    cache: VectorCache
    texts: TextVectors
    cost: DenseCost = field(default_factory=DenseCost)

    @classmethod
    def open(cls, engine: Engine, encoder: Encoder, folder: str | os.PathLike[str]) -> DenseScorer:
        """A scorer whose vectors live in `folder`, files of their own for each encoder."""
        mark, n_dimensions = encoder.fingerprint, encoder.n_dimensions
        pages = VectorCache(Path(folder) / f"vectors-{mark}.bin", n_dimensions)
        return cls(engine, encoder, pages, TextVectors(Path(folder) / f"queries-{mark}.bin", n_dimensions))

    @cached_property
    def _background(self) -> Floats:
        """The mean vector of the broad subjects."""
        return np.asarray(self._query_vectors(lines_of("subjects")).mean(axis=0))

    def _query_vectors(self, texts: Sequence[str]) -> Floats:
        return self.texts.get(texts, self.encoder.encode_query).astype(np.float64)

    def topic_vectors(self, topic: Topic) -> TopicVectors:
        """The vectors that stand for a topic."""
        names = _named(topic.title.split("/")) or _named(topic.keywords) or [topic.title]
        title = _direction(self._query_vectors(names))
        keywords = _named(topic.keywords)
        whole = title
        if keywords:
            whole = TITLE_SHARE * title + (1.0 - TITLE_SHARE) * _direction(self._query_vectors(keywords))
        return TopicVectors(whole / np.linalg.norm(whole) - self._background, title - self._background)

    def similarity(self, topic: Topic, page_ids: NDArray[np.int32]) -> tuple[Floats, Floats]:
        """Nearness of each page to the topic, and to its title."""
        pages = self.page_vectors(page_ids)
        of_topic, of_title = (dot_products(pages, vector) for vector in self.topic_vectors(topic))
        return of_topic.astype(np.float64), of_title.astype(np.float64)

    @property
    def covers_index(self) -> bool:
        """Whether every page of the index has a vector (`encode_all`)."""
        return len(self.cache) > 0 and len(self.cache) >= self._n_pages

    @cached_property
    def _n_pages(self) -> int:
        return self.engine.statistics().n_pages

    @property
    def mean_vector(self) -> Floats:
        """The mean vector of all pages that have one."""
        return self.cache.mean()

    def nearest(self, topic: Topic, n: int, up_to_page_id: int | None = None) -> NDArray[np.int32]:
        """The n pages nearest to a topic among those that have a vector, nearest first."""
        return self.cache.nearest(self.topic_vectors(topic).topic, n, up_to_page_id)[0]

    def page_vectors(self, page_ids: NDArray[np.int32]) -> Vectors:
        """The vector of each page; those not in the cache are encoded first, which takes a while."""
        if not len(page_ids):
            return np.empty((0, self.encoder.n_dimensions), np.float32)
        self.cost.n_cached += len(page_ids) - self.encode(page_ids)
        return self.cache.get(page_ids)

    def encode(self, page_ids: NDArray[np.integer], label: str = "encode") -> int:
        """Make the vectors that are missing, and keep them; returns how many. An interrupted call can be repeated."""
        missing = self.cache.missing(page_ids)
        if len(missing):
            self.cache.add(self._encoded(missing, label))
        return len(missing)

    def _encoded(self, page_ids: NDArray[np.integer], label: str) -> Iterator[tuple[int, Vectors]]:
        started = time.perf_counter()
        vectors = self.encoder.encode_pages(self._texts(page_ids))
        for page_id, vector in zip(page_ids.tolist(), track(vectors, label, len(page_ids), "page"), strict=True):
            yield page_id, vector
            self.cost.n_encoded += 1
        self.cost.seconds += time.perf_counter() - started

    def _texts(self, page_ids: NDArray[np.integer]) -> Iterator[tuple[str, ...]]:
        """What is encoded of each page."""
        for start in range(0, len(page_ids), ENCODED_AT_ONCE):
            for page in self.engine.stored(page_ids[start : start + ENCODED_AT_ONCE].tolist()):
                yield encoded_texts(page) if page else ("",)


def _named(texts: Sequence[str]) -> list[str]:
    """Texts that say something, each once."""
    return [text for text in dict.fromkeys(text.strip(" .…") for text in texts) if text]


def _direction(vectors: Floats) -> Floats:
    mean = vectors.mean(axis=0)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12))


RECORD = "vectors.json"
"""File beside an index that says which encoder made the vectors of all pages, and in which arithmetic."""
PAGES_AT_ONCE = 100_000
"""Pages whose vectors are made before the file is read again."""


def encode_index(collection: Collection | FilePath, encoder: EncoderSettings | None = None) -> DenseScorer:
    """The vectors of all pages of a collection's index, made as far as they are missing.

    An interrupted call resumes where it stopped: vectors are kept beside the index as they are made. The index records
    the encoder and its arithmetic, so that searches use the same.
    """
    opened = as_collection(collection)
    scorer = DenseScorer.open(open_index(opened), Encoder(encoder), index_folder(opened))
    page_ids = scorer.engine.page_ids()
    for start in range(0, len(page_ids), PAGES_AT_ONCE):
        scorer.encode(np.asarray(page_ids[start : start + PAGES_AT_ONCE]), "vectors")
    _record(index_folder(opened), scorer.encoder)
    return scorer


def recorded_encoder(folder: Path) -> EncoderSettings | None:
    """The encoder whose vectors an index has for all pages; None when it has none."""
    path = folder / RECORD
    if not path.is_file():
        return None
    try:
        record = orjson.loads(path.read_bytes())
        settings: EncoderSettings = check_value(record["encoder"], EncoderSettings)
    except (ValueError, KeyError, TypeError) as error:
        raise EvenrankError(f"{path}: damaged: {error} (run: evenrank index --dense)") from error
    return settings


def _record(folder: Path, encoder: Encoder) -> None:
    record = {"encoder": asdict(encoder.settings), "fingerprint": encoder.fingerprint, "arithmetic": encoder.arithmetic}
    with atomic_file(folder / RECORD) as file:
        file.write(orjson.dumps(record, option=orjson.OPT_INDENT_2) + b"\n")
