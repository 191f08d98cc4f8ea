"""`evenrank metrics`: the list of measures, made from the registry."""

from __future__ import annotations

import click

from evenrank.cli.listing import FORMAT, print_listing
from evenrank.measures.registry import MEASURES


@click.command("metrics")
@FORMAT
def command(form: str) -> None:
    """List the measures: what they mean, which direction is better, where they come from.

    `evaluate --measures NAME,NAME@DEPTH` computes measures by name; those "on request" need it.
    """
    rows = [measure.facts() for measure in MEASURES.values()]
    if form == "table":
        rows = [
            {
                "name": row["name"],
                "task": " ".join(map(str, row["tasks"])),
                "better": "higher" if row["higher_is_better"] else "lower",
                "shown": "on request" if row["on_request"] else "always",
                "formula": row["formula"],
                "meaning": row["label"],
            }
            for row in rows
        ]
    print_listing(rows, form)
