"""Data in many forms → columns by name, and every fault with its row.

A table can be a data frame (pandas, polars, Arrow), a structured array, a file, a list of dicts or of records, or an
object of ranx, LensKit or ir_datasets. Nothing of these packages is imported: their objects are known by what they
offer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, Fault, InputError, WrongTypeError
from evenrank.items.text_numbers import ArrowTexts

Objects: TypeAlias = "NDArray[np.object_] | ArrowTexts"
ONLY_QUERY = "all"
"""Name of the query when a ranking comes without one."""
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
LARGEST = 1e100
"""Largest share, grade or expected relevance: sums of their squares are numbers still."""
NAMES: dict[str, tuple[str, ...]] = {
    "query": ("query", "query_id", "qid", "q_id", "topic", "topic_id", "user", "user_id"),
    "item": ("item", "item_id", "doc_id", "docno", "docid", "doc", "document", "page_id"),
    "score": ("score", "relevance", "probability", "prediction", "sim"),
    "rank": ("rank", "position"),
    "ranking": ("ranking", "repeat", "iteration", "sample"),
    "system": ("system", "run", "run_id", "tag"),
    "grade": ("grade", "relevance", "rel", "label", "gain", "rating"),
    "grouping": ("grouping", "dimension", "attribute"),
    "group": ("group",),
    "share": ("share", "weight", "target", "fraction"),
}
"""Names that a column of each meaning may have, the first one preferred; case does not matter."""


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

    def add_rows(self, table: ItemTable, kind: str, rows: Sequence[int] | NDArray[Any], values: Any) -> None:
        """The same fault in many rows of a table; `values` is the column in which it was found."""
        for row in rows[:SHOWN_PER_KIND]:
            value = values[int(row)]
            self.add(table.name, kind, table.place(int(row)), value.item() if isinstance(value, np.generic) else value)
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
            for place, value in places.shown
        ]
        n_found = self.n_more + sum(places.n_found for places in self.rows.values())
        raise InputError(listed[:MAX_SHOWN], n_found - min(len(listed), MAX_SHOWN))


@dataclass(frozen=True)
class ItemTable:
    """Columns of equal length."""

    name: str
    """What the table is, for messages: rankings, groups, relevance, target, or a file's path."""
    columns: dict[str, Any]
    first_row: int = 1
    """Number of the first row, for messages: 1, or the line of a file."""
    row_word: str = "row"
    lines: NDArray[np.intp] | None = None
    """The line of each row, where lines of the file were left out."""
    malformed: tuple[tuple[int, int], ...] = ()
    """Line and number of cells of lines that have another number of cells than the table has columns."""
    n_malformed: int = 0
    """How many such lines there are."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def place(self, row: int) -> str:
        """A row as messages name it."""
        return f"{self.row_word} {self.first_row + row if self.lines is None else int(self.lines[row])}"

    def find(self, meaning: str) -> str | None:
        """The name of the column of a meaning, one spelled exactly so before others; None when the table has none."""
        if exact := next((name for name in NAMES[meaning] if name in self.columns), None):
            return exact
        by_folded = {name.casefold(): name for name in self.columns}
        return next((by_folded[name] for name in NAMES[meaning] if name in by_folded), None)

    def get(self, meaning: str) -> Any:
        """The column of a meaning; None when the table has none."""
        name = self.find(meaning)
        return None if name is None else self.columns[name]

    def need(self, meaning: str) -> Any:
        """The column of a meaning; an error that lists what is there when it is missing."""
        column = self.get(meaning)
        if column is None:
            found = ", ".join(self.columns) or "none"
            raise EvenrankError(f"{self.name}: no column {' or '.join(NAMES[meaning])} (the columns are: {found})")
        return column


def as_table(value: object, name: str) -> ItemTable | None:
    """A value as a table; None when it is not one, but a mapping or a list that has to be read another way."""
    if isinstance(value, ItemTable):
        return value
    if isinstance(value, (str, os.PathLike)):
        return read_item_table(Path(value))
    if hasattr(value, "collect_schema") and hasattr(value, "collect"):
        value = value.collect()  # a lazy frame of polars
    for way in ("to_df", "to_pandas"):  # LensKit; Arrow, and the results of this package
        if hasattr(value, way) and not hasattr(value, "get_column"):
            value = getattr(value, way)()
            break
    if isinstance(value, np.ndarray) and value.dtype.names:
        return ItemTable(name, {column: _one_cell_a_row(value[column]) for column in value.dtype.names})
    if hasattr(value, "columns") and hasattr(value, "__getitem__") and not isinstance(value, Mapping):
        return _frame_table(value, name)
    return _records_table(value, name)


def _frame_table(frame: Any, name: str) -> ItemTable:
    """A pandas or polars frame; a pandas index that has a name is a column."""
    if hasattr(frame, "reset_index") and (index := [one for one in frame.index.names if one is not None]):
        frame = frame.drop(columns=[one for one in index if one in frame.columns]).reset_index()
    names = [str(column) for column in frame.columns]
    if repeated := sorted({column for column in names if names.count(column) > 1}):
        raise EvenrankError(f"{name}: two columns have the name {', '.join(repeated)} (rename one)")
    columns = {str(column): frame[column] for column in frame.columns}
    return ItemTable(name, {column: _frame_column(values) for column, values in columns.items()})


def _frame_column(values: Any) -> Any:
    if (texts := ArrowTexts.of(values)) is not None:
        return texts
    column = values.to_numpy()
    return column if column.ndim == 1 else _objects(values.to_list())  # polars makes a matrix of structs


def _one_cell_a_row(column: NDArray[Any]) -> Any:
    return column if column.ndim == 1 else _objects(column.tolist())


def _records_table(value: object, name: str) -> ItemTable | None:
    """Records with named fields, such as the qrels and scored documents of ir_datasets and ir_measures."""
    if isinstance(value, (Mapping, str, np.ndarray)) or not isinstance(value, Iterable):
        return None
    listed = value if isinstance(value, Sequence) else list(value)
    first = next(iter(islice(listed, 1)), None)
    fields = getattr(first, "_fields", ())
    if isinstance(first, Mapping) and all(isinstance(one, Mapping) for one in listed):  # as JSON has tables
        fields = dict.fromkeys(str(key) for one in listed for key in one)
        return ItemTable(name, {key: _objects([one.get(key) for one in listed]) for key in fields})
    if not fields:
        return None
    columns = {column: _objects([getattr(record, column) for record in listed]) for column in fields}
    return ItemTable(name, columns)


def read_item_table(path: Path) -> ItemTable:
    """A file: CSV or TSV with a heading, a six-column TREC run or four-column qrels; gzip by its content."""
    from evenrank.items.files import read_columns

    if str(path) != "-" and not path.exists():
        raise EvenrankError(f"{path}: no such file")
    return read_columns(path)


def is_series(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether a value is one column: a series of pandas or polars."""
    return type(value).__name__ == "Series" and hasattr(value, "to_numpy")


