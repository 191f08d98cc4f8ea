"""Which relevance model is used: a small value that every process can take and open for itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import RANKING_LENGTH, Topic
from evenrank.core.types import Floats
from evenrank.errors import EvenrankError, NoModelError
from evenrank.retrieval.encode.cross_encoder import CrossEncoder, PageReader
from evenrank.retrieval.encode.dense import DenseScorer, recorded_encoders, usual_encoders
from evenrank.retrieval.encode.encoder import Device, Encoder, EncoderSettings
from evenrank.retrieval.encode.models import MINILM, find_model
from evenrank.retrieval.engine.engines import index_folder
from evenrank.retrieval.engine.protocol import CountingEngine, Engine, Hits, TextField, WeightedTerm, WordCounts
from evenrank.retrieval.features import N_READ, FeatureExtractor, HybridModel, below
from evenrank.retrieval.learn.calibration import Calibration
from evenrank.retrieval.learn.learned_model import (
    LearnedModel,
    LearnedState,
    UsedEncoder,
    load,
    model_fingerprint,
    model_path,
)
from evenrank.retrieval.query.candidates import find_candidates
from evenrank.retrieval.query.topic_query import subject_words
from evenrank.retrieval.relevance import LexicalModel, RelevanceModel, ScoredPages, probabilities
from evenrank.trec.collection import Collection

FIELD: TextField = "text"


def dph(counts: WordCounts, weights: Floats) -> Floats:
    """The DPH score of each page for words of these weights.

    With tf occurrences in a page of length l, f = tf / l and F occurrences in all N pages, a word adds
    (1 − f)² / (tf + 1) · (tf · log2(tf · mean length / l · N / F) + ½ log2(2π · tf · (1 − f))).
    (Amati, Frequentist and Bayesian approach to information retrieval, ECIR 2006; Amati et al., TREC 2007.)
    """
    tf = counts.in_pages
    has_word = tf > 0.0
    safe_tf = np.where(has_word, tf, 1.0)
    share = np.where(has_word, tf / np.maximum(counts.lengths, 1.0)[:, None], 0.5)
    share = np.minimum(share, 1.0 - 1e-9)  # a page that is one word: lengths in an index are rounded
    length = np.maximum(counts.lengths, 1.0)[:, None] / max(counts.mean_length, 1e-9)
    rarity = counts.n_pages / np.maximum(counts.in_all, 1.0)
    information = safe_tf * np.log2(safe_tf / length * rarity) + 0.5 * np.log2(2.0 * np.pi * safe_tf * (1.0 - share))
    scores = np.where(has_word, (1.0 - share) ** 2 / (safe_tf + 1.0) * information, 0.0)
    return np.asarray(scores @ weights)


@dataclass(frozen=True)
class BagOfWords:
    """Words of title and keywords over the whole text, weighted by DPH or by BM25, as the track's baselines did.

    DPH scores the candidates that BM25 finds first. Words are those of our index, not of Terrier's or Anserini's; BM25
    has the index's own constants (k1 1.2, b 0.75). Lengths of pages are rounded to an eighth, and occurrences of very
    frequent words in all pages are projected from a thousand pages. Where fewer pages than a ranking of the track is
    long have any of the words, pages that feedback finds follow below them, and then the others by page id.
    """

    lexical: LexicalModel
    """The untrained model, for the pages that follow below."""
    weighting: Literal["dph", "bm25"] = "dph"
    calibration: Calibration | None = None
    """From scores to probabilities; None goes by rank."""

    @property
    def engine(self) -> Engine:
        return self.lexical.engine

    def words(self, topic: Topic) -> Counter[str]:
        """The analysed words of a topic, and how often it has each."""
        language = self.engine.layout.language
        texts = (
            subject_words(topic.title, is_name=True, language=language),
            *(subject_words(keyword, is_name=False, language=language) for keyword in topic.keywords),
        )
        return Counter(word for text in texts for word in self.engine.analyse(FIELD, " ".join(text)))

    def score(self, topic: Topic, k: int, up_to_page_id: int | None = None) -> ScoredPages:
        """The best k pages and those of the groups; see `RelevanceModel.score`."""
        if self.weighting == "dph" and not isinstance(self.engine, CountingEngine):
            raise EvenrankError("the model dph needs an index on this machine (run: evenrank index DIR)")
        words = self.words(topic)
        terms = [WeightedTerm(FIELD, (word,), float(n)) for word, n in words.items()]
        settings = replace(self.lexical.settings.candidates, n_pages=k)
        found = find_candidates(self.engine, terms, settings, up_to_page_id)
        scores = self._dph(words, found) if self.weighting == "dph" else found.scores
        pages, scores = self._filled_up(topic, found.page_ids, scores, k, up_to_page_id)
        order = np.lexsort((pages, -scores))
        return ScoredPages(
            pages[order], scores[order], probabilities(self.calibration, scores)[order], {self.weighting: scores[order]}
        )

    def _dph(self, words: Counter[str], found: Hits) -> Floats:
        assert isinstance(self.engine, CountingEngine)
        counts = self.engine.count_words(FIELD, list(words), found.page_ids.tolist())
        return dph(counts, np.array(list(words.values()), np.float64))

    def _filled_up(
        self, topic: Topic, pages: NDArray[np.int32], scores: Floats, k: int, up_to_page_id: int | None
    ) -> tuple[NDArray[np.int32], Floats]:
        """Pages that have the words, and others below them up to the length of a ranking, as far as there are any."""
        n_wanted = min(k, RANKING_LENGTH[1])
        if len(pages) < n_wanted:
            by_feedback = self.lexical.score(topic, k, up_to_page_id).page_ids
            others = np.append(by_feedback, np.setdiff1d(self.engine.page_ids(), by_feedback))
            is_allowed = ~np.isin(others, pages) & (up_to_page_id is None or others <= up_to_page_id)
            others = others[is_allowed][: n_wanted - len(pages)]
            scores = np.append(scores, below(scores, -np.arange(len(others), dtype=np.float64)))
            pages = np.append(pages, others)
        return pages, scores


WordsKind = Literal["untrained", "dph", "bm25"]
Kind = WordsKind | Literal["hybrid", "learned"]


@dataclass(frozen=True)
class ModelChoice:
    """A relevance model by what identifies it; text vectors are kept beside the index of the collection."""

    kind: Kind = "untrained"
    """`untrained`: words with feedback; `dph` and `bm25`: words by one formula alone; `hybrid`: words and text vectors,
    untrained; `learned`: from a model file."""
    file: Path | None = None
    """The file of a learned model."""
    fingerprint: str = ""
    """Identifies the content of that file; it must not change while it is in use."""
    encoder: UsedEncoder | None = None
    """The text encoder; None without text vectors."""
    cross_encoder: str | None = None
    """Fingerprint of the cross-encoder; None without one."""
    second: UsedEncoder | None = None
    """A second text encoder; None with one alone."""
    n_read: int = 0
    """Pages that the cross-encoder of `hybrid` reads."""

    def open(self, lexical: LexicalModel, index_folder: Path) -> RelevanceModel:
        """The model over an index; file and encoder are read once in each process."""
        if self.kind == "dph" or self.kind == "bm25":
            return BagOfWords(lexical, self.kind)
        used = self.encoder
        dense = None if used is None else open_dense(lexical.engine, used.settings, index_folder)
        reader = None
        if used is not None and self.cross_encoder is not None:
            reader = open_reader(lexical.engine, index_folder, used.settings.device)
        second = None if self.second is None else open_dense(lexical.engine, self.second.settings, index_folder)
        extractor = FeatureExtractor(lexical, dense, reader, second)
        if self.file is not None:
            return LearnedModel(extractor, _state(self.file, self.fingerprint))
        return lexical if dense is None else HybridModel(replace(extractor, n_read=self.n_read))

    def without_reading(self) -> ModelChoice:
        """The same model without the second stage; a learned model always reads what it learned to."""
        return replace(self, cross_encoder=None, n_read=0) if self.n_read else self

    def describe(self) -> dict[str, Any]:
        """What decides the scores, for the record beside a result."""
        facts: dict[str, Any] = {"kind": self.kind}
        if self.file is not None:
            facts |= {"file": str(self.file), "fingerprint": self.fingerprint}
        if self.encoder is not None:
            facts["encoder"] = asdict(self.encoder)
        if self.second is not None:
            facts["second_encoder"] = asdict(self.second)
        if self.cross_encoder is not None:
            facts["cross_encoder"] = self.cross_encoder
        if self.n_read:
            facts["n_read"] = self.n_read
        return facts


UNTRAINED = ModelChoice()


def choose_model(
    collection: Collection, name: str, encoder: EncoderSettings | None = None, n_read: int | None = None
) -> ModelChoice:
    """The model that a word or a file name means; errors come now, and not from the first topic.

    `untrained`, `dph`, `bm25`, `hybrid`, `learned` (the model that `evenrank learn` left in the collection), or a model
    file. `n_read` is the number of pages that the cross-encoder of `hybrid` reads; None is 30 where it is on this
    machine.
    """
    if n_read is not None and name != "hybrid":
        raise EvenrankError(f"the model {name} takes no number of pages to read (that is for the model hybrid)")
    if name in get_args(WordsKind):
        if encoder is not None:
            raise EvenrankError(f"the model {name} has no text encoder (use the model hybrid, or a learned one)")
        return ModelChoice(cast(Kind, name))
    if name == "hybrid":
        return choose_hybrid(index_folder(collection), encoder, n_read)
    path = model_path(collection) if name == "learned" else Path(name)
    if name == "learned" and not path.is_file():
        raise NoModelError(f"{collection.path}: no learned model (run: evenrank learn {collection.path})")
    mark = model_fingerprint(path)
    state = _state(path, mark)
    used, second = _encoders_of(path, state, encoder)
    if state.cross_encoder is not None:
        device = "cpu" if used is None else used.settings.device
        if open_cross_encoder(device).fingerprint != state.cross_encoder:
            raise EvenrankError(f"{path}: trained with another cross-encoder (run: evenrank learn)")
    return ModelChoice("learned", path, mark, used, state.cross_encoder, second)


def choose_hybrid(folder: Path, given: EncoderSettings | None, n_read: int | None) -> ModelChoice:
    """Words and the vectors that an index has, by one encoder or two; the first pages are read by a cross-encoder."""
    first, *further = index_encoders(folder, given)
    if n_read is None:
        n_read = N_READ if find_model(MINILM) is not None else 0
    return ModelChoice(
        "hybrid",
        encoder=use_encoder(first),
        second=use_encoder(further[0]) if further else None,
        cross_encoder=open_cross_encoder(first.device).fingerprint if n_read else None,
        n_read=n_read,
    )


def index_encoders(folder: Path, given: EncoderSettings | None) -> list[EncoderSettings]:
    """The encoders to search an index with: the one given, else the first two of those whose vectors the index has."""
    all_recorded = recorded_encoders(folder)
    if given is None:
        return list(all_recorded[:2]) or usual_encoders(None)[:1]
    recorded = next((each for each in all_recorded if replace(given, device=each.device) == each), None)
    if recorded is not None:
        is_float = [settings.device != "cpu" for settings in (given, recorded)]
        if is_float[0] != is_float[1]:
            fix = "--device cuda or cpu-float" if is_float[1] else "--device cpu"
            raise EvenrankError(
                f"{folder}: its vectors were made with --device {recorded.device}, and other arithmetic does not mix "
                f"with them (use {fix}, or run evenrank index --device {given.device} first)"
            )
    return [given]


def use_encoder(settings: EncoderSettings) -> UsedEncoder:
    """An encoder that is there and works, identified."""
    encoder = Encoder(settings)
    try:
        assert encoder.n_dimensions > 0
    except EvenrankError:
        raise
    except Exception as error:  # what onnxruntime and tokenizers raise has no type of its own
        raise EvenrankError(f"{encoder.folder}: not an encoder that can be used: {error}") from error
    return UsedEncoder(settings, encoder.fingerprint)


def open_dense(engine: Engine, settings: EncoderSettings, index_folder: Path) -> DenseScorer:
    """Encoder and vectors, opened once in each process; the vectors of pages are kept beside their index."""
    return _dense(cast(Any, engine), settings, index_folder)


@lru_cache(maxsize=2)
def _dense(engine: Any, settings: EncoderSettings, index_folder: Path) -> DenseScorer:
    return DenseScorer.open(engine, Encoder(settings), index_folder)


def _encoders_of(
    path: Path, state: LearnedState, given: EncoderSettings | None
) -> tuple[UsedEncoder | None, UsedEncoder | None]:
    """The text encoders that a learned model needs, from where they were or from the folder given now."""
    if given is not None and state.encoder is None:
        raise EvenrankError(f"{path}: trained without text vectors, so it takes no encoder")
    if given is not None and state.second is not None and given != EncoderSettings(device=given.device):
        raise EvenrankError(f"{path}: trained with two text encoders, so it takes no other one")
    first, second = (None if one is None else _same_encoder(path, one, given) for one in (state.encoder, state.second))
    return first, second


def _same_encoder(path: Path, trained: UsedEncoder, given: EncoderSettings | None) -> UsedEncoder:
    """The encoder that a model was trained with, from where it was or from the folder given now."""
    settings = trained.settings
    if given is not None:
        if given.device != "cpu" and settings.device == "cpu":
            raise EvenrankError(f"{path}: trained on vectors of --device cpu (use that, or learn again)")
        settings = replace(
            settings,
            path=given.path or settings.path,
            pooling=given.pooling or settings.pooling,
            device=given.device if settings.device != "cpu" else "cpu",
        )
    try:
        used = use_encoder(settings)
    except EvenrankError as error:
        raise EvenrankError(f"{path}: its text encoder is not there (name its folder: --encoder)\n{error}") from error
    if used.fingerprint != trained.fingerprint:
        raise EvenrankError(f"{path}: trained with another text encoder (give the one it was trained with)")
    return used


def open_reader(engine: Engine, index_folder: Path, device: Device = "cpu") -> PageReader:
    """A cross-encoder over the pages of an index; its scores are kept beside the index."""
    return _reader(cast(Any, engine), index_folder, device)


@lru_cache(maxsize=1)
def _reader(engine: Any, index_folder: Path, device: Device) -> PageReader:
    return PageReader.open(engine, open_cross_encoder(device), index_folder)


@lru_cache(maxsize=1)
def open_cross_encoder(device: Device = "cpu") -> CrossEncoder:
    """The cross-encoder, opened once in each process."""
    return CrossEncoder(device)


@lru_cache(maxsize=4)
def _state(path: Path, mark: str) -> LearnedState:
    """A model file, read once in each process."""
    if model_fingerprint(path) != mark:
        raise EvenrankError(f"{path}: the model was replaced while it was in use (start again)")
    return load(path)
