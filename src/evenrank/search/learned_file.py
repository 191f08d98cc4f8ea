"""A learned model as one versioned JSON file."""

from __future__ import annotations

import hashlib
import os
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from evenrank.collection.collection import Collection
from evenrank.errors import EvenrankError
from evenrank.formats.atomic import atomic_file
from evenrank.search.calibration import Calibration, CalibrationSettings
from evenrank.search.cross_fit import CrossFit, Fold
from evenrank.search.encoder import EncoderSettings
from evenrank.search.learned import LearnedState, UsedEncoder
from evenrank.search.learning import LearningSettings
from evenrank.search.ranker import Ranker

KIND = "evenrank relevance model"
FORMAT_VERSION = 3
PARTS = ("evenrank", "lightgbm", "numpy", "tantivy")
"""Packages whose version can change a model."""


def model_path(collection: Collection) -> Path:
    """Where the model of a collection is kept unless another place is named."""
    return collection.path / "relevance-model.json"


def save(state: LearnedState, path: str | os.PathLike[str]) -> None:
    """Write a model with its settings and the versions it was made with, trees as LightGBM's own text."""
    versions = {"python": platform.python_version(), **{part: version(part) for part in PARTS}}
    record = {"kind": KIND, "format_version": FORMAT_VERSION, "versions": versions, **asdict(state)}
    with atomic_file(path) as file:
        file.write(orjson.dumps(record, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_INDENT_2) + b"\n")


def fingerprint(path: str | os.PathLike[str]) -> str:
    """Identifies the content of a model file."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise _no_model(path, error) from error


def load(path: str | os.PathLike[str]) -> LearnedState:
    """A model from its file; an error when it is none, or of another version."""
    try:
        record = orjson.loads(Path(path).read_bytes())
        if record["kind"] != KIND:
            raise ValueError(record["kind"])
        found = record["format_version"]
        if found != FORMAT_VERSION:
            raise EvenrankError(
                f"{path}: model format {found}, this version reads {FORMAT_VERSION} (run: evenrank learn)"
            )
        return LearnedState(
            _cross_fit(record["cross_fit"]),
            _calibration(record["calibration"]),
            LearningSettings(**record["settings"]),
            record["n_pages"],
            record["n_rescored"],
            None if record["rest"] is None else _cross_fit(record["rest"]),
            _encoder(record["encoder"]),
            record["cross_encoder"],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _no_model(path, error) from error


def _cross_fit(record: dict[str, Any]) -> CrossFit:
    folds = record["folds"]
    return CrossFit(tuple(Fold(Ranker.from_record(fold["ranker"]), tuple(fold["held_out"])) for fold in folds))


def _calibration(record: dict[str, Any]) -> Calibration:
    arrays = {name: np.array(record[name], np.float64) for name in ("coefficients", "knots", "values")}
    return Calibration(settings=CalibrationSettings(**record["settings"]), prior=record["prior"], **arrays)


def _encoder(record: dict[str, Any] | None) -> UsedEncoder | None:
    return None if record is None else UsedEncoder(EncoderSettings(**record["settings"]), record["fingerprint"])


def _no_model(path: str | os.PathLike[str], error: Exception) -> EvenrankError:
    reason = error.strerror if isinstance(error, OSError) else repr(error)
    return EvenrankError(f"{path}: not a relevance model: {reason} (make one: evenrank learn DIR)")