def from_series(value: Any) -> object:
    """A series as the table, dict or list that it stands for.

    A pandas index that has names holds columns (query, item); an index beside lists holds queries, one beside scores
    holds items. Any other series is a list of items.
    """
    index = getattr(value, "index", None)
    is_plain = index is None or type(index).__name__ == "RangeIndex"
    if index is not None and any(name is not None for name in index.names):
        name = value.name if value.name is not None else "score" if value.dtype.kind == "f" else "item"
        return value.rename(name).reset_index()
    cells = list(value)
    if index is not None and cells and all(isinstance(one, (list, tuple, np.ndarray)) for one in cells):
        return dict(zip(index.tolist(), cells, strict=True))
    if not is_plain and value.dtype.kind == "f":
        return {ONLY_QUERY: dict(zip(index.tolist(), cells, strict=True))}  # type: ignore[union-attr]
    return cells


def from_to_dict(value: object) -> object:
    """The dict of an object that offers one (ranx: Run and Qrels); other values as they are."""
    convert = getattr(value, "to_dict", None)
    if convert is None or hasattr(value, "columns") or hasattr(value, "to_df"):
        return value
    return convert()


def ids_of(column: Any, table: ItemTable, what: str, faults: Faults) -> Objects:
    """Ids as strings or integers; a missing one, or a mixture of both kinds, is a fault with its row."""
    faults.add_malformed(table)
    if isinstance(column, ArrowTexts):
        return column
    values = column.tolist()
    if column.dtype.kind in "iu":
        return _objects(values)
    if column.dtype.kind == "O" and set(map(type, values)) == {str} and all(map(str.strip, values)):
        return _objects(values)
    if column.dtype.kind in "mM":
        values = [None if one != one else str(one) for one in column]  # dates; those with a time zone are objects
    ids = [_id_of(value) for value in values]
    without = [row for row, value in enumerate(ids) if value is None]
    missing = [row for row in without if is_missing(values[row])]
    faults.add_rows(table, f"no {what} id:", missing, values)
    others = sorted(set(without).difference(missing))
    faults.add_rows(table, f"{what} id is neither a string nor an integer:", others, values)
    check_kinds(ids, table, what, faults)
    return _objects(ids)


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
    faults.add_rows(table, f"{what} is not a finite number:", np.flatnonzero(wrong), column)
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


def _objects(values: Sequence[object]) -> Objects:
    found = np.empty(len(values), object)
    found[:] = values
    return found


def unreadable(value: object, what: str, wanted: str) -> WrongTypeError:
    """The error for a value of a type that no reader takes."""
    return WrongTypeError(value, what, wanted)


def check_count(name: str, value: object, most: int | None = None) -> None:
    """EvenrankError for a number of things that is no whole number from 1 on; None is left alone."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise WrongTypeError(value, name, "a whole number")
    if value < 1 or (most is not None and value > most):
        raise EvenrankError(f"{name} is {value} ({f'from 1 to {most:,}' if most else 'at least 1'})")
