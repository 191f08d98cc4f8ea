"""Columns → ids and numbers; a cell that is neither is a fault with its row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.items.faults import Faults
from evenrank.items.tables import ItemTable, Objects, objects_of
from evenrank.items.text_numbers import ArrowTexts

_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+")
LARGEST = 1e100
"""Largest share, grade or expected relevance: sums of their squares are numbers still."""


def ids_of(column: Any, table: ItemTable, what: str, faults: Faults) -> Objects:
    """Ids as strings or integers; a missing one, or a mixture of both kinds, is a fault with its row."""
    faults.add_malformed(table)
    if isinstance(column, ArrowTexts):
        return column
    values = column.tolist()
    if column.dtype.kind in "iu":
        return objects_of(values)
    if column.dtype.kind == "O" and set(map(type, values)) == {str} and all(map(str.strip, values)):
        return objects_of(values)
    if column.dtype.kind in "mM":
        values = [None if one != one else str(one) for one in column]  # dates; those with a time zone are objects
    ids = [_id_of(value) for value in values]
    without = [row for row, value in enumerate(ids) if value is None]
    missing = [row for row in without if is_missing(values[row])]
    faults.add_rows(table, f"no {what} id:", missing, values)
    others = sorted(set(without).difference(missing))
    faults.add_rows(table, f"{what} id is neither a string nor an integer:", others, values)
    check_kinds(ids, table, what, faults)
    return objects_of(ids)


def present(ids: Objects) -> list[Any] | ArrowTexts:
    """Ids as a list, with an empty text for each that is missing: it was reported already."""
    if isinstance(ids, ArrowTexts):
        return ids
    listed: list[Any] = ids.tolist()
    return ["" if one is None else one for one in listed] if None in listed else listed


def check_kinds(ids: Sequence[object], table: ItemTable, what: str, faults: Faults) -> None:
    """A fault for every id that is not of the kind of the first one: ids are all strings or all integers."""
    if len(set(map(type, ids))) <= 1:
        return
    first = next((value for value in ids if value is not None), None)
    kind = type(first)
    wanted = "a string" if kind is str else "an integer"
    others = [row for row, value in enumerate(ids) if value is not None and type(value) is not kind]
    faults.add_rows(table, f"{what} id is not {wanted} as in the first row:", others, ids)


def _id_of(value: object) -> str | int | None:
    """An id as Python's; None when it is missing or no id. A whole float is an integer, as in frames with gaps."""
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, (bool, np.bool_)) or value is None:
        return None
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return int(value) if value.is_integer() else None
    if isinstance(value, (bytes, Iterable)) or is_missing(value):
        return None
    return str(value)


def is_missing(value: object) -> bool:
    """Whether a value stands for one that is not there: None, NaN, NaT, pandas' NA, blank text."""
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, Iterable):
        return False
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def numbers_of(
    column: NDArray[Any],
    table: ItemTable,
    what: str,
    faults: Faults,
    low: float | None = None,
    high: float | None = None,
) -> NDArray[np.float64]:
    """Finite numbers, none below `low` or above `high`; the others are faults with their rows, and 0 here."""
    faults.add_malformed(table)
    try:
        values = np.asarray(column, np.float64) if column.dtype.kind in "biufO" else np.full(len(column), np.nan)
    except (TypeError, ValueError):
        values = np.array([as_number(value) for value in np.asarray(column, object).tolist()])
    wrong = ~np.isfinite(values) | _has_odd_digits(column)
    rows = np.flatnonzero(wrong)
    has_comma = np.array([bool(_DECIMAL_COMMA.fullmatch(str(column[row]))) for row in rows.tolist()], bool)
    kind = f"{what} is not a finite number:"
    faults.add_rows(table, kind, rows[has_comma], column, "write a decimal point instead of the comma")
    faults.add_rows(table, kind, rows[~has_comma], column, "give a number, or leave the row out")
    if low is not None:
        below = values < low
        faults.add_rows(table, f"{what} is below {low:g}:", np.flatnonzero(below), column)
        wrong |= below
    if high is not None:
        above = np.isfinite(values) & (values > high)
        faults.add_rows(table, f"{what} is above {high:g}:", np.flatnonzero(above), column)
        wrong |= above
    return np.where(wrong, 0.0, values)


def _has_odd_digits(column: Any) -> NDArray[np.bool_]:
    """Which cells are text that Python alone takes for a number: `1_000`, digits of other scripts."""
    cells = column.tolist() if column.dtype.kind == "O" else []
    is_odd = [isinstance(one, str) and (not one.isascii() or "_" in one) for one in cells]
    return np.array(is_odd, bool) if cells else np.zeros(len(column), bool)


def as_number(value: object) -> float:
    """A value as a number; NaN when it is none."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return float("nan")
