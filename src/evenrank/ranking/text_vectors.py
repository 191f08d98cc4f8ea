"""Vectors of the texts of candidates by hashing words: enough to tell that two pages say the same, without a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from evenrank.retrieval.engine.engines import index_folder, open_index
from evenrank.trec.collection import Collection

N_CELLS = 256
"""Length of a vector."""
_WORD = re.compile(r"\w+")


def page_vectors(collection: Collection, rows: NDArray[np.intp]) -> NDArray[np.float32] | None:
    """Vectors of the pages' titles and of what the index keeps of their text; None when neither is there."""
    titles = collection.titles
    if titles is None:
        return None
    texts = [titles[int(row)] if row >= 0 else "" for row in rows]
    if index_folder(collection).exists():
        page_ids = collection.page_ids[np.maximum(rows, 0)].tolist()
        stored = open_index(collection).stored(page_ids)
        texts = [
            f"{text} {page.opening}" if page is not None and row >= 0 else text
            for text, page, row in zip(texts, stored, rows, strict=True)
        ]
    return text_vectors(texts)


def text_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """One vector of length 1 for each text: hashed words, rare ones among these texts weighing more.

    A text without words gets a vector of zeros, which is similar to nothing.
    """
    words = [sorted({crc32(word.encode()) for word in _WORD.findall(text.casefold())}) for text in texts]
    page = np.repeat(np.arange(len(texts)), [len(of_text) for of_text in words])
    codes = np.array([code for of_text in words for code in of_text], np.int64)
    _, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    rarity = np.log((1.0 + len(texts)) / counts)[inverse] if len(codes) else np.empty(0)
    signs = np.where(codes >> 16 & 1, 1.0, -1.0)
    cells = np.bincount(page * N_CELLS + codes % N_CELLS, signs * rarity, minlength=len(texts) * N_CELLS)
    vectors = cells.reshape(len(texts), N_CELLS)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0.0, lengths, 1.0), np.float32)
