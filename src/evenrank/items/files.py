"""Files of tables: CSV and TSV with a heading, six-column TREC runs, four-column qrels; `-` is standard input."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, Fault, InputError, input_error
from evenrank.formats.compressed import open_compressed
from evenrank.items.tables import ItemTable

RUN_COLUMNS = ("query", "ranking", "item", "rank", "score", "system")
QRELS_COLUMNS = ("query", "iteration", "item", "grade")
MAX_FAULTS = 20
MAX_COLUMNS = 1000
ROWS_AT_ONCE = 10_000
MAX_BYTES = 1 << 30
"""Longest text of a table; rankings of a million queries take about half of it."""


def read_columns(path: Path) -> ItemTable:
    """The table in a file; a line with another number of cells than the first is a fault of the table."""
    text = read_text(path)
    first = text.partition("\n")[0].rstrip("\r")
    if not first.strip():
        raise EvenrankError(f"{path}: empty, or an empty first line (a heading or a TREC line was expected)")
    delimiter = next((mark for mark in ("\t", ",", ";") if mark in first), None)
    columns = _trec_columns(first)
    if columns is not None:
        lines = io.StringIO(text, newline=None)
        return _table(path, columns, (line.split() for line in lines), first_line=1)
    if delimiter is None and len(first.split()) > 1:
        raise EvenrankError(f"{path}:1: neither a heading with commas or tabs nor a TREC line: {first[:60]!r}")
    rows = _csv_rows(path, text, delimiter or ",")
    heading = tuple(name.strip() for name in next(rows))
    if len(heading) > MAX_COLUMNS:
        raise input_error(path, 1, f"{len(heading):,} columns", f"give up to {MAX_COLUMNS:,}")
    if twice := sorted(name for name, number in Counter(heading).items() if number > 1):
        faults = [Fault(str(path), 1, f"column {name[:40]!r} appears twice", "rename one") for name in twice]
        raise InputError(faults[:MAX_FAULTS], max(0, len(faults) - MAX_FAULTS))
    return _table(path, heading, rows, first_line=2)


def _csv_rows(path: Path, text: str, delimiter: str) -> Iterator[list[str]]:
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        yield from reader
    except csv.Error as error:
        fix = "write one row a line, and quote cells that have the delimiter in them"
        raise input_error(path, reader.line_num, f"the table cannot be read: {error}", fix) from error


def read_text(path: Path) -> str:
    """The text of a file, unpacked if it is packed; InputError where it is too long or not UTF-8."""
    with open_compressed(path) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise input_error(path, 0, f"more than {MAX_BYTES >> 20:,} MiB of text", "split it into several files")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise input_error(path, line, "not UTF-8 text", "save it as UTF-8") from error


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


def _table(path: Path, names: tuple[str, ...], rows: Iterator[list[str]], first_line: int) -> ItemTable:
    """Columns from rows, which are not kept: a list for each would take most of the memory.

    Empty rows are left out. So is a row with another number of cells, but as a fault of the table, which is reported
    with those of the cells.
    """
    columns: tuple[list[str], ...] = tuple([] for _ in names)
    malformed: list[tuple[int, int]] = []
    lines: list[NDArray[np.intp]] = []
    line = first_line
    while chunk := list(islice(rows, ROWS_AT_ONCE)):
        n_cells = np.fromiter(map(len, chunk), np.intp, len(chunk))
        is_whole = n_cells == len(names)
        lines.append(line + np.flatnonzero(is_whole))
        line += len(chunk)
        if not is_whole.all():
            wrong = np.flatnonzero(~is_whole & (n_cells > 0))
            malformed += [(line - len(chunk) + int(at), int(n_cells[at])) for at in wrong]
            chunk = [row for row, is_kept in zip(chunk, is_whole.tolist(), strict=True) if is_kept]
        if chunk:
            for column, cells in zip(columns, zip(*chunk, strict=True), strict=True):
                column.extend(cells)
    numbers = np.concatenate(lines) if lines else np.empty(0, np.intp)
    is_gapless = len(numbers) == line - first_line
    cells_of = {name: np.array(column, object) for name, column in zip(names, columns, strict=True)}
    return ItemTable(str(path), cells_of, first_line, "line", None if is_gapless else numbers, tuple(malformed))
