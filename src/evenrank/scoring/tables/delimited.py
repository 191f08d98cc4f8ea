"""Tables as TSV and CSV: all digits, one header line, intervals as three columns."""

from __future__ import annotations

import csv
import io

from evenrank.core.safe_text import cell_text, visible_line
from evenrank.scoring.intervals import Interval
from evenrank.scoring.tables.table import Cell, Table

INTERVAL_FIELDS = ("low", "high", "se")


def tsv_of(table: Table) -> str:
    """The table with tabs between cells."""
    return _delimited(table, "\t")


def csv_of(table: Table) -> str:
    """The table with commas between cells."""
    return _delimited(table, ",")


def _delimited(table: Table, delimiter: str) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    is_interval = [any(isinstance(row[place], Interval) for row in table.rows) for place in range(len(table.columns))]
    headings = zip(table.columns, is_interval, strict=True)
    writer.writerow([name for c, wide in headings for name in (INTERVAL_FIELDS if wide else (c.name,))])
    for row in table.rows:
        writer.writerow([value for cell in row for value in _values(cell)])
    return buffer.getvalue()


def _values(cell: Cell) -> list[str]:
    if isinstance(cell, Interval):
        return [repr(cell.low), repr(cell.high), repr(cell.se)]
    if isinstance(cell, float):
        return [repr(cell)]
    return ["" if cell is None else cell_text(visible_line(cell)) if isinstance(cell, str) else str(cell)]
