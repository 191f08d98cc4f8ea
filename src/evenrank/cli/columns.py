"""Several small tables on standard output, or the same as one JSON document."""

from __future__ import annotations

from collections.abc import Sequence

import click

from evenrank.cli.listing import aligned, as_id

FORMAT = click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)


def echo_table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A header and rows in aligned columns, and an empty line."""
    marked = [[as_id(name, cell) for name, cell in zip(names, row, strict=True)] for row in rows]
    click.echo(aligned([list(names), *marked]) + "\n")


def echo_json(value: object) -> None:
    """`value` as indented JSON; a number that is undefined becomes null."""
    import orjson

    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2))


def shown(value: float, places: int = 4) -> str:
    """A number to read; – when it is undefined."""
    return "–" if value != value else f"{value:.{places}f}"
