"""Page id, quality score and quality class of metadata: of one record, or of many as columns of JSON texts.

ValueError says what was found in place of a valid value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.core.records import NO_CLASS, WORK_ORDER
from evenrank.core.text_ids import TextIds, check_text_id

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
        raise ValueError(f"page_id is {_shown(value)}, not a whole number from 0 to {MAX_PAGE_ID}")
    return value


def score_of(record: dict[str, Any]) -> float:
    """The quality score of a record; NaN where it has none."""
    name = SCORE_FIELDS[0] if SCORE_FIELDS[0] in record else SCORE_FIELDS[1]
    value = record.get(name)
    if value is None:
        return math.nan
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise ValueError(f"{name} is {_shown(value)}, not a number from 0 to 1")
    return float(value)


def quality_class_of(record: dict[str, Any]) -> int:
    """The code of a record's quality class; `NO_CLASS` where it has none."""
    name = CLASS_FIELDS[0] if CLASS_FIELDS[0] in record else CLASS_FIELDS[1]
    value = record.get(name)
    if value is None:
        return NO_CLASS
    if not isinstance(value, str) or value not in _CLASS_CODE:
        raise ValueError(f"{name} is {_shown(value)}, not one of {', '.join(WORK_ORDER)}")
    return _CLASS_CODE[value]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


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
