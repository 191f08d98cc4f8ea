"""A field of a metadata record → bit mask and counts; values that come again are looked up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray

MEMO_LIMIT = 1 << 16
"""Distinct values remembered of one field; with more of them the memory is cleared."""
WRITTEN_LIMIT = 1 << 18
"""The same of values as they are written; counts of sources hardly repeat."""
Encoded: TypeAlias = tuple[int, tuple[int, ...]]
"""A mask, and the count of each of its groups, by ascending bit; no counts where the dimension has none."""


class MaskField(Protocol):
    """How a field of the record becomes a bit mask, and counts of groups (a dimension is one)."""

    @property
    def name(self) -> str: ...
    @property
    def field(self) -> str: ...
    @property
    def encode(self) -> Callable[[object], int]: ...
    @property
    def encode_counts(self) -> Callable[[object], dict[int, int]] | None: ...
    @property
    def mask_dtype(self) -> np.dtype[np.unsignedinteger]: ...


class UnknownValueError(ValueError):
    """A value that a dimension does not know."""

    def __init__(self, dimension: str, found: str) -> None:
        super().__init__(found)
        self.dimension = dimension


class FieldEncoder:
    """Encodes the values of one field; safe to share between threads."""

    def __init__(self, dimension: MaskField) -> None:
        self.name = dimension.name
        self.field = dimension.field
        self._dimension = dimension
        self._count = dimension.encode_counts
        self.has_counts = self._count is not None
        self._memo: dict[object, Encoded] = {}
        self._written: tuple[dict[bytes, int], dict[bytes, bytes]] = {}, {}

    def __call__(self, value: object) -> Encoded:
        """Mask and counts of a value; UnknownValueError when the dimension does not know it."""
        try:
            key = _key(value)
            found = self._memo.get(key)
        except TypeError:  # a list in a list: not a value that any dimension knows
            return self._encode(value)
        if found is None:
            found = self._encode(value)
            if len(self._memo) >= MEMO_LIMIT:
                self._memo = {}
            self._memo[key] = found
        return found

    def encode_column(self, column: Sequence[bytes]) -> tuple[NDArray[np.unsignedinteger], NDArray[np.uint32]]:
        """Masks of values as they are written in JSON, and all their counts; ValueError when one is not known."""
        masks, counts = written = self._written
        for text in set(column).difference(masks):
            value = orjson.loads(text)
            if type(value) is dict and text.count(b'":') != len(value):
                raise ValueError("a key appears twice")
            mask, numbers = self._encode(value)
            counts[text] = np.array(numbers, np.uint32).tobytes()
            masks[text] = mask  # last, because threads take what has a mask to be complete
        encoded = np.fromiter(map(masks.__getitem__, column), self._dimension.mask_dtype, len(column))
        joined = b"".join(map(counts.__getitem__, column)) if self.has_counts else b""
        if len(masks) >= WRITTEN_LIMIT and written is self._written:
            self._written = {}, {}
        return encoded, np.frombuffer(joined, np.uint32)

    def _encode(self, value: object) -> Encoded:
        try:
            if self._count is None:
                return self._dimension.encode(value), ()
            counts = self._count(value)
        except ValueError as error:
            raise UnknownValueError(self.name, str(error)) from None
        numbers = sorted(counts)
        return sum(1 << number for number in numbers), tuple(counts[number] for number in numbers)


def _key(value: object) -> object:
    """A hashable stand-in for a JSON value; True is kept apart from 1."""
    if type(value) is list:
        return (list, *value) if all(type(each) is str for each in value) else (list, repr(value))
    if type(value) is dict:
        return (dict, *value.items()) if all(type(each) is int for each in value.values()) else (dict, repr(value))
    return value if type(value) is str or value is None else (type(value), value)
