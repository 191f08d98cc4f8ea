"""Many texts → numbers, by array arithmetic: millions of ids are numbered without a look-up in Python for each.

Two hashes of 64 bits are computed of each text. The first decides which texts are equal, the second confirms it; where
it does not, which is to be expected once in 10²⁶ pairs of texts, the caller numbers the texts one by one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.formats.byte_arrays import WORD, words_of

Hashes = NDArray[np.uint64]
_MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_SHIFT = np.uint64(29)
_MASKS = np.array([(1 << 8 * n_bytes) - 1 for n_bytes in range(WORD + 1)], np.uint64)
MANY = 10_000
"""Texts from which on numbering all at once is worth it."""


class ArrowTexts:
    """A column of texts in Arrow's memory, none missing, empty or blank; it becomes Python's only where that is needed.

    It offers what a numpy array of objects does, as far as tables of items use it.
    """

    dtype = np.dtype(object)

    def __init__(self, array: Any, rows: NDArray[np.intp] | None = None) -> None:
        self.array, self.rows = array, rows

    @classmethod
    def of(cls, column: Any) -> ArrowTexts | None:
        """A column of a pandas frame that is held by Arrow; None for any other, and for one with gaps."""
        arrow = sys.modules.get("pyarrow")
        if arrow is None or len(column) < MANY or not str(column.dtype).startswith("str"):
            return None
        array = arrow.array(column)
        array = array.combine_chunks() if isinstance(array, arrow.ChunkedArray) else array
        if array.type not in (arrow.string(), arrow.large_string()) or array.null_count or array.offset:
            return None
        texts = cls(array)
        bounds = texts.bounds()
        if not (np.diff(bounds) > 0).all():
            return None
        first_bytes = np.frombuffer(array.buffers()[2], np.uint8)[bounds[:-1]]
        return texts if (first_bytes > ord(" ")).all() else None

    def bounds(self) -> NDArray[np.integer]:
        """Where each text begins in the buffer, and where the last one ends."""
        wide = str(self.array.type).startswith("large")
        found: NDArray[Any] = np.frombuffer(self.array.buffers()[1], np.int64 if wide else np.int32)
        return found[: len(self.array) + 1]

    def hashes(self) -> tuple[Hashes, Hashes]:
        """The two hashes of each text."""
        bounds = self.bounds().astype(np.intp)
        buffer = np.concatenate([np.frombuffer(self.array.buffers()[2], np.uint8), np.zeros(WORD, np.uint8)])
        first, second = hash_parts(buffer, bounds[:-1], np.diff(bounds))
        return (first, second) if self.rows is None else (first[self.rows], second[self.rows])

    def numbered(self) -> tuple[list[str], NDArray[np.intp]]:
        """The different texts, in the order in which they first appear, and the place of each row among them."""
        encoded = self.array.dictionary_encode()
        places = encoded.indices.to_numpy().astype(np.intp)
        names: list[str] = encoded.dictionary.to_pylist()
        return names, places if self.rows is None else places[self.rows]

    def __len__(self) -> int:
        return len(self.array) if self.rows is None else len(self.rows)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, np.ndarray):
            return ArrowTexts(self.array, key if self.rows is None else self.rows[key])
        return self.array[int(key) if self.rows is None else int(self.rows[key])].as_py()

    def tolist(self) -> list[str]:
        found: list[str] = (self.array if self.rows is None else self.array.take(self.rows)).to_pylist()
        return found


class JointTexts:
    """Columns that Arrow holds, their texts numbered together in one pass, in the order of first appearance.

    It offers what `TextNumbers` does, for these columns alone.
    """

    def __init__(self, columns: Sequence[ArrowTexts]) -> None:
        arrays = [column.array for column in columns]
        encoded = sys.modules["pyarrow"].chunked_array(arrays).dictionary_encode()  # one dictionary for all parts
        self._places = {
            id(array): part.indices.to_numpy().astype(np.intp)
            for array, part in zip(arrays, encoded.chunks, strict=True)
        }
        self._columns = tuple(columns)  # kept, so that no other array gets the id of one of these
        self._dictionary = encoded.chunk(0).dictionary
        self.n_texts = len(self._dictionary)

    @classmethod
    def of(cls, columns: Sequence[object]) -> JointTexts | None:
        """The columns numbered together; None unless Arrow holds all of them, in the same form."""
        held = [column for column in columns if isinstance(column, ArrowTexts)]
        if len(held) < len(columns) or len({str(column.array.type) for column in held}) != 1:
            return None
        return cls(held)

    def encode(self, texts: Sequence[str] | ArrowTexts) -> NDArray[np.intp] | None:
        """The numbers of one of the columns; None for other texts."""
        if not isinstance(texts, ArrowTexts) or id(texts.array) not in self._places:
            return None
        places: NDArray[np.intp] = self._places[id(texts.array)]
        return places if texts.rows is None else places[texts.rows]

    def names(self) -> list[str]:
        """The texts by number."""
        found: list[str] = self._dictionary.to_pylist()
        return found


def text_hashes(texts: Sequence[str] | ArrowTexts) -> tuple[Hashes, Hashes] | None:
    """Two independent hashes of each text; None when a text has a line feed, at which the texts are told apart."""
    if isinstance(texts, ArrowTexts):
        return texts.hashes()
    content = "\n".join([*texts, ""]).encode("utf-8", "surrogatepass")
    buffer = np.frombuffer(content + bytes(WORD), np.uint8)
    ends = np.flatnonzero(buffer[: len(content)] == ord("\n"))
    if len(ends) != len(texts):
        return None
    starts = np.concatenate([[0], ends[:-1] + 1])
    return hash_parts(buffer, starts, ends - starts)


def hash_parts(buffer: NDArray[np.uint8], starts: NDArray[np.intp], lengths: NDArray[np.intp]) -> tuple[Hashes, Hashes]:
    """Two hashes of each part of a buffer, which has a word of padding at its end."""
    words = words_of(buffer)
    first, second = (lengths.astype(np.uint64) * multiplier for multiplier in _MULTIPLIERS)
    rows: NDArray[np.intp] | slice = slice(None)
    for offset in range(0, int(lengths.max(initial=0)), WORD):
        if offset:
            rows = np.flatnonzero(lengths > offset)
        word = words[starts[rows] + offset] & _mask(lengths[rows] - offset)
        for mixed, multiplier in zip((first, second), _MULTIPLIERS, strict=True):
            value = (mixed[rows] ^ word) * multiplier
            mixed[rows] = value ^ (value >> _SHIFT)
    return first, second


def _mask(n_bytes: NDArray[np.intp]) -> NDArray[np.uint64]:
    """A word in which the first bytes are set, all of them from eight on."""
    return _MASKS[np.minimum(n_bytes, WORD)]


@dataclass
class TextNumbers:
    """Texts by number, in the order of their first appearance."""

    sources: list[tuple[Sequence[str] | ArrowTexts, NDArray[np.intp]]] = field(default_factory=list)
    """Where the texts are: the rows of a column in which they first appeared, column after column."""
    n_texts: int = 0
    _first: Hashes = field(default_factory=lambda: np.empty(0, np.uint64))
    """First hash of each known text, ascending."""
    _second: Hashes = field(default_factory=lambda: np.empty(0, np.uint64))
    _number: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))

    def encode(self, texts: Sequence[str] | ArrowTexts) -> NDArray[np.intp] | None:
        """The numbers of texts, new ones added; None, and nothing added, when hashes cannot tell them apart."""
        hashed = text_hashes(texts)
        if hashed is None:
            return None
        first, second = hashed
        order = np.argsort(first)
        ordered = first[order]
        is_new = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(order)]
        starts = np.flatnonzero(is_new)
        distinct, at = ordered[starts], np.minimum.reduceat(order, starts) if len(starts) else starts
        group = np.cumsum(is_new) - 1
        confirm = second[at]
        if (confirm[group] != second[order]).any():
            return None
        place = np.searchsorted(self._first, distinct)
        inside = np.minimum(place, max(0, len(self._first) - 1))
        is_known = self._first[inside] == distinct if len(self._first) else np.zeros(len(distinct), bool)
        if len(self._first) and (self._second[inside[is_known]] != confirm[is_known]).any():
            return None
        number = np.empty(len(distinct), np.intp)
        number[is_known] = self._number[inside[is_known]] if len(self._first) else 0
        fresh = np.flatnonzero(~is_known)
        by_appearance = fresh[np.argsort(at[fresh])]
        number[by_appearance] = np.arange(self.n_texts, self.n_texts + len(fresh))
        self.sources.append((texts, at[by_appearance]))
        self.n_texts += len(fresh)
        self._first = np.insert(self._first, place[fresh], distinct[fresh])
        self._second = np.insert(self._second, place[fresh], confirm[fresh])
        self._number = np.insert(self._number, place[fresh], number[fresh])
        found = np.empty(len(order), np.intp)
        found[order] = number[group]
        return found

    def names(self) -> list[str]:
        """The texts by number."""
        found: list[str] = []
        for texts, rows in self.sources:
            found += texts[rows].tolist() if isinstance(texts, ArrowTexts) else [texts[row] for row in rows.tolist()]
        return found
