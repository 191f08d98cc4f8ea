"""Data in many forms → columns by name.

A table can be a data frame (pandas, polars, Arrow), a structured array, a file, a list of dicts or of records, or an
object of ranx, LensKit or ir_datasets. Nothing of these packages is imported: their objects are known by what they
offer.
"""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, Fault, InputError, input_error
from evenrank.io.compressed import Decompressed, line_blocks
from evenrank.io.vocabulary import ArrowTexts

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


RUN_COLUMNS = ("query", "ranking", "item", "rank", "score", "system")
QRELS_COLUMNS = ("query", "iteration", "item", "grade")
MAX_FAULTS = 20
MAX_COLUMNS = 1000
ROWS_AT_ONCE = 10_000
PARQUET = b"PAR1"
"""How Parquet files begin."""
MAX_BYTES = 1 << 30
"""Longest text of a table; rankings of a million queries take about half of it."""
BLOCK = 1 << 20
"""Text that is taken apart at once, in bytes."""
MAX_MALFORMED = 1000
"""Lines of another number of cells that are kept; the others are counted."""
MAX_KNOWN = 1 << 18
"""Different cells that are remembered, to be kept once; then remembering starts anew."""
ROW_BYTES, CELL_BYTES, TEXT_BYTES = 150, 8, 150
"""Memory that a row takes until it is scored, and that a cell and a new text take beside its characters."""
SMALL_FILE, MAX_MEMORY = 10_000_000, 440 << 20
"""Size of a packed file up to which its table may take this much memory: a TREC run of 1.2 million rows does."""
MAX_RATIO = 100
"""Memory that the table of a larger packed file may take for each of its bytes; a TREC run takes about sixty."""


def read_columns(path: Path) -> ItemTable:
    """The table in a file; a line with another number of cells than the first is a fault of the table."""
    with Decompressed(path) as source:
        texts = _texts(source)
        head = next(texts, "")
        first = head.partition("\n")[0].rstrip("\r")
        if not first.strip():
            raise EvenrankError(f"{path}: empty, or an empty first line (a heading or a TREC line was expected)")
        delimiter = next((mark for mark in ("\t", ",", ";") if mark in first), None)
        columns = _trec_columns(first)
        texts = chain([head], texts)
        if columns is not None:
            lines = (line for text in texts for line in io.StringIO(text, newline=None))
            return _table(source, columns, (line.split() for line in lines), first_line=1)
        if delimiter is None and len(first.split()) > 1:
            raise EvenrankError(f"{path}:1: neither a heading with commas or tabs nor a TREC line: {first[:60]!r}")
        rows = _csv_rows(path, texts, delimiter or ",")
        return _table(source, _heading(path, next(rows)), rows, first_line=2)


def _heading(path: Path, cells: list[str]) -> tuple[str, ...]:
    """The names of the columns; InputError for too many, and for a name that appears twice."""
    heading = tuple(name.strip() for name in cells)
    if len(heading) > MAX_COLUMNS:
        raise input_error(path, 1, f"{len(heading):,} columns", f"give up to {MAX_COLUMNS:,}")
    if twice := sorted(name for name, number in Counter(heading).items() if number > 1):
        faults = [Fault(str(path), 1, f"column {name[:40]!r} appears twice", "rename one") for name in twice]
        raise InputError(faults[:MAX_FAULTS], max(0, len(faults) - MAX_FAULTS))
    return heading


def _csv_rows(path: Path, texts: Iterator[str], delimiter: str) -> Iterator[list[str]]:
    reader = csv.reader((line for text in texts for line in io.StringIO(text)), delimiter=delimiter)
    try:
        yield from reader
    except csv.Error as error:
        fix = "write one row a line, and quote cells that have the delimiter in them"
        raise input_error(path, reader.line_num, f"the table cannot be read: {error}", fix) from error


