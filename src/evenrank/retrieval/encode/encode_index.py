"""Vectors of all pages of an index: the second way to find the candidates of a topic."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import orjson

from evenrank.core.settings import check_value
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError
from evenrank.io.atomic import atomic_file
from evenrank.retrieval.encode.dense import DenseScorer
from evenrank.retrieval.encode.encoder import Encoder, EncoderSettings
from evenrank.retrieval.engine.engines import index_folder, open_index
from evenrank.trec.collection import Collection, as_collection

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
