"""Ids by number: every id of all tables once, in the order of first appearance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from evenrank.items.text_numbers import MANY, ArrowTexts, TextNumbers

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
