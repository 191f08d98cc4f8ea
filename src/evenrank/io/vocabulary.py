"""Many texts → numbers, by array arithmetic: millions of ids are numbered without a look-up in Python for each.

Two hashes of 64 bits are computed of each text. The first decides which texts are equal, the second confirms it; where
it does not, which is to be expected once in 10²⁶ pairs of texts, the caller numbers the texts one by one.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from evenrank.io.byte_arrays import WORD, words_of

Hashes = NDArray[np.uint64]
_MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_SHIFT = np.uint64(29)
_MASKS = np.array([(1 << 8 * n_bytes) - 1 for n_bytes in range(WORD + 1)], np.uint64)
MANY = 10_000
"""Texts from which on numbering all at once is worth it."""
ROWS_AT_ONCE = 1 << 15
"""Rows that are worked on together: arrays of them fit into a processor's cache."""


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
        array = array if isinstance(array, arrow.ChunkedArray) else arrow.chunked_array([array])
        if array.type not in (arrow.string(), arrow.large_string()) or array.null_count:
            return None
        texts = cls(arrow.chunked_array([chunk for chunk in array.chunks if len(chunk)]))
        return texts if all(map(_has_no_blank, texts.array.chunks)) else None

    def hashes(self) -> tuple[Hashes, Hashes]:
        """The two hashes of each text."""
        first, second = (np.empty(len(self.array), np.uint64) for _ in range(2))
        start = 0
        for chunk in self.array.chunks:
            here = slice(start, start + len(chunk))
            hash_parts(_bytes_of(chunk), _bounds_of(chunk), 0, first[here], second[here])
            start += len(chunk)
        return (first, second) if self.rows is None else (first[self.rows], second[self.rows])

    def numbered(self) -> tuple[list[str], NDArray[np.intp]]:
        """The different texts, in the order in which they first appear, and the place of each row among them."""
        encoded = self.array.dictionary_encode().unify_dictionaries()
        places = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks]).astype(np.intp)
        names: list[str] = encoded.chunk(0).dictionary.to_pylist()
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


def _bounds_of(chunk: Any) -> NDArray[np.integer]:
    """Where each text of an Arrow array begins in its buffer, and where the last one ends."""
    wide = str(chunk.type).startswith("large")
    found: NDArray[Any] = np.frombuffer(chunk.buffers()[1], np.int64 if wide else np.int32)
    return found[chunk.offset : chunk.offset + len(chunk) + 1]


def _bytes_of(chunk: Any) -> NDArray[np.uint8]:
    buffer = chunk.buffers()[2]
    return np.empty(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)


def _has_no_blank(chunk: Any) -> bool:
    """Whether no text of an Arrow array is empty or begins with a blank."""
    bounds = _bounds_of(chunk)
    return bool((bounds[1:] > bounds[:-1]).all() and (_bytes_of(chunk)[bounds[:-1]] > ord(" ")).all())


def text_hashes(texts: Sequence[str] | ArrowTexts) -> tuple[Hashes, Hashes] | None:
    """Two independent hashes of each text; None when a text has a line feed, at which the texts are told apart."""
    if isinstance(texts, ArrowTexts):
        return texts.hashes()
    content = "\n".join([*texts, ""]).encode("utf-8", "surrogatepass")
    buffer = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(buffer == ord("\n"))
    if len(ends) != len(texts):
        return None
    first, second = np.empty(len(texts), np.uint64), np.empty(len(texts), np.uint64)
    hash_parts(buffer, np.concatenate([[0], ends + 1]), 1, first, second)
    return first, second


def hash_parts(buffer: NDArray[np.uint8], bounds: NDArray[np.integer], gap: int, first: Hashes, second: Hashes) -> None:
    """Two hashes of each part of a buffer, block by block, so that what is computed on the way stays in the cache.

    Part n begins at `bounds[n]` and ends `gap` bytes before `bounds[n + 1]`. The hashes go into `first` and `second`.
    """
    for at in range(0, len(bounds) - 1, ROWS_AT_ONCE):
        block = slice(at, at + ROWS_AT_ONCE)
        inside = bounds[at : at + ROWS_AT_ONCE + 1].astype(np.intp)
        padded = np.concatenate([buffer[inside[0] : inside[-1]], np.zeros(WORD, np.uint8)])
        first[block], second[block] = _hash_block(words_of(padded), inside[:-1] - inside[0], np.diff(inside) - gap)


