"""A metadata field of names from no fixed list, such as `instance_of`: a number per page and a table of names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

MAX_NAMES = 20
MAX_LENGTH = 255
"""Most names of a page, and most characters of one."""
MAX_BYTES = 1 << 29
"""Most memory for different lists, roughly; all of English Wikipedia needs a tenth of that."""
NAME_BYTES = 64
"""Memory of a name beside its characters, roughly."""
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class PageNames:
    """The names of pages: page i has those of `lists[numbers[i]]`; list 0 is empty, each other one occurs."""

    numbers: NDArray[np.unsignedinteger]
    lists: tuple[tuple[str, ...], ...]


class NameLists:
    """Numbers the distinct values of a field, for the reader of metadata lines (it is a `MaskField`)."""

    encode_counts: Callable[[object], dict[int, int]] | None = None
    mask_dtype: np.dtype[np.unsignedinteger] = np.dtype(np.uint32)

    def __init__(self, field: str) -> None:
        self.name = self.field = field
        self._numbers: dict[tuple[str, ...], int] = {(): 0}
        self._next = count(1)
        self._n_bytes = 0

    def encode(self, value: object) -> int:
        """The number of a value; ValueError when it is not a list of names. Threads may call it at the same time."""
        names = self._names(value)
        found = self._numbers.get(names)
        if found is not None:
            return found
        self._n_bytes += sum(NAME_BYTES + len(name) for name in names)
        if self._n_bytes > MAX_BYTES:
            raise ValueError(f"{self.field} has more different names than fit into {MAX_BYTES >> 20} MB")
        return self._numbers.setdefault(names, next(self._next))

    def _names(self, value: object) -> tuple[str, ...]:
        values = [] if value is None else value if isinstance(value, list) else [value]
        if len(values) > MAX_NAMES:
            raise ValueError(f"{self.field} has {len(values):,} names; give up to {MAX_NAMES}")
        return tuple(dict.fromkeys(map(self._name, values)))

    def _name(self, value: object) -> str:
        """A name with single blanks between its words; characters that control terminals or turn text are blanks."""
        if isinstance(value, str):
            if len(value) > MAX_LENGTH:
                raise ValueError(f"{self.field} has a name of {len(value):,} characters; give up to {MAX_LENGTH}")
            if name := " ".join(_CONTROLS.sub(" ", value).split()):
                return name
        shown = repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}…"
        raise ValueError(f'{self.field} has {shown}, not a name; give a list of names such as ["song"]')

    def of_pages(self, column: NDArray[np.unsignedinteger]) -> PageNames:
        """The names of pages whose values have these numbers."""
        return number_by_first_page(column, {number: names for names, number in self._numbers.items()})


def number_by_first_page(column: NDArray[np.integer], lists: Mapping[int, tuple[str, ...]]) -> PageNames:
    """The names of pages, by the number of the list of each; numbered anew by the first page that has a list, because
    threads number lists in any order."""
    found, first, place = np.unique(column, return_index=True, return_inverse=True)
    order = [at for at in np.argsort(first).tolist() if found[at] != 0]
    renumbered = np.zeros(len(found), np.min_scalar_type(len(order)))
    renumbered[order] = np.arange(1, len(order) + 1)
    kept = ((), *(lists[int(found[at])] for at in order))
    return PageNames(renumbered[place.reshape(-1)], kept)
