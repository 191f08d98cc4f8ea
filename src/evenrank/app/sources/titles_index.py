"""Rows of a collection by title: a sorted array of hashes, so that millions of titles take little memory."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.app.sources.entries import normal_title
from evenrank.trec.collection import Collection


@dataclass(frozen=True)
class TitleIndex:
    """Finds the row of a title; a hash only proposes, the title itself decides."""

    collection: Collection
    hashes: NDArray[np.uint32]
    """Ascending."""
    rows: NDArray[np.int32]
    """Row of each hash."""

    def find(self, title: str) -> int | None:
        """The row of a title in normal form; None when the collection has no such article."""
        titles, wanted = self.collection.titles, _hash(title)
        at = int(np.searchsorted(self.hashes, wanted))
        while titles is not None and at < len(self.hashes) and self.hashes[at] == wanted:
            row = int(self.rows[at])
            if normal_title(titles[row]) == title:
                return row
            at += 1
        return None


def index_titles(collection: Collection) -> TitleIndex:
    """The index of a collection's titles; an empty one when it has none."""
    titles = collection.titles
    n_titles = len(titles) if titles is not None else 0
    hashes = np.fromiter((_hash(normal_title(titles[row])) for row in range(n_titles)) if titles else (), np.uint32)
    order = np.argsort(hashes, kind="stable")
    return TitleIndex(collection, hashes[order], order.astype(np.int32))


def _hash(title: str) -> int:
    return zlib.crc32(title.encode("utf-8", "surrogatepass"))
