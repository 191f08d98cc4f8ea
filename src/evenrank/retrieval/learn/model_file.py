"""A learned model as one versioned JSON file."""

from __future__ import annotations

import hashlib
import os
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import orjson

from evenrank.core.settings import check_value
from evenrank.errors import EvenrankError, reason_of
from evenrank.io.atomic import atomic_file
from evenrank.retrieval.learn.learned_model import LearnedState
from evenrank.retrieval.learn.model_checks import faults
from evenrank.trec.checksums import record_checksum
from evenrank.trec.collection import Collection

KIND = "evenrank relevance model"
FORMAT_VERSION = 8
HEADER = ("kind", "format_version", "versions", "checksum")
"""What a file holds beside the model."""
PARTS = ("evenrank", "numpy", "tantivy")
"""Packages whose version can change a model."""


def model_path(collection: Collection) -> Path:
    """Where the model of a collection is kept unless another place is named."""
    return collection.path / "relevance-model.json"


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
        found = record.get("format_version")
        raise EvenrankError(f"{path}: model format {found}, this version reads {FORMAT_VERSION} (run: evenrank learn)")
    try:
        state: LearnedState = check_value({name: record[name] for name in record if name not in HEADER}, LearnedState)
    except ValueError as error:
        raise _no_model(path, f"damaged: {error}") from error
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
