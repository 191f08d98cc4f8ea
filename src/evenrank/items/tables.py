"""Data in many forms → columns by name.

A table can be a data frame (pandas, polars, Arrow), a structured array, a file, a list of dicts or of records, or an
object of ranx, LensKit or ir_datasets. Nothing of these packages is imported: their objects are known by what they
offer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError
from evenrank.items.text_numbers import ArrowTexts

Objects: TypeAlias = "NDArray[np.object_] | ArrowTexts"
ONLY_QUERY = "all"
"""Name of the query when a ranking comes without one."""
SHOWN_COLUMNS = 20
"""Columns that a message lists."""
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

    def without_meaning(self) -> list[str]:
        """The names of the columns that no reader takes for anything."""
        known = {self.find(meaning) for meaning in NAMES}
        return [name for name in self.columns if name not in known]

    def get(self, meaning: str) -> Any:
        """The column of a meaning; None when the table has none."""
        name = self.find(meaning)
        return None if name is None else self.columns[name]

    def need(self, meaning: str) -> Any:
        """The column of a meaning; an error that lists what is there when it is missing."""
        column = self.get(meaning)
        if column is None:
            shown = [name[:60] for name in islice(self.columns, SHOWN_COLUMNS)]
            found = ", ".join(shown) + (", …" if len(self.columns) > SHOWN_COLUMNS else "") or "none"
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
    return column if column.ndim == 1 else objects_of(values.to_list())  # polars makes a matrix of structs


def _one_cell_a_row(column: NDArray[Any]) -> Any:
    return column if column.ndim == 1 else objects_of(column.tolist())


def _records_table(value: object, name: str) -> ItemTable | None:
    """Records with named fields, such as the qrels and scored documents of ir_datasets and ir_measures."""
    if isinstance(value, (Mapping, str, np.ndarray)) or not isinstance(value, Iterable):
        return None
    listed = value if isinstance(value, Sequence) else list(value)
    first = next(iter(islice(listed, 1)), None)
    fields = getattr(first, "_fields", ())
    if isinstance(first, Mapping) and all(isinstance(one, Mapping) for one in listed):  # as JSON has tables
        fields = dict.fromkeys(str(key) for one in listed for key in one)
        return ItemTable(name, {key: objects_of([one.get(key) for one in listed]) for key in fields})
    if not fields:
        return None
    columns = {column: objects_of([getattr(record, column) for record in listed]) for column in fields}
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


def objects_of(values: Sequence[object]) -> Objects:
    found = np.empty(len(values), object)
    found[:] = values
    return found
