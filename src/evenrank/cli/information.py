"""`evenrank information`: what it costs policies not to know an attribute that the scorer knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import evenrank
from evenrank.cli.listing import echo_json, print_listing
from evenrank.cli.options import SEED, settings_option
from evenrank.cli.rank import FOLDER, PROTOCOL, TOPICS
from evenrank.cli.talk import say


@click.command("information")
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--task", type=click.Choice([1, 2]), default=2)
@click.option("--hidden", default="gender", metavar="DIMENSION", help="What systems do not know.")
@click.option("--policy", "policies", metavar="NAME", multiple=True, help="Policy, or name:setting=value; repeatable.")
@click.option("--rate", "rates", type=float, multiple=True, help="Share of pages; repeatable.  [default: 0.2, 0.5]")
@TOPICS
@PROTOCOL
@settings_option("A setting of the candidates.")
@click.option("--seed", type=SEED, default=0)
@click.option("--format", "form", type=click.Choice(["table", "tsv", "json"]), default="table")
def command(folder: Path, rates: tuple[float, ...], form: str, **options: Any) -> None:
    """Score policies whose systems do not know an attribute, or not well, with a scorer that does.

    The attribute is known, masked, undisclosed for a share of the pages (systems know that share or do not), or wrong
    for a share of them (exchanged with another page). The cost is the difference from the policy's own score with the
    attribute known, positive where it is worse, with its 95 % interval over topics. A cost is clear when the interval
    does not contain 0 and there are enough topics.
    """
    options |= {"rates": rates} if rates else {}
    found = evenrank.information(folder, **options)
    if form == "json":
        echo_json(found.to_json())
        return
    print_listing([{name: _cell(value) for name, value in row.items()} for row in found.rows()], form)
    for note in found.notes():
        say(f"note: {note}")


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:.4f}"