def _texts(source: Decompressed) -> Iterator[str]:
    """The text of a file in pieces of whole lines; InputError where it is too long or not UTF-8."""
    n_bytes, n_lines = 0, 0
    for block in line_blocks(source, BLOCK):
        n_bytes += len(block)
        if n_bytes > MAX_BYTES:
            raise input_error(
                source.path, 0, f"more than {MAX_BYTES >> 20:,} MiB of text", "split it into several files"
            )
        try:
            yield block.decode("utf-8")
        except UnicodeDecodeError as error:
            line = n_lines + block.count(b"\n", 0, error.start) + 1
            is_parquet = n_bytes == len(block) and block.startswith(PARQUET)
            fix = "save it as CSV, or give data frames in Python" if is_parquet else "save it as UTF-8"
            raise input_error(source.path, line, "a Parquet file" if is_parquet else "not UTF-8 text", fix) from error
        n_lines += block.count(b"\n")


def _trec_columns(line: str) -> tuple[str, ...] | None:
    """The columns of a TREC run or of qrels, inferred from their number and content; None for other lines."""
    cells = line.split()
    if len(cells) == len(RUN_COLUMNS) and (_is_number(cells[3]) or _is_number(cells[4])):
        return RUN_COLUMNS
    if len(cells) == len(QRELS_COLUMNS) and _is_number(cells[3]) and not set(",;") & set(line):
        return QRELS_COLUMNS
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class _Cells:
    """Cells that are kept once however often they appear, and what they take of the memory."""

    def __init__(self, source: Decompressed) -> None:
        self.source = source
        self.known: dict[str, str] = {}
        self.n_bytes = 0

    def add(self, columns: Sequence[list[str]], rows: list[list[str]]) -> None:
        """The cells of whole rows, added to their columns."""
        keep = self.known.setdefault
        n_before = len(self.known)
        for column, cells in zip(columns, zip(*rows, strict=True), strict=True):
            column.extend(map(keep, cells, cells))
        n_new = len(self.known) - n_before
        self.n_bytes += (ROW_BYTES + CELL_BYTES * len(columns)) * len(rows) + TEXT_BYTES * n_new
        if n_new:
            self.n_bytes += sum(map(len, islice(reversed(self.known), n_new)))
        if len(self.known) > MAX_KNOWN:
            self.known.clear()
        self._refuse_bomb()

    def _refuse_bomb(self) -> None:
        """InputError for a packed table that takes more memory than one of its size may."""
        read = self.source
        size = max(read.size_bytes, read.n_file_bytes)
        most = MAX_MEMORY if size <= SMALL_FILE else MAX_RATIO * size
        if read.compression != "plain" and self.n_bytes > most:
            packed = f"{read.n_file_bytes:,} bytes of {read.compression} data"
            found = f"{packed} hold a table that takes over {self.n_bytes:,} bytes of memory"
            raise input_error(read.path, 0, found, "unpack it yourself if it is what you want to read")


def _table(source: Decompressed, names: tuple[str, ...], rows: Iterator[list[str]], first_line: int) -> ItemTable:
    """Columns from rows, which are not kept: a list for each would take most of the memory.

    Empty rows are left out. So is a row with another number of cells, but as a fault of the table, which is reported
    with those of the cells.
    """
    columns: tuple[list[str], ...] = tuple([] for _ in names)
    cells = _Cells(source)
    malformed: list[tuple[int, int]] = []
    n_malformed = 0
    lines: list[NDArray[np.intp]] = []
    line = first_line
    while chunk := list(islice(rows, ROWS_AT_ONCE)):
        n_cells = np.fromiter(map(len, chunk), np.intp, len(chunk))
        is_whole = n_cells == len(names)
        lines.append(line + np.flatnonzero(is_whole))
        line += len(chunk)
        if not is_whole.all():
            wrong = np.flatnonzero(~is_whole & (n_cells > 0))
            n_malformed += len(wrong)
            shown = wrong[: max(0, MAX_MALFORMED - len(malformed))]
            malformed += [(line - len(chunk) + int(at), int(n_cells[at])) for at in shown]
            chunk = [row for row, is_kept in zip(chunk, is_whole.tolist(), strict=True) if is_kept]
        if chunk:
            cells.add(columns, chunk)
    numbers = np.concatenate(lines) if lines else np.empty(0, np.intp)
    is_gapless = len(numbers) == line - first_line
    found = {}
    for name, column in zip(names, columns, strict=True):
        found[name] = np.array(column, object)
        column.clear()
    kept_lines = None if is_gapless else numbers
    return ItemTable(str(source.path), found, first_line, "line", kept_lines, tuple(malformed), n_malformed)
