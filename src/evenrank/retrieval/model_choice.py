"""Which relevance model is used: a small value that every process can take and open for itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from evenrank.core.records import Topic
from evenrank.core.types import Floats
from evenrank.errors import EvenrankError, NoModelError
from evenrank.retrieval.encode.cross_encoder import CrossEncoder, PageReader
from evenrank.retrieval.encode.dense import DenseScorer, recorded_encoder
from evenrank.retrieval.encode.encoder import Device, Encoder, EncoderSettings
from evenrank.retrieval.engine.engines import index_folder
from evenrank.retrieval.engine.protocol import CountingEngine, Engine, TextField, WeightedTerm, WordCounts
from evenrank.retrieval.features import FeatureExtractor, HybridModel
from evenrank.retrieval.learn.calibration import Calibration
from evenrank.retrieval.learn.learned_model import (
    LearnedModel,
    LearnedState,
    UsedEncoder,
    load,
    model_fingerprint,
    model_path,
)
from evenrank.retrieval.query.candidates import CandidateSettings, find_candidates
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
class DphModel:
    """Words of title and keywords by DPH over the whole text; candidates are those that BM25 finds first.

    Words are those of our index, not of Terrier's. Its lengths of pages are rounded to an eighth, and occurrences of
    very frequent words in all pages are projected from a thousand pages.
    """

    engine: Engine
    candidates: CandidateSettings = field(default_factory=CandidateSettings)
    calibration: Calibration | None = None
    """From scores to probabilities; None goes by rank."""

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
        if not isinstance(self.engine, CountingEngine):
            raise EvenrankError("the model dph needs an index on this machine (run: evenrank index DIR)")
        words = self.words(topic)
        terms = [WeightedTerm(FIELD, (word,), float(n)) for word, n in words.items()]
        found = find_candidates(self.engine, terms, replace(self.candidates, n_pages=k), up_to_page_id)
        counts = self.engine.count_words(FIELD, list(words), found.page_ids.tolist())
        scores = dph(counts, np.array(list(words.values()), np.float64))
        order = np.lexsort((found.page_ids, -scores))
        return ScoredPages(
            found.page_ids[order], scores[order], probabilities(self.calibration, scores)[order], {"dph": scores[order]}
        )


Kind = Literal["untrained", "dph", "hybrid", "learned"]


@dataclass(frozen=True)
class ModelChoice:
    """A relevance model by what identifies it; text vectors are kept beside the index of the collection."""

    kind: Kind = "untrained"
    """`untrained`: words; `dph`: words by Terrier's DPH; `hybrid`: words and text vectors, untrained; `learned`: from a
    model file."""
    file: Path | None = None
    """The file of a learned model."""
    fingerprint: str = ""
    """Identifies the content of that file; it must not change while it is in use."""
    encoder: UsedEncoder | None = None
    """The text encoder; None without text vectors."""
    cross_encoder: str | None = None
    """Fingerprint of the cross-encoder; None without one."""

    def open(self, lexical: LexicalModel, index_folder: Path) -> RelevanceModel:
        """The model over an index; file and encoder are read once in each process."""
        if self.kind == "dph":
            return DphModel(lexical.engine, lexical.settings.candidates)
        used = self.encoder
        dense = None if used is None else open_dense(lexical.engine, used.settings, index_folder)
        reader = None
        if used is not None and self.cross_encoder is not None:
            reader = open_reader(lexical.engine, index_folder, used.settings.device)
        extractor = FeatureExtractor(lexical, dense, reader)
        if self.file is not None:
            return LearnedModel(extractor, _state(self.file, self.fingerprint))
        return lexical if dense is None else HybridModel(extractor)

    def describe(self) -> dict[str, Any]:
        """What decides the scores, for the record beside a result."""
        facts: dict[str, Any] = {"kind": self.kind}
        if self.file is not None:
            facts |= {"file": str(self.file), "fingerprint": self.fingerprint}
        if self.encoder is not None:
            facts["encoder"] = asdict(self.encoder)
        if self.cross_encoder is not None:
            facts["cross_encoder"] = self.cross_encoder
        return facts


UNTRAINED = ModelChoice()


def choose_model(collection: Collection, name: str, encoder: EncoderSettings | None = None) -> ModelChoice:
    """The model that a word or a file name means; errors come now, and not from the first topic.

    `untrained`, `dph`, `hybrid`, `learned` (the model that `evenrank learn` left in the collection), or a model file.
    """
    if name in ("untrained", "dph"):
        if encoder is not None:
            raise EvenrankError(f"the model {name} has no text encoder (use the model hybrid, or a learned one)")
        return UNTRAINED if name == "untrained" else ModelChoice("dph")
    if name == "hybrid":
        return ModelChoice("hybrid", encoder=use_encoder(index_encoder(index_folder(collection), encoder)))
    path = model_path(collection) if name == "learned" else Path(name)
    if name == "learned" and not path.is_file():
        raise NoModelError(f"{collection.path}: no learned model (run: evenrank learn {collection.path})")
    mark = model_fingerprint(path)
    state = _state(path, mark)
    used = _encoder_of(path, state, encoder)
    if state.cross_encoder is not None:
        device = "cpu" if used is None else used.settings.device
        if open_cross_encoder(device).fingerprint != state.cross_encoder:
            raise EvenrankError(f"{path}: trained with another cross-encoder (run: evenrank learn)")
    return ModelChoice("learned", path, mark, used, state.cross_encoder)


def index_encoder(folder: Path, given: EncoderSettings | None) -> EncoderSettings:
    """The encoder to search an index with: the one given, else that of the vectors the index has."""
    recorded = recorded_encoder(folder)
    if given is None:
        return recorded or EncoderSettings()
    if recorded is not None and replace(given, device=recorded.device) == recorded:
        is_float = [settings.device != "cpu" for settings in (given, recorded)]
        if is_float[0] != is_float[1]:
            fix = "--device cuda or cpu-float" if is_float[1] else "--device cpu"
            raise EvenrankError(
                f"{folder}: its vectors were made with --device {recorded.device}, and other arithmetic does not mix "
                f"with them (use {fix}, or run evenrank index --device {given.device} first)"
            )
    return given


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


@lru_cache(maxsize=1)
def _dense(engine: Any, settings: EncoderSettings, index_folder: Path) -> DenseScorer:
    return DenseScorer.open(engine, Encoder(settings), index_folder)


def _encoder_of(path: Path, state: LearnedState, given: EncoderSettings | None) -> UsedEncoder | None:
    """The encoder that a learned model needs, from where it was or from the folder given now."""
    if state.encoder is None:
        if given is not None:
            raise EvenrankError(f"{path}: trained without text vectors, so it takes no encoder")
        return None
    settings = state.encoder.settings
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
    if used.fingerprint != state.encoder.fingerprint:
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
