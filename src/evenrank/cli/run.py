"""`evenrank run`: check, convert and make run files."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

import evenrank
from evenrank.cli.listing import FORMAT, echo_json
from evenrank.cli.options import SEED, FiniteRange
from evenrank.cli.outputs import FORCE, OUTPUT_RUN, refuse_existing
from evenrank.cli.scoring_options import protocol_option
from evenrank.cli.talk import say
from evenrank.core.records import Task
from evenrank.core.safe_text import terminal_text

FILE = click.Path(path_type=Path, allow_dash=True)


PROTOCOL = protocol_option("Protocol whose lengths count.")


@click.group("run")
def command() -> None:
    """Check, convert and make run files."""


@command.command("check")
@click.argument("folder", type=FILE)
@click.argument("runs", type=FILE, nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(min=1), default=200, help="Faults shown per file.")
@PROTOCOL
@FORMAT
def check_command(folder: Path, runs: tuple[Path, ...], limit: int, protocol: str, form: str) -> None:
    """List every fault of RUNS against the collection FOLDER, with file and line; exit 1 if there is any.

    What most faults of a file have in common comes first. The protocol decides how long rankings must be: 1000 pages,
    or 100 rankings of 50; in 2022 500 pages, or 100 of 20.
    """
    from evenrank.scoring.run_check import check_run
    from evenrank.trec.collection import Collection

    collection = Collection.open(folder)
    n_faults, n_faulty, least = 0, 0, ""
    if form == "json":
        found = [check_run(collection, path, protocol).record(path, limit) for path in runs]
        echo_json(found)
        raise click.exceptions.Exit(int(any(not one["is_valid"] for one in found)))
    for path in runs:
        checked = check_run(collection, path, protocol)
        faults = checked.faults
        for diagnosis in checked.diagnoses:
            click.echo(terminal_text(f"{path}: {diagnosis}"))
        for note in checked.notes:
            say(f"note: {note}")
        for fault in faults[:limit]:
            click.echo(terminal_text(str(fault)))
        if len(faults) > limit:
            click.echo(terminal_text(f"{path}: … and {checked.n_faults - limit:,} more faults (--limit shows more)"))
        if not faults:
            click.echo(terminal_text(f"{path}: valid"))
        n_faults += checked.n_faults
        least = least if checked.is_read_whole else "at least "
        n_faulty += bool(faults)
    if n_faults:
        where = "1 file" if len(runs) == 1 else f"{n_faulty} of {len(runs)} files"
        say(f"{least}{n_faults:,} fault{'s' * (n_faults != 1)} in {where}")
        raise click.exceptions.Exit(1)


@command.command("convert")
@click.argument("source", type=FILE)
@click.argument("target", type=FILE)
@click.option("--to", "form", type=click.Choice(["track", "trec"]), help="Format of TARGET.  [default: the other one]")
@FORCE
def convert_command(source: Path, target: Path, form: str | None, force: bool) -> None:
    """Convert between the track's TSV and six-column TREC; gzip by TARGET's ending.

    In six columns the second one is Q0 for Task 1 and the repeat number for Task 2. A run without scores gets its
    length as the score of rank 1, down to 1.
    """
    from evenrank.core.text_ids import TextIds
    from evenrank.io.runs import run_has_text_ids

    refuse_existing(target, force=force)
    ids = TextIds() if source != Path("-") and run_has_text_ids(source) else None
    run = evenrank.read_run(source, ids)
    evenrank.write_run(run, target, form or ("trec" if run.scores is None else "track"))
    say(f"{target}: {_size(run)}")


@command.command("show")
@click.argument("folder", type=FILE)
@click.argument("run_path", metavar="RUN", type=FILE)
@click.option("--topics", multiple=True, help="Topics to show, as for rank; may be repeated.  [default: those of RUN]")
@click.option("-k", "n_pages", type=click.IntRange(min=0), default=10, help="Pages shown of a topic.")
@FORMAT
def show_command(folder: Path, run_path: Path, topics: tuple[str, ...], n_pages: int, form: str) -> None:
    """Show what RUN ranks: titles and quality of the first pages, and groups of all pages as totals.

    Of a sequence, the first ranking is shown, and totals are over all rankings. Groups of people are never shown beside
    an article.
    """
    from evenrank.scoring.show_run import as_text

    found = evenrank.show_run(folder, run_path, topics or None, n_pages)
    if form == "json":
        echo_json([one.to_json() for one in found])
    else:
        click.echo("\n".join(map(as_text, found)))


@command.command("oracle")
@click.argument("folder", type=FILE)
@click.option("--task", type=click.IntRange(1, 2), required=True)
@click.option("--precision", type=FiniteRange(0, 1), default=0.9)
@click.option("--topics", "split", type=click.Choice(["train", "eval"]), help="[default: eval, or train]")
@click.option("--seed", type=SEED, default=0)
@PROTOCOL
@OUTPUT_RUN
@FORCE
def oracle_command(
    folder: Path, task: int, precision: float, split: str | None, seed: int, protocol: str, output: Path, force: bool
) -> None:
    """Make a valid run from the judgments, for trying formats and metrics.

    Every depth of a ranking has the precision asked for, until the relevant pages of its topic run out; standard error
    names the topics where they do.
    """
    from evenrank.core.records import Split
    from evenrank.io.runs import run_name

    refuse_existing(output, force=force)
    chosen = cast("Split | None", split)
    oracle = evenrank.oracle_run(folder, cast(Task, task), precision, seed, chosen, run_name(output), protocol)
    run = oracle.run
    evenrank.write_run(run, output)
    if oracle.note:
        say(oracle.note)
    say(f"{output}: {_size(run)}")


def _size(run: evenrank.Run) -> str:
    counts = [f"{n:,} {unit}{'s' * (n != 1)}" for n, unit in ((run.n_rankings, "ranking"), (len(run.pages), "page"))]
    return f"Task {run.task}, {', '.join(counts)}"
