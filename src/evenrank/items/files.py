"""Files of tables: CSV and TSV with a heading, six-column TREC runs, four-column qrels; `-` is standard input."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from pathlib import Path

import numpy as np

from evenrank.errors import EvenrankError, Fault, InputError
from evenrank.items.tables import Table

RUN_COLUMNS = ("query", "ranking", "item", "rank", "score", "system")
QRELS_COLUMNS = ("query", "iteration", "item", "grade")
MAX_FAULTS = 20
GZIP = b"\x1f\x8b"


def read_columns(path: Path) -> Table:
    """The table in a file; a line with another number of cells than the first is a fault."""
    text = read_text(path)
    first = text.split("\n", 1)[0].rstrip("\r")
    if not first.strip():
        raise EvenrankError(f"{path}: empty, or an empty first line (a heading or a TREC line was expected)")
    delimiter = next((mark for mark in ("\t", ",", ";") if mark in first), None)
    columns = _trec_columns(first)
    if columns is not None:
        rows = [line.split() for line in text.splitlines() if line.strip()]
        return _table(path, columns, rows, first_line=1)
    if delimiter is None and len(first.split()) > 1:
        raise EvenrankError(f"{path}:1: neither a heading with commas or tabs nor a TREC line: {first[:60]!r}")
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter or ",") if row]
    heading = tuple(name.strip() for name in rows[0])
    return _table(path, heading, rows[1:], first_line=2)


def read_text(path: Path) -> str:
    """The text of a file, unpacked if it is gzip; InputError where it is not UTF-8."""
    data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    if data.startswith(GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise EvenrankError(f"{path}: damaged gzip file: {error}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError([Fault(str(path), line, "not UTF-8 text", "save it as UTF-8")]) from error


def _trec_columns(line: str) -> tuple[str, ...] | None:
    """The columns of a TREC run or of qrels, inferred from their number and content; None for other lines."""
    cells = line.split()
    if len(cells) == len(RUN_COLUMNS) and _is_number(cells[3]) and _is_number(cells[4]):
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


def _table(path: Path, columns: tuple[str, ...], rows: list[list[str]], first_line: int) -> Table:
    wrong = [(line, len(row)) for line, row in enumerate(rows, first_line) if len(row) != len(columns)]
    if wrong:
        faults = [Fault(str(path), line, f"{n} cells, where {len(columns)} were expected") for line, n in wrong]
        raise InputError(faults[:MAX_FAULTS], max(0, len(faults) - MAX_FAULTS))
    cells = np.array(rows, object).reshape(len(rows), len(columns))
    return Table(str(path), {name: cells[:, at] for at, name in enumerate(columns)}, first_line, "line")
