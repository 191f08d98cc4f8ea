"""`evenrank report`: tables, figures and one offline page."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

import evenrank
from evenrank.cli.evaluate import say_notes
from evenrank.cli.scoring_options import depth_options, protocol_options, scoring_options
from evenrank.io.runs import split_name


@click.command("report")
@click.argument("collection", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, metavar="OUTDIR", type=click.Path(path_type=Path), help="Folder to make."
)
@click.option("--title", default="Fair ranking report", show_default=True, help="Heading of the page.")
@protocol_options
@depth_options
def command(
    collection: Path,
    runs: tuple[Path, ...],
    output: Path,
    title: str,
    protocol: str,
    groups: str,
    settings: tuple[str, ...],
    depth: int | None,
    rankings: int | None,
    judged_only: bool,
) -> None:
    """Write a report on runs: the paper's tables and figures, feedback per run, and one page that works offline.

    An older report in OUTDIR is replaced, but only once the new one is complete. Needs the extra `report`.
    """
    options = scoring_options(protocol, groups, settings, depth, rankings, judged_only)
    chosen = chosen_options(protocol, groups, settings, depth, rankings, judged_only)
    commands = {
        split_name(path)[0]: shlex.join(["evenrank", "evaluate", str(collection), str(path), *chosen]) for path in runs
    }
    complete = shlex.join(["evenrank", "report", str(collection), *map(str, runs), *chosen, "-o", str(output)])
    results = evenrank.report(
        collection,
        runs,
        output,
        options.protocol,
        options.groups,
        title=title,
        judged_only=judged_only,
        commands=commands,
        report_command=complete,
        **options.settings,
    )
    say_notes(results, with_settings=True, with_intervals=True)
    click.echo(output / "index.html")


def chosen_options(
    protocol: str, groups: str, settings: tuple[str, ...], depth: int | None, rankings: int | None, judged_only: bool
) -> list[str]:
    """The options that differ from the defaults, as they would be typed."""
    words = ["--protocol", protocol]
    words += ["--groups", groups] if groups != "intersection" else []
    for setting in settings:
        words += ["--set", setting]
    words += ["--depth", str(depth)] if depth is not None else []
    words += ["--rankings", str(rankings)] if rankings is not None else []
    return words + (["--judged-only"] if judged_only else [])
