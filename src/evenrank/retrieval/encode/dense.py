"""Dense similarity: how much nearer a page is to a topic than to the subjects of an encyclopedia at large.

Plain cosine similarity prefers pages that are near to everything. The mean of a list of broad subjects is what any
topic is near to; taking it away from the topic's vector leaves what is particular to the topic.
"""

from __future__ import annotations

import os
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
from evenrank.errors import EvenrankError, MissingExtraError
from evenrank.io.atomic import atomic_file
from evenrank.progress import track
from evenrank.retrieval.encode.encoder import Encoder, EncoderSettings, Vectors
from evenrank.retrieval.encode.models import BGE, installed_encoders
from evenrank.retrieval.encode.vector_cache import TextVectors, VectorCache, dot_products
from evenrank.retrieval.engine.analysis import first_sentence
from evenrank.retrieval.engine.engines import index_folder, open_index
from evenrank.retrieval.engine.indexing import only_build
from evenrank.retrieval.engine.protocol import Engine, StoredPage
from evenrank.retrieval.word_lists import lines_of
from evenrank.trec.collection import Collection, as_collection
from evenrank.wikipedia.annotate.wikitext import first_paragraph


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

    def encode_background(self) -> None:
        """Make what is taken away from the vectors of all topics, so that no search waits for it."""
        assert self._background.any()

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
"""File beside an index that says which encoders made the vectors of all pages, and in which arithmetic."""
PAGES_AT_ONCE = 100_000
"""Pages whose vectors are made before the file is read again."""


def encode_index(collection: Collection | FilePath, encoder: EncoderSettings | None = None) -> tuple[DenseScorer, ...]:
    """The vectors of all pages of a collection's index, made as far as they are missing.

    Without an `encoder`, by each of the known text encoders that are on this machine: two see more than one. An
    interrupted call resumes where it stopped: vectors are kept beside the index as they are made. The index records the
    encoders and their arithmetic, so that searches use the same.
    """
    opened = as_collection(collection)
    with only_build(opened):
        folder, engine = index_folder(opened), open_index(opened)
        scorers = [DenseScorer.open(engine, Encoder(settings), folder) for settings in usual_encoders(encoder)]
        for scorer in scorers:
            for page_ids in _blocks(engine.page_ids()):
                scorer.encode(page_ids, f"vectors by {scorer.encoder.name}")
            scorer.cache.index()
            scorer.encode_background()
        record_encoders(folder, [scorer.encoder for scorer in scorers])
    return tuple(scorers)


def keep_vectors(
    earlier: Path,
    known: Engine | None,
    folder: Path,
    engine: Engine,
    changed: NDArray[np.integer] | None = None,
) -> None:
    """Give the index in `folder` vectors of all its pages, by the encoders of the index in `earlier`, which has such.

    Vectors of pages whose texts are the same in `known`, the earlier index, are taken over, and the others made; all
    are made when it is None. Only the texts of `changed` pages, if these are known, are compared.
    """
    for path in earlier.glob("queries-*.bin"):
        if not (folder / path.name).exists():
            with atomic_file(folder / path.name) as file:
                file.write(path.read_bytes())
    encoders = [Encoder(settings) for settings in recorded_encoders(earlier)]
    try:
        for encoder in encoders:
            scorer = DenseScorer.open(engine, encoder, folder)
            vectors = VectorCache(earlier / scorer.cache.path.name, encoder.n_dimensions)
            for page_ids in _blocks(engine.page_ids()):
                if known is not None:
                    missing = scorer.cache.missing(page_ids)
                    wanted = missing[~np.isin(missing, vectors.missing(missing))]
                    may_differ = np.ones(len(wanted), bool) if changed is None else np.isin(wanted, changed)
                    is_same = ~may_differ
                    is_same[may_differ] = _have_same_texts(known, engine, wanted[may_differ])
                    scorer.cache.take_over(vectors, wanted[is_same])
                scorer.encode(page_ids, f"vectors by {encoder.name}")
            scorer.cache.index(vectors if known is not None else None)
    except MissingExtraError as error:
        fix = "or leave the vectors out: evenrank index --no-dense"
        raise EvenrankError(f"{earlier}: has text vectors, which new pages need too: {error} ({fix})") from error
    record_encoders(folder, encoders)


def _blocks(page_ids: NDArray[np.int32]) -> Iterator[NDArray[np.int32]]:
    for start in range(0, len(page_ids), PAGES_AT_ONCE):
        yield np.asarray(page_ids[start : start + PAGES_AT_ONCE])


def _have_same_texts(known: Engine, engine: Engine, page_ids: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether what is encoded of each page is the same in two indexes."""
    is_same = np.ones(len(page_ids), bool)
    for start in range(0, len(page_ids) if known is not engine else 0, ENCODED_AT_ONCE):
        ids = page_ids[start : start + ENCODED_AT_ONCE].tolist()
        pairs = zip(known.stored(ids), engine.stored(ids), strict=True)
        is_same[start : start + len(ids)] = [bool(a and b and encoded_texts(a) == encoded_texts(b)) for a, b in pairs]
    return is_same


def usual_encoders(given: EncoderSettings | None) -> list[EncoderSettings]:
    """The encoder that was given; where none was named, those on this machine, of which two are used at most."""
    device = "cpu" if given is None else given.device
    if given is not None and given != EncoderSettings(device=device):
        return [given]
    names = installed_encoders()[:2] or [BGE]
    return [EncoderSettings(None if name == BGE else name, device=device) for name in names]


def recorded_encoders(folder: Path) -> tuple[EncoderSettings, ...]:
    """The encoders whose vectors an index has for all pages."""
    path = folder / RECORD
    if not path.is_file():
        return ()
    try:
        record = orjson.loads(path.read_bytes())
        found = [record["encoder"], *(each["encoder"] for each in record.get("further", ()))]
        return tuple(check_value(settings, EncoderSettings) for settings in found)
    except (ValueError, KeyError, TypeError) as error:
        raise EvenrankError(f"{path}: damaged: {error} (run: evenrank index --dense)") from error


def record_encoders(folder: Path, encoders: Sequence[Encoder]) -> None:
    """Say which encoders made the vectors of all pages of an index."""
    first, *further = (
        {"encoder": asdict(each.settings), "fingerprint": each.fingerprint, "arithmetic": each.arithmetic}
        for each in encoders
    )
    record = {**first, "further": further} if further else first
    with atomic_file(folder / RECORD) as file:
        file.write(orjson.dumps(record, option=orjson.OPT_INDENT_2) + b"\n")
