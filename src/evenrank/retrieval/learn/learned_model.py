"""The learned relevance model: candidates by words and vectors, in the order that training topics teach."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import orjson

from evenrank.core.records import Topic
from evenrank.core.settings import check_value
from evenrank.core.types import Floats
from evenrank.errors import MAX_FOUND, EvenrankError, reason_of
from evenrank.io.atomic import atomic_file
from evenrank.retrieval.encode.encoder import EncoderSettings
from evenrank.retrieval.engine.protocol import Engine, Hits
from evenrank.retrieval.features import SECOND, FeatureExtractor, score_hits
from evenrank.retrieval.learn.calibration import Calibration, CalibrationSettings
from evenrank.retrieval.learn.cross_validation import CrossFit, LearningSettings
from evenrank.retrieval.learn.relevant_count import CountModel, estimate_count
from evenrank.retrieval.relevance import ScoredPages
from evenrank.trec.checksums import record_checksum
from evenrank.trec.collection import Collection

LEARNED_CALIBRATION = CalibrationSettings(scale="shared", ridge=1e-4, prior_strength=10.0)
"""How learned scores become probabilities: they are log-odds of one scale already, so one line serves all topics."""


@dataclass(frozen=True)
class UsedEncoder:
    """The text encoder that a model was trained with."""

    settings: EncoderSettings
    fingerprint: str


@dataclass(frozen=True)
class LearnedState:
    """What training leaves behind; everything but the index and the encoder."""

    cross_fit: CrossFit
    plain: CrossFit
    """Lines without vectors, for pages that have none; log-odds as those of the others are."""
    calibration: Calibration
    """From out-of-fold scores to probabilities."""
    count: CountModel
    """From probabilities to the number of relevant pages."""
    settings: LearningSettings
    n_pages: int
    """Pages that it learned from; it never looks at fewer."""
    encoder: UsedEncoder | None = None
    """None without text vectors."""
    second: UsedEncoder | None = None
    """A second text encoder; None with one alone."""
    cross_encoder: str | None = None
    """Fingerprint of the cross-encoder; None without one."""


@dataclass(frozen=True)
class LearnedModel:
    """A learned order of the candidates."""

    extractor: FeatureExtractor
    state: LearnedState

    @property
    def engine(self) -> Engine:
        return self.extractor.engine

    def score(self, topic: Topic, k: int, up_to_page_id: int | None = None) -> ScoredPages:
        """The best k pages, at least as many as were learned from, and those of the groups."""
        state = self.state
        found = self.extractor.candidates(topic, max(k, state.n_pages), up_to_page_id)
        pages = score_hits(
            self.extractor,
            topic,
            found,
            lambda features: state.cross_fit.scores(topic.id, features),
            lambda head, tail: self._tail_scores(topic, found)[len(head) :],
            state.calibration,
        )
        return replace(pages, n_relevant=estimate_count(state.count, pages.probabilities))

    def _tail_scores(self, topic: Topic, found: Hits) -> Floats:
        """Scores of all candidates by what needs no vectors."""
        features = replace(self.extractor, dense=None, reader=None).features(topic, found)
        return np.asarray(self.state.plain.scores(topic.id, features))


def faults(state: LearnedState) -> list[str]:
    """What is wrong with a model; empty for every model that training leaves behind."""
    found = [f"cross_fit: {fault}" for fault in _of_fit(state.cross_fit)]
    found += [f"plain: {fault}" for fault in _of_fit(state.plain)]
    found += [f"calibration: {fault}" for fault in _of_calibration(state.calibration)]
    if state.n_pages < 1:
        found.append("n_pages must be at least 1")
    if not len(state.count.residuals) or (np.diff(state.count.residuals) < 0.0).any():
        found.append("count: residuals must be there, and rise")
    names = {name for fold in state.cross_fit.folds for name in fold.line.feature_names}
    for first, encoder in (("topic_vector", state.encoder), (SECOND["topic_vector"], state.second)):
        if (first in names) != (encoder is not None):
            found.append("vectors without an encoder, or an encoder without vectors")
    if state.cross_encoder is not None and state.encoder is None:
        found.append("a cross-encoder without an encoder")
    return found


def _of_fit(fit: CrossFit) -> Iterator[str]:
    if not fit.folds:
        yield "no folds"
    for at, fold in enumerate(fit.folds):
        n_names, n_slopes = len(fold.line.feature_names), len(fold.line.slopes)
        if not n_names or n_slopes != n_names:
            yield f"fold {at}: {n_names} features and {n_slopes} slopes"


def _of_calibration(calibration: Calibration) -> Iterator[str]:
    n_wanted = 2 if calibration.settings.scale == "shared" else 3
    if len(calibration.coefficients) != n_wanted:
        yield f"{len(calibration.coefficients)} coefficients, not {n_wanted}"
    if not 0.0 <= calibration.prior <= 1.0:
        yield f"a prior of {calibration.prior:g}"
    if not len(calibration.knots) == len(calibration.values) > 0:
        yield f"{len(calibration.knots)} knots and {len(calibration.values)} values"
    if not 0.0 < calibration.settings.tagging_rate <= 1.0:
        yield f"a tagging rate of {calibration.settings.tagging_rate:g}"
    corners = np.array([0.0, *calibration.settings.corners, 1.0])
    if (np.diff(corners) <= 0.0).any():
        yield "corners must rise between 0 and 1"
    if (np.diff(calibration.knots) < 0.0).any() or (np.diff(calibration.values) < 0.0).any():
        yield "knots and values must rise"


KIND = "evenrank relevance model"
FORMAT_VERSION = 11
HEADER = ("kind", "format_version", "versions", "checksum")
"""What a file holds beside the model."""
PARTS = ("evenrank", "numpy", "tantivy")
"""Packages whose version can change a model."""


def model_path(collection: Collection) -> Path:
    """Where the model of a collection is kept unless another place is named."""
    return collection.learned_model


def save(state: LearnedState, path: str | os.PathLike[str]) -> None:
    """Write a model with its settings and the versions it was made with."""
    versions = {"python": platform.python_version(), **{part: version(part) for part in PARTS}}
    made = {"kind": KIND, "format_version": FORMAT_VERSION, "versions": versions, **asdict(state)}
    record = orjson.loads(orjson.dumps(made, option=orjson.OPT_SERIALIZE_NUMPY))
    record["checksum"] = record_checksum(record)
    with atomic_file(path) as file:
        file.write(orjson.dumps(record, option=orjson.OPT_INDENT_2) + b"\n")


def model_fingerprint(path: str | os.PathLike[str]) -> str:
    """Identifies the content of a model file."""
    return hashlib.sha256(_read(path)).hexdigest()[:16]


def load(path: str | os.PathLike[str]) -> LearnedState:
    """A model from its file; an error when it is none, of another version, or damaged."""
    try:
        record = orjson.loads(_read(path))
    except orjson.JSONDecodeError as error:
        raise _no_model(path, f"no JSON: {error}") from error
    if not isinstance(record, dict) or record.get("kind") != KIND:
        raise _no_model(path, "some other JSON")
    if record.get("format_version") != FORMAT_VERSION:
        found = str(record.get("format_version"))[:40]
        raise EvenrankError(f"{path}: model format {found}, this version reads {FORMAT_VERSION} (run: evenrank learn)")
    try:
        state: LearnedState = check_value({name: record[name] for name in record if name not in HEADER}, LearnedState)
    except ValueError as error:
        raise _no_model(path, f"damaged: {str(error)[:MAX_FOUND]}") from error
    if wrong := faults(state):
        raise _no_model(path, f"damaged: {'; '.join(wrong)}")
    if record.pop("checksum", None) != record_checksum(record):
        raise _no_model(path, "damaged: its checksum does not match its content")
    return state


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise _no_model(path, reason_of(error)) from error


def _no_model(path: str | os.PathLike[str], reason: str) -> EvenrankError:
    return EvenrankError(f"{path}: not a relevance model: {reason} (make one: evenrank learn DIR)")
