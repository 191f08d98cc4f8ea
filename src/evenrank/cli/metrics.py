"""`evenrank metrics`: the list of measures, made from the registry."""

from __future__ import annotations

from dataclasses import asdict

import click

from evenrank.cli.listing import print_listing
from evenrank.metrics.registry import MEASURES


@click.command("metrics")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(form: str) -> None:
    """List the measures: what they mean, which direction is better, where they come from."""
    rows = [asdict(measure) for measure in MEASURES]
    if form == "table":
        rows = [
            {
                "name": row["name"],
                "task": row["task"],
                "better": "higher" if row["higher_is_better"] else "lower",
                "formula": row["formula"],
                "meaning": row["label"],
            }
            for row in rows
        ]
    print_listing(rows, form)
