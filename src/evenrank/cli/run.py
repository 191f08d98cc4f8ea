"""`evenrank run`: check, convert and make run files."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

import evenrank
from evenrank.cli.option_types import SEED, FiniteRange
from evenrank.records import Task

FILE = click.Path(path_type=Path)


@click.group("run")
def command() -> None:
    """Check, convert and make run files."""


@command.command("check")
@click.argument("folder", type=FILE)
@click.argument("runs", type=FILE, nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(min=1), default=200, show_default=True, help="Faults shown per file.")
def check_command(folder: Path, runs: tuple[Path, ...], limit: int) -> None:
    """List every fault of RUNS against the collection FOLDER, with file and line; exit 1 if there is any."""
    from evenrank.collection.collection import Collection
    from evenrank.evaluation.run_check import check_run

    collection = Collection.open(folder)
    n_faults = 0
    for path in runs:
        faults = check_run(collection, path)
        for fault in faults[:limit]:
            click.echo(fault)
        if len(faults) > limit:
            click.echo(f"{path}: … and {len(faults) - limit:,} more faults (--limit shows more)")
        if not faults:
            click.echo(f"{path}: good")
        n_faults += len(faults)
    if n_faults:
        click.echo(f"{n_faults:,} fault{'s' * (n_faults != 1)} in {len(runs)} file{'s' * (len(runs) != 1)}", err=True)
        raise click.exceptions.Exit(1)


@command.command("convert")
@click.argument("source", type=FILE)
@click.argument("target", type=FILE)
@click.option("--to", "form", type=click.Choice(["track", "trec"]), help="Format of TARGET.  [default: the other one]")
def convert_command(source: Path, target: Path, form: str | None) -> None:
    """Convert between the track's TSV and six-column TREC; gzip by TARGET's ending.

    In six columns the second one is Q0 for Task 1 and the repeat number for Task 2. A run without scores gets its
    length as the score of rank 1, down to 1.
    """
    from evenrank.formats.runs import read_run, write_run

    run = read_run(source)
    write_run(run, target, form or ("trec" if run.scores is None else "track"))
    click.echo(f"{target}: Task {run.task}, {run.n_rankings:,} rankings, {len(run.pages):,} pages", err=True)


@command.command("oracle")
@click.argument("folder", type=FILE)
@click.option("--task", type=click.IntRange(1, 2), required=True)
@click.option("--precision", type=FiniteRange(0, 1), default=0.9, show_default=True)
@click.option("--topics", "split", type=click.Choice(["train", "eval"]), help="[default: eval, or train]")
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("-o", "--output", type=FILE, required=True, help="Run file; gzip by its ending.")
def oracle_command(folder: Path, task: int, precision: float, split: str | None, seed: int, output: Path) -> None:
    """Make a valid run from the judgments, for trying formats and metrics.

    Every depth of a ranking has the precision asked for, until the relevant pages of its topic run out; standard error
    names the topics where they do.
    """
    from evenrank.formats.runs import run_name
    from evenrank.records import Split

    chosen = cast("Split | None", split)
    oracle = evenrank.oracle_run(folder, cast(Task, task), precision, seed, chosen, run_name(output))
    run = oracle.run
    evenrank.write_run(run, output)
    if oracle.note:
        click.echo(oracle.note, err=True)
    click.echo(f"{output}: Task {task}, {run.n_rankings:,} rankings, {len(run.pages):,} pages", err=True)
