"""Ids → numbers: those in Arrow's memory by Arrow's own hash tables, others by a dict."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

MANY = 10_000
"""Texts from which on they stay in Arrow's memory."""


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
        array, compute = array.cast(arrow.large_string()), import_module("pyarrow.compute")
        is_blank = compute.or_(compute.utf8_is_space(array), compute.equal(compute.binary_length(array), 0))
        return None if compute.any(is_blank).as_py() else cls(array)

    def in_order(self) -> Any:
        """The texts as Arrow's array, row by row."""
        return self.array if self.rows is None else self.array.take(self.rows)

    def numbered(self) -> tuple[list[str], NDArray[np.intp]]:
        """The different texts, in the order in which they first appear, and the place of each row among them."""
        known = Vocabulary()
        places = known.encode(self)
        return known.names, places

    def __len__(self) -> int:
        return len(self.array) if self.rows is None else len(self.rows)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, np.ndarray):
            return ArrowTexts(self.array, key if self.rows is None else self.rows[key])
        return self.array[int(key) if self.rows is None else int(self.rows[key])].as_py()

    def tolist(self) -> list[str]:
        found: list[str] = self.in_order().to_pylist()
        return found


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
    """The ids by number, as far as they were asked for while `texts` has them."""
    kinds: set[type] = field(default_factory=set)
    is_text: bool = False
    """Whether the keys of `numbers` are text whatever the ids are, because there were both kinds."""
    texts: Any = None
    """The ids by number as Arrow's array, in place of `numbers`, while all of them came from Arrow's memory."""

    @classmethod
    def empty(cls) -> Vocabulary:
        return cls()

    @property
    def names(self) -> list[Any]:
        """The ids by number."""
        if self.texts is not None and len(self.listed) < len(self.texts):
            self.listed = self.texts.to_pylist()
        return self.listed

    def encode(self, ids: Iterable[str | int] | ArrowTexts) -> Ints:
        """The numbers of ids; new ones are added."""
        if isinstance(ids, ArrowTexts) and (self.texts is not None or not self.kinds):
            return self._encode_arrow(ids.in_order())
        given = ids.tolist() if isinstance(ids, ArrowTexts) else ids if isinstance(ids, list) else list(ids)
        return self._encode_singly(given)

    def _encode_arrow(self, array: Any) -> Ints:
        arrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
        self.kinds.add(str)
        if self.texts is None:
            encoded = array.combine_chunks().dictionary_encode()
            self.texts, places = encoded.dictionary, encoded.indices
        else:
            places = compute.index_in(array, value_set=self.texts)
            if places.null_count:
                fresh = array.filter(places.is_null()).unique()
                self.texts = arrow.concat_arrays([self.texts, fresh])
                places = compute.index_in(array, value_set=self.texts)
        numbers: Ints = places.to_numpy().astype(np.intp)
        return numbers

    def _encode_singly(self, ids: list[Any]) -> Ints:
        self.kinds |= set(map(type, ids))
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
        return len(self.listed if self.texts is None else self.texts)


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
