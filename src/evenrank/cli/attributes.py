"""`evenrank attributes`: how far the recorded groups of pages can be trusted."""

from __future__ import annotations

from pathlib import Path

import click

import evenrank
from evenrank.cli.listing import FORMAT, echo_json
from evenrank.cli.options import SEED
from evenrank.cli.outputs import STDOUT, refuse_existing, write_text
from evenrank.cli.talk import say
from evenrank.scoring.tables import text_of

FILE = click.Path(dir_okay=False, path_type=Path)


@click.group("attributes")
def command() -> None:
    """How far the recorded groups of pages can be trusted."""


@command.command("audit")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--dimension", default="geography", metavar="NAME", help="What is checked.")
@click.option("--size", type=click.IntRange(min=2), default=200, help="Pages to draw.")
@click.option("--seed", type=SEED, default=0)
@click.option("--answers", type=FILE, help="The sample with the column `checked` filled in.")
@click.option("--source", type=FILE, help="A second source to compare: CSV with page_id and checked.")
@click.option("-o", "--output", type=FILE, help="Sample to check (CSV), or with answers the model (JSON).")
@click.option("--force", is_flag=True, help="Overwrite the output.")
@FORMAT
def audit(
    folder: Path,
    dimension: str,
    size: int,
    seed: int,
    answers: Path | None,
    source: Path | None,
    output: Path | None,
    force: bool,
    form: str,
) -> None:
    """Draw pages whose groups people check; with their answers, estimate the table of errors.

    Without --answers or --source the sample is written, without what is recorded. Pass the resulting model to `evaluate
    --assume`. Dimensions that describe people are compared with a second source only, in totals.
    """
    if answers is None and source is None:
        sample = evenrank.audit_sample(folder, dimension, size, seed)
        write_text([sample], output or STDOUT, force=force)
        return
    if output is not None:
        refuse_existing(output, force=force)
    found = evenrank.read_audit(folder, dimension, answers, source)
    if output is not None:
        found.save(output)
    if form == "json":
        echo_json(found.to_json())
    else:
        click.echo(text_of(found.table()), nl=False)
    for note in found.notes:
        say(f"note: {note}")
