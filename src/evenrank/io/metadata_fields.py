"""Fields of metadata records → page ids, scores, classes, bit masks and counts: of one record, or of many as columns.

ValueError says what was found in place of a valid value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.core.records import NO_CLASS, WORK_ORDER
from evenrank.core.text_ids import TextIds, check_text_id
from evenrank.errors import shown_value
from evenrank.plugins import plug_in_error

MAX_PAGE_ID = 2**31 - 1
SCORE_FIELDS = ("quality_score", "pred_qual")
"""Names of the quality score, in 2021 and 2022."""
CLASS_FIELDS = ("quality_score_disc", "qual_cat")
"""Names of the quality class, in 2021 and 2022."""
_CLASS_CODE = {name: code for code, name in enumerate(WORK_ORDER)}


def page_id_of(record: dict[str, Any], ids: TextIds | None) -> int:
    """The page id of a record, or the number of one that is text."""
    value = record.get("page_id")
    if ids is not None:
        return ids.number(check_text_id(value))
    if value is None:
        has = ", ".join(sorted(map(str, record))[:8])[:120]
        raise ValueError(f"no page_id; the record has {has or 'no field'}")
    if type(value) is not int or not 0 <= value <= MAX_PAGE_ID:
        raise ValueError(f"page_id is {shown_value(value)}, not a whole number from 0 to {MAX_PAGE_ID}")
    return value


def score_of(record: dict[str, Any]) -> float:
    """The quality score of a record; NaN where it has none."""
    name = SCORE_FIELDS[0] if SCORE_FIELDS[0] in record else SCORE_FIELDS[1]
    value = record.get(name)
    if value is None:
        return math.nan
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise ValueError(f"{name} is {shown_value(value)}, not a number from 0 to 1")
    return float(value)


def quality_class_of(record: dict[str, Any]) -> int:
    """The code of a record's quality class; `NO_CLASS` where it has none."""
    name = CLASS_FIELDS[0] if CLASS_FIELDS[0] in record else CLASS_FIELDS[1]
    value = record.get(name)
    if value is None:
        return NO_CLASS
    if not isinstance(value, str) or value not in _CLASS_CODE:
        raise ValueError(f"{name} is {shown_value(value)}, not one of {', '.join(WORK_ORDER)}")
    return _CLASS_CODE[value]


def score_column(texts: dict[str, tuple[bytes, ...]]) -> NDArray[np.float64]:
    """The quality scores of many records; the slow path checks their range."""
    name = SCORE_FIELDS[0] if SCORE_FIELDS[0] in texts else SCORE_FIELDS[1]
    if name not in texts:
        return np.full(len(texts["page_id"]), math.nan)
    return number_column(texts[name], np.float64)


def number_column(texts: Sequence[bytes], dtype: type[np.int64 | np.float64]) -> NDArray[Any]:
    """Numbers as they are written in JSON; null is NaN where they are fractions. ValueError for anything else."""
    joined = b"[" + b",".join(texts) + b"]"
    if any(other in joined for other in (b'"', b"true", b"false")):
        raise ValueError("not a number")
    try:
        values = orjson.loads(joined)
        numbers = np.array(values, None if dtype is np.int64 else dtype)
    except TypeError as error:
        raise ValueError("not a number") from error
    if numbers.dtype != dtype or numbers.shape != (len(texts),):
        raise ValueError("not a number")
    return numbers


def class_column(texts: dict[str, tuple[bytes, ...]]) -> NDArray[np.uint8]:
    """The codes of the quality classes of many records."""
    name = CLASS_FIELDS[0] if CLASS_FIELDS[0] in texts else CLASS_FIELDS[1]
    if name not in texts:
        return np.full(len(texts["page_id"]), NO_CLASS, np.uint8)
    codes = {text: quality_class_of({name: orjson.loads(text)}) for text in set(texts[name])}
    return np.fromiter(map(codes.__getitem__, texts[name]), np.uint8, len(texts[name]))


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
        except Exception as error:  # a dimension may be a plug-in's
            raise plug_in_error(f"dimension {self.name}", self._count or self._dimension.encode, error) from error
        numbers = sorted(counts)
        return sum(1 << number for number in numbers), tuple(counts[number] for number in numbers)


def _key(value: object) -> object:
    """A hashable stand-in for a JSON value; True is kept apart from 1."""
    if type(value) is list:
        return (list, *value) if all(type(each) is str for each in value) else (list, repr(value))
    if type(value) is dict:
        return (dict, *value.items()) if all(type(each) is int for each in value.values()) else (dict, repr(value))
    return value if type(value) is str or value is None else (type(value), value)