def _hash_block(words: Hashes, starts: NDArray[np.intp], lengths: NDArray[np.intp]) -> tuple[Hashes, Hashes]:
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
    """Texts by number, in the order of their first appearance: a hash table with open addressing, on arrays."""

    sources: list[tuple[Sequence[str] | ArrowTexts, NDArray[np.intp]]] = field(default_factory=list)
    """Where the texts are: the rows of a column in which they first appeared, column after column."""
    n_texts: int = 0
    _first: Hashes = field(default_factory=lambda: np.empty(0, np.uint64))
    """First hash of each known text by number, and room for more."""
    _second: Hashes = field(default_factory=lambda: np.empty(0, np.uint64))
    _slots: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    """Number of the text in each slot plus 1; 0 where the slot is empty. At least half of them are."""

    def encode(self, texts: Sequence[str] | ArrowTexts) -> NDArray[np.intp] | None:
        """The numbers of texts, new ones added; None, and nothing added, when hashes cannot tell them apart."""
        hashed = text_hashes(texts)
        if hashed is None:
            return None
        first, second = hashed
        n_before = self.n_texts
        found = np.empty(len(first), np.intp)
        fresh = []
        for start in range(0, len(first), ROWS_AT_ONCE):
            block = slice(start, start + ROWS_AT_ONCE)
            self._reserve(self.n_texts + (len(first) - start if not n_before else len(first[block])))
            found[block], new = self._number(first[block], second[block])
            fresh.append(start + new)
            if (self._second[found[block]] != second[block]).any():
                self._rebuild(len(self._slots), n_before)
                return None
        self.sources.append((texts, np.concatenate(fresh) if fresh else np.empty(0, np.intp)))
        return found

    def names(self) -> list[str]:
        """The texts by number."""
        found: list[str] = []
        for texts, rows in self.sources:
            found += texts[rows].tolist() if isinstance(texts, ArrowTexts) else [texts[row] for row in rows.tolist()]
        return found

    def _number(self, hashes: Hashes, confirm: Hashes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The numbers of some texts, and the rows of those that are new.

        Every turn looks at one slot for each text that has no number yet. A free slot is claimed by the first text
        that looks at it, which leaves its row there, counted down from -1; equal texts behind it find it there.
        """
        found, at = np.empty(len(hashes), np.intp), np.empty(len(hashes), np.intp)
        rows = np.arange(len(hashes))
        slot = (hashes >> np.uint64(65 - len(self._slots).bit_length())).astype(np.intp)
        for step in count(1):
            there = self._slots[slot]
            if len(free := np.flatnonzero(there == 0)):
                back = free[::-1]  # of several texts, the last one assigned stays
                self._slots[slot[back]] = -1 - rows[back]
                there[free] = self._slots[slot[free]]
            known = self._first[np.maximum(there, 1) - 1]
            is_claim = there < 0
            if is_claim.any():
                known[is_claim] = hashes[-1 - there[is_claim]]
            is_same = known == hashes[rows]
            found[rows], at[rows] = there, slot
            others = np.flatnonzero(~is_same)
            if not len(others):
                break
            rows, slot = rows[others], (slot[others] + step) & (len(self._slots) - 1)
        new = np.flatnonzero(found == -1 - np.arange(len(hashes)))
        number = np.arange(self.n_texts, self.n_texts + len(new))
        self._slots[at[new]] = number + 1
        self._first[number], self._second[number] = hashes[new], confirm[new]
        self.n_texts += len(new)
        if len(new):
            place = np.empty(len(hashes), np.intp)
            place[new] = number + 1
            is_claim = found < 0
            found[is_claim] = place[-1 - found[is_claim]]
        return found - 1, new

    def _reserve(self, n_texts: int) -> None:
        """Room for so many texts, at most half of the slots taken."""
        if 2 * n_texts <= len(self._slots):
            return
        self._rebuild(1 << (2 * n_texts - 1).bit_length(), self.n_texts)

    def _rebuild(self, n_slots: int, n_kept: int) -> None:
        first, second = self._first[:n_kept], self._second[:n_kept]
        self._slots = np.zeros(n_slots, np.int32)
        self._first, self._second = np.empty(n_slots // 2, np.uint64), np.empty(n_slots // 2, np.uint64)
        self.n_texts = 0
        for start in range(0, n_kept, ROWS_AT_ONCE):
            self._number(first[start : start + ROWS_AT_ONCE], second[start : start + ROWS_AT_ONCE])


Ints = NDArray[np.intp]


def _numbering(known: Mapping[str | int, int]) -> defaultdict[str | int, int]:
    """A dict that numbers its keys as they come, in one pass and without a line of Python for each."""
    return defaultdict(count(len(known)).__next__, known)


@dataclass
class Vocabulary:
    """Ids by number, in the order of their first appearance.

    Tables may have integers for the ids that are text in another one (a file knows text alone): then integers are
    compared as text.
    """

    numbers: defaultdict[str | int, int] = field(default_factory=lambda: _numbering({}))
    """Id → number; an id that is looked up for the first time gets the next one."""
    listed: list[Any] = field(default_factory=list)
    """The ids by number, while `texts` does not number them."""
    kinds: set[type] = field(default_factory=set)
    is_text: bool = False
    """Whether the keys of `numbers` are text whatever the ids are, because there were both kinds."""
    texts: TextNumbers | None = None
    """Numbers the ids in place of `numbers` while all of them are text and there are many."""

    @classmethod
    def empty(cls) -> Vocabulary:
        return cls()

    @property
    def names(self) -> list[Any]:
        """The ids by number."""
        if self.texts is not None and len(self.listed) < self.texts.n_texts:
            self.listed = self.texts.names()
        return self.listed

    def encode(self, ids: Iterable[str | int] | ArrowTexts) -> Ints:
        """The numbers of ids; new ones are added."""
        given = ids if isinstance(ids, (list, ArrowTexts)) else list(ids)
        self.kinds |= {str} if isinstance(given, ArrowTexts) else set(map(type, given))
        if self.kinds <= {str} and (self.texts is not None or (len(given) >= MANY and not self.listed)):
            self.texts = self.texts or TextNumbers()
            if (numbered := self.texts.encode(cast("list[str]", given))) is not None:
                return numbered
        return self._encode_singly(given.tolist() if isinstance(given, ArrowTexts) else given)

    def _encode_singly(self, ids: list[Any]) -> Ints:
        if self.texts is not None:
            self.numbers = _numbering({name: number for number, name in enumerate(self.names)})
            self.texts = None
        if len(self.kinds) > 1 and not self.is_text:
            self.is_text = True
            self.numbers = _numbering({str(key): number for key, number in self.numbers.items()})
        keys: list[str | int] = list(map(str, ids)) if self.is_text else ids
        found = np.fromiter(map(self.numbers.__getitem__, keys), np.intp, len(keys))
        fresh = list(islice(self.numbers, len(self.listed), None))
        given = dict(zip(keys, ids, strict=True)) if self.is_text and fresh else {}
        self.listed += [given[key] for key in fresh] if self.is_text else fresh
        return found

    def get(self, one: str | int) -> int | None:
        """The number of an id; None when it is unknown. An integer and its text are the same id."""
        spellings = (one, str(one), int(one) if isinstance(one, str) and one.isdecimal() else one)
        if self.texts is not None:
            return next((at for at, name in enumerate(self.names) if name in spellings), None)
        return next((self.numbers[key] for key in spellings if key in self.numbers), None)

    def __len__(self) -> int:
        return len(self.listed) if self.texts is None else self.texts.n_texts


def number_names(names: list[Any] | ArrowTexts, known: Vocabulary) -> Ints:
    """The numbers of names that mostly repeat; new ones are added."""
    if isinstance(names, ArrowTexts):
        listed, places = names.numbered()
        return known.encode(listed)[places]
    distinct: dict[Any, None] = {}
    for start in range(0, len(names), MANY):
        distinct.update(dict.fromkeys(names[start : start + MANY]))
        if len(distinct) >= max(MANY, len(names) // 4):  # a dict of all would take most of the memory
            return known.encode(names)
    number = dict(zip(distinct, known.encode(list(distinct)).tolist(), strict=True))
    return np.fromiter(map(number.__getitem__, names), np.intp, len(names))
