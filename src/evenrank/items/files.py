"""Files of tables: CSV and TSV with a heading, six-column TREC runs, four-column qrels; `-` is standard input."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, Fault, InputError, input_error
from evenrank.io.compressed import Decompressed, line_blocks
from evenrank.items.tables import ItemTable

RUN_COLUMNS = ("query", "ranking", "item", "rank", "score", "system")
QRELS_COLUMNS = ("query", "iteration", "item", "grade")
MAX_FAULTS = 20
MAX_COLUMNS = 1000
ROWS_AT_ONCE = 10_000
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
            raise input_error(source.path, line, "not UTF-8 text", "save it as UTF-8") from error
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
