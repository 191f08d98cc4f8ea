"""`evenrank report`: tables, figures and one offline page."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

import evenrank
from evenrank.cli.evaluate import say_notes
from evenrank.cli.scoring_options import (
    DEPTHS,
    JUDGMENTS,
    ScoringOptions,
    open_judged,
    scoring_options,
)
from evenrank.core.safe_text import path_text
from evenrank.database.database import shown_location
from evenrank.io.runs import split_name


@click.command("report")
@click.argument("collection", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, metavar="OUTDIR", type=click.Path(path_type=Path), help="Folder to make."
)
@click.option("--title", default="Fair ranking report", help="Heading of the page.")
@scoring_options(*DEPTHS)
@JUDGMENTS
def command(
    collection: Path,
    runs: tuple[Path, ...],
    output: Path,
    title: str,
    options: ScoringOptions,
    judgments: Path | str | None,
) -> None:
    """Write a report on runs: the paper's tables and figures, feedback per run, and one page that works offline.

    An older report in OUTDIR is replaced, but only once the new one is complete. Needs the extra `report`.
    """
    chosen = [*options.as_typed, *([] if judgments is None else ["--judgments", shown_location(judgments)])]
    words = ["evenrank", "evaluate", str(collection)]
    commands = {split_name(path)[0]: shlex.join([*words, path_text(path), *chosen]) for path in runs}
    complete = shlex.join(["evenrank", "report", str(collection), *map(path_text, runs), *chosen, "-o", str(output)])
    results = evenrank.report(
        open_judged(collection, judgments),
        runs,
        output,
        options.protocol,
        options.groups,
        title=title,
        judged_only=options.judged_only,
        commands=commands,
        report_command=complete,
        **options.settings,
    )
    say_notes(results, with_settings=True, with_intervals=True)
    click.echo(output / "index.html")
