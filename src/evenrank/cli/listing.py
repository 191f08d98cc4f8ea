"""Plain tables on standard output: what every listing command prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click
import orjson

from evenrank.core.safe_text import visible_line

ID_COLUMNS = ("page_id", "page", "topic")


def print_listing(rows: Sequence[Mapping[str, object]], form: str) -> None:
    """Rows as an aligned table, as tab-separated text or as JSON."""
    if form == "json":
        echo_json([dict(row) for row in rows])
    elif form == "tsv":
        click.echo("\n".join("\t".join(visible_line(str(cell)) for cell in line) for line in _lines(rows)))
    else:
        click.echo(aligned(_lines(rows)))


def _lines(rows: Sequence[Mapping[str, object]]) -> list[list[object]]:
    names = list(rows[0]) if rows else []
    return [list(names), *([as_id(name, row[name]) for name in names] for row in rows)]


def as_id(name: str, value: object) -> object:
    """A value as it goes into a column; ids are no quantities, and have no thousands separators."""
    return Id(value) if name in ID_COLUMNS and isinstance(value, int) else value


class Id(int):
    """A number that names something."""


def aligned(lines: Sequence[Sequence[object]]) -> str:
    """Lines of cells in columns, numbers to the right, a rule under the first line."""
    texts = [[visible_line(cell) if isinstance(cell, str) else _number(cell) for cell in line] for line in lines]
    if not texts:
        return ""
    widths = [max(len(line[column]) for line in texts) for column in range(len(texts[0]))]
    is_right = [all(not isinstance(line[c], str) for line in lines[1:]) for c in range(len(widths))]
    padded = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, is_right, strict=True)
        ).rstrip()
        for line in texts
    ]
    return "\n".join([padded[0], "  ".join("─" * width for width in widths), *padded[1:]])


def _number(value: object) -> str:
    if value is None:
        return "–"
    is_quantity = isinstance(value, int) and not isinstance(value, (bool, Id))
    return f"{value:,}" if is_quantity else str(value)


FORMAT = click.option("--format", "form", type=click.Choice(["table", "json"]), default="table")


def echo_table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A header and rows in aligned columns, and an empty line."""
    marked = [[as_id(name, cell) for name, cell in zip(names, row, strict=True)] for row in rows]
    click.echo(aligned([list(names), *marked]) + "\n")


def echo_json(value: object) -> None:
    """`value` as indented JSON; a number that is undefined becomes null."""
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def shown_number(value: float, places: int = 4) -> str:
    """A number to read; – when it is undefined."""
    return "–" if value != value else f"{value:.{places}f}"
