"""Columns → ids and numbers; what is wrong with tables is gathered with its places and reported at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, Fault, InputError, WrongTypeError
from evenrank.io.tables import ItemTable, Objects, objects_of
from evenrank.io.vocabulary import ArrowTexts

NOTHING = object()
"""Stands for no value: None and empty text are values that a cell may have."""
SHOWN_PER_KIND = 10
"""Rows shown of each kind of fault; the others are counted."""
MAX_SHOWN = 200
"""Faults shown in all."""
MAX_PLACE = 200
"""Characters of a place: ids may be of any length."""
MAX_KINDS = 200
"""Kinds of faults of which some are kept; a text of a file may make a kind of its own."""


@dataclass
class _Places:
    """Where one kind of fault was found: the first places in full, and how many there are."""

    shown: list[tuple[str, str]] = field(default_factory=list)
    n_found: int = 0


@dataclass
class Faults:
    """What is wrong with some tables, gathered so that it can be reported at once."""

    rows: dict[tuple[str, str, str], _Places] = field(default_factory=dict)
    """(table, kind of fault, how to fix it) → where it was found."""
    n_more: int = 0
    """Faults of which only the number is kept."""
    checked: set[str] = field(default_factory=set)
    """Names of the tables whose malformed lines were added."""

    def add(self, table: str, kind: str, place: str, value: object = NOTHING, fix: str = "") -> None:
        """One fault: `place` is a row or a query, `value` what was found there."""
        if len(self.rows) >= MAX_KINDS and (table, kind, fix) not in self.rows:
            self.n_more += 1
            return
        places = self.rows.setdefault((table, kind, fix), _Places())
        places.n_found += 1
        if len(places.shown) < SHOWN_PER_KIND:
            place = place if len(place) <= MAX_PLACE else f"{place[:MAX_PLACE]}…"
            places.shown.append((place, "" if value is NOTHING else repr(value)[:60]))

    def add_rows(
        self, table: ItemTable, kind: str, rows: Sequence[int] | NDArray[Any], values: Any, fix: str = ""
    ) -> None:
        """The same fault in many rows of a table; `values` is the column in which it was found."""
        for row in rows[:SHOWN_PER_KIND]:
            value = values[int(row)]
            value = value.item() if isinstance(value, np.generic) else value
            self.add(table.name, kind, table.place(int(row)), value, fix)
        if len(rows) > SHOWN_PER_KIND:
            self.n_more += len(rows) - SHOWN_PER_KIND

    def add_malformed(self, table: ItemTable) -> None:
        """The lines of a file that have another number of cells than its columns, once."""
        if table.name in self.checked:
            return
        self.checked.add(table.name)
        for line, n_cells in table.malformed:
            cells = "1 cell" if n_cells == 1 else f"{n_cells} cells"
            self.add(table.name, f"{cells}, where {len(table.columns)} were expected", f"{table.row_word} {line}")
        self.n_more += table.n_malformed - len(table.malformed)

    def raise_if_any(self) -> None:
        """All faults as one InputError, ten of each kind with their places, and no more than `MAX_SHOWN` in all."""
        if not self.rows:
            return
        listed = [
            Fault(f"{table}, {place}", 0, f"{kind} {value}".strip(), fix)
            for (table, kind, fix), places in self.rows.items()
            for place, value in sorted(places.shown, key=_line_number)
        ]
        n_found = self.n_more + sum(places.n_found for places in self.rows.values())
        raise InputError(listed[:MAX_SHOWN], n_found - min(len(listed), MAX_SHOWN))


def _line_number(shown: tuple[str, str]) -> int:
    """The number that a place ends with: rows that were sorted are reported in the order of the file."""
    number = re.search(r"(?:row|line) (\d+)$", shown[0])
    return int(number[1]) if number else 0


def check_count(name: str, value: object, most: int | None = None) -> None:
    """EvenrankError for a number of things that is no whole number from 1 on; None is left alone."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise WrongTypeError(value, name, "a whole number")
    if value < 1 or (most is not None and value > most):
        raise EvenrankError(f"{name} is {value} ({f'from 1 to {most:,}' if most else 'at least 1'})")


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


def repeated_rows(key: NDArray[np.integer]) -> NDArray[np.intp]:
    """Rows whose key a row above has too, ascending."""
    order = np.argsort(key, kind="stable")
    return np.sort(order[1:][np.diff(key[order]) == 0])


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
