"""Tables: columns that know their direction, rows of plain values; written as text, TSV, CSV, LaTeX and HTML."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from evenrank.core.protocol import Protocol
from evenrank.core.safe_text import cell_text, latex_text, terminal_text, visible_line
from evenrank.scoring.intervals import Interval

Cell: TypeAlias = str | int | float | Interval | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column."""

    name: str
    """Heading in machine formats."""
    label: str = ""
    """Heading for readers; the name when empty."""
    higher_is_better: bool | None = None
    """Direction of better, by which the best value is marked; None when nothing is to be marked."""
    digits: int = 4
    """Decimal places for readers; machine formats keep all digits."""

    @property
    def heading(self) -> str:
        return self.label or self.name


@dataclass(frozen=True)
class Table:
    """Columns and rows; rows have one cell per column."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    @classmethod
    def of(cls, records: Iterable[object], headings: Mapping[str, str | Column], caption: str = "") -> Table:
        """A row per record, with those of its attributes that have a heading: for readers, or a column; empty for the
        attribute's own name."""
        columns = tuple(one if isinstance(one, Column) else Column(name, one) for name, one in headings.items())
        return cls(columns, tuple(tuple(getattr(record, name) for name in headings) for record in records), caption)

    def shown(self) -> list[list[str]]:
        """All cells as readers see them."""
        return [[shown_cell(cell, c.digits) for cell, c in zip(row, self.columns, strict=True)] for row in self.rows]

    def is_number(self, column: int) -> bool:
        """Whether the column holds numbers, which stand at the right."""
        return any(isinstance(row[column], (int, float)) for row in self.rows)

    def best(self) -> set[tuple[int, int]]:
        """(row, column) of the best values by each column's direction; ties to the shown digits share it."""
        found: set[tuple[int, int]] = set()
        if len(self.rows) < 2:
            return found
        for place, column in enumerate(self.columns):
            values = {n: cell for n, row in enumerate(self.rows) if isinstance(cell := row[place], (int, float))}
            if column.higher_is_better is None or not values:
                continue
            best = (max if column.higher_is_better else min)(values.values())
            found |= {
                (n, place) for n, v in values.items() if shown_cell(v, column.digits) == shown_cell(best, column.digits)
            }
        return found


def shown_cell(cell: Cell, digits: int) -> str:
    """A cell as readers see it: an interval in brackets, nothing as a dash, numbers with `digits` places."""
    if isinstance(cell, Interval):
        return f"({number_shown(cell.low, digits)}, {number_shown(cell.high, digits)})"
    if cell is None:
        return "–"
    return number_shown(cell, digits) if isinstance(cell, float) else visible_line(str(cell))


def number_shown(value: float, digits: int) -> str:
    """A number with `digits` places; by powers of ten where that would show a non-zero value as zero."""
    fixed = f"{value:.{digits}f}"
    return f"{value:.{digits - 1}e}" if value and not float(fixed) else fixed


BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


def interval_label(protocol: Protocol) -> str:
    """Heading of a column of confidence intervals."""
    return f"{100 * protocol.confidence:g} % CI"


class TableResult:
    """A result of tables and lines below them: text when printed, HTML in a notebook, LaTeX for a paper."""

    def _shown(self) -> tuple[Sequence[Table], Sequence[str]]:
        raise NotImplementedError

    def to_latex(self) -> str:
        """The tables for a paper; they need the package booktabs."""

        return "\n".join(map(latex_of, self._shown()[0]))

    def __str__(self) -> str:
        tables, lines = self._shown()
        return "\n".join(map(text_of, tables)) + "".join(f"{line}\n" for line in (("", *lines) if lines else ()))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:

        tables, lines = self._shown()
        return "\n".join(map(html_of, tables)) + "".join(f"<p>{escape(line)}</p>\n" for line in lines)


def widths_of(table: Table) -> list[int]:
    """Characters that each column takes."""
    lines = [[column.heading for column in table.columns], *table.shown()]
    return [max(len(line[place]) for line in lines) for place in range(len(table.columns))]


def text_of(table: Table, *, bold: bool = False, widths: Sequence[int] | None = None) -> str:
    """The table in aligned columns, `widths` wide; the best values in bold where the terminal can."""
    lines = [[column.heading for column in table.columns], *table.shown()]
    widths = widths_of(table) if widths is None else widths
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


INTERVAL_FIELDS = ("low", "high", "se")


def tsv_of(table: Table) -> str:
    """The table with tabs between cells."""
    return _delimited(table, "\t")


def csv_of(table: Table) -> str:
    """The table with commas between cells."""
    return _delimited(table, ",")


def _delimited(table: Table, delimiter: str) -> str:
    import csv

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


def latex_of(table: Table) -> str:
    """A `tabular` that needs the package booktabs; a caption becomes a comment above it."""
    align = "".join("r" if table.is_number(place) else "l" for place in range(len(table.columns)))
    best = table.best()
    lines = [f"% {visible_line(line)}" for line in table.caption.splitlines()]
    lines += [rf"\begin{{tabular}}{{{align}}}", r"\toprule", _row([latex_text(c.heading) for c in table.columns])]
    lines.append(r"\midrule")
    for number, row in enumerate(table.shown()):
        cells = [
            rf"\textbf{{{latex_text(c)}}}" if (number, place) in best else latex_text(c) for place, c in enumerate(row)
        ]
        lines.append(_row(cells))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a }}
table {{ border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto }}
th, td {{ padding: .25rem .6rem; border-bottom: 1px solid #d9d9d9; text-align: left }}
caption {{ text-align: left; color: #555; padding: .25rem 0 }}
img {{ max-width: 100%; height: auto }}
</style></head><body><h1>{title}</h1>
{body}
</body></html>
"""


def escape(text: str) -> str:
    """A text within HTML."""
    from html import escape as escaped  # with all named characters of HTML, which most commands do not need

    return escaped(text)


def page_of(title: str, body: Iterable[str]) -> str:
    """A whole page that loads nothing from anywhere, of parts that are HTML already."""
    return terminal_text(PAGE.format(title=escape(title), body="".join(body)))


def html_of(table: Table, class_name: str = "evenrank") -> str:
    """A `<table>` whose first column is the row header."""
    best = table.best()
    heads = "".join(
        f'<th scope="col"{_align(table, place)}>{escape(c.heading)}</th>' for place, c in enumerate(table.columns)
    )
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    body = "".join(f"<tr>{_cells(table, number, row, best)}</tr>\n" for number, row in enumerate(table.shown()))
    return (
        f'<table class="{escape(class_name)}">{caption}\n<thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{body}</tbody></table>\n"
    )


def _cells(table: Table, number: int, row: list[str], best: set[tuple[int, int]]) -> str:
    cells = [f'<th scope="row">{escape(row[0])}</th>']
    for place, text in enumerate(row[1:], 1):
        inner = f"<strong>{escape(text)}</strong>" if (number, place) in best else escape(text)
        cells.append(f"<td{_align(table, place)}>{inner}</td>")
    return "".join(cells)


def _align(table: Table, place: int) -> str:
    return ' style="text-align:right"' if place and table.is_number(place) else ""
