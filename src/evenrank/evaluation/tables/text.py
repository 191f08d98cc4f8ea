"""Tables as plain text for a terminal."""

from __future__ import annotations

from evenrank.evaluation.tables.table import Table

BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


def text_of(table: Table, *, bold: bool = False) -> str:
    """The table in aligned columns; the best values in bold where the terminal can."""
    lines = [[column.heading for column in table.columns], *table.shown()]
    widths = [max(len(line[place]) for line in lines) for place in range(len(table.columns))]
    best = table.best() if bold else set()
    parts = [table.caption] if table.caption else []
    for number, line in enumerate(lines):
        cells = [_aligned(table, place, cell, widths[place]) for place, cell in enumerate(line)]
        marked = [f"{BOLD}{cell}{PLAIN}" if (number - 1, place) in best else cell for place, cell in enumerate(cells)]
        parts.append("  ".join(marked).rstrip())
        if number == 0:
            parts.append("  ".join("─" * width for width in widths))
    return "\n".join(parts) + "\n"


def _aligned(table: Table, place: int, cell: str, width: int) -> str:
    return cell.rjust(width) if table.is_number(place) else cell.ljust(width)
