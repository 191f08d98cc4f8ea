"""Vectors of all pages of an index: the second way to find the candidates of a topic."""

from __future__ import annotations

import numpy as np

from evenrank.collection.collection import Collection
from evenrank.collection.given import given_collection
from evenrank.search.encode.dense import DenseScorer
from evenrank.search.encode.encoder import Encoder, EncoderSettings
from evenrank.search.engine.indexing import index_folder, open_index
from evenrank.types import FilePath

PAGES_AT_ONCE = 100_000
"""Pages whose vectors are made before the file is read again."""


def encode_index(collection: Collection | FilePath, encoder: EncoderSettings | None = None) -> DenseScorer:
    """The vectors of all pages of a collection's index, made as far as they are missing.

    An interrupted call resumes where it stopped: vectors are kept beside the index as they are made.
    """
    opened = given_collection(collection)
    scorer = DenseScorer.open(open_index(opened), Encoder(encoder), index_folder(opened))
    page_ids = scorer.engine.page_ids()
    for start in range(0, len(page_ids), PAGES_AT_ONCE):
        scorer.encode(np.asarray(page_ids[start : start + PAGES_AT_ONCE]), "vectors")
    return scorer
