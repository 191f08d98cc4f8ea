"""`evenrank evaluate`: one line scores any number of runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from evenrank.cli.listing import echo_json
from evenrank.cli.options import measures_option
from evenrank.cli.outputs import check_output
from evenrank.cli.scoring_options import (
    DEPTHS,
    JUDGMENTS,
    ScoringOptions,
    attention_option,
    open_judged,
    scoring_options,
    uncertainty_options,
)
from evenrank.cli.talk import is_verbose, say
from evenrank.core.records import Run
from evenrank.io.runs import read_runs
from evenrank.scoring.evaluate import COMPANY, judged_part, without_withdrawn
from evenrank.scoring.result_tables import RENDERERS, intervals_table, runs_table, settings_lines, topics_table
from evenrank.scoring.results import Results
from evenrank.scoring.tables import Table, text_of
from evenrank.trec.collection import Collection
from evenrank.trec.judged_pages import SCOPES

FIGURE_HELP = "Draw the curves of --depths or the intervals of --uncertainty, too (.pdf, .png, .svg)."
SENSITIVITY_HELP = "The main measure under variants: blend of the target, unknown pages, judged pages, wrong groups."
BOUNDS_HELP = (
    "Also the lowest and the highest possible scores, whatever unknown groups and unjudged pages are: pages that the "
    "runs rank, those of the whole collection, or none (groups alone)."
)
FORMATS = ("table", "tsv", "csv", "json", "latex")


@click.command("evaluate")
@click.argument("collection", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@scoring_options(*DEPTHS, attention_option("log"))
@measures_option("Measures in place of the usual ones", or_all=True)
@click.option("--attributes", is_flag=True, help="Score each dimension alone, each set, and all together.")
@click.option("--depths", metavar="N,N,…|auto", help="nDCG, AWRF and Score of Task 1 runs at these depths.")
@click.option("--figure", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help=FIGURE_HELP)
@uncertainty_options
@click.option("--sensitivity", "varied", is_flag=True, help=SENSITIVITY_HELP)
@click.option("--bounds", "unjudged", type=click.Choice(list(SCOPES)), help=BOUNDS_HELP)
@click.option("--intervals", "all_intervals", is_flag=True, help="A row per run and measure, each with its interval.")
@JUDGMENTS
@click.option("-q", "per_topic", is_flag=True, help="A row per topic, then a row `all`.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="table")
@click.option(
    "--topic-stats",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="OUTDIR",
    help="Also write topic scores and statistics over the runs as CSV files.",
)
def command(
    collection: Path,
    runs: tuple[Path, ...],
    options: ScoringOptions,
    measures: tuple[str, ...],
    attributes: bool,
    depths: str | None,
    figure: Path | None,
    intervals: dict[str, Any],
    varied: bool,
    unjudged: str | None,
    all_intervals: bool,
    judgments: Path | str | None,
    per_topic: bool,
    form: str,
    topic_stats: Path | None,
) -> None:
    """Score runs on a collection: per run with confidence intervals, and per topic with -q.

    The task is inferred from the run file's columns; runs of both tasks give two tables. Best runs come first and best
    values are bold, by the direction of each measure. Notes go to standard error, with -v also the protocol's settings.
    """
    one_table = {
        "--attributes": attributes,
        "--depths": depths is not None,
        "--sensitivity": varied,
        "--uncertainty": bool(intervals["uncertainty"]),
    }
    if unjudged is not None and any(one_table.values()):
        raise click.UsageError("--bounds are of the scores as they are; leave out the other table")
    if sum(one_table.values()) > 1:
        raise click.UsageError(f"choose one of {', '.join(name for name, is_set in one_table.items() if is_set)}")
    if figure is not None and depths is None and not intervals["uncertainty"]:
        raise click.UsageError("--figure draws the curves of --depths or the intervals of --uncertainty; give one too")
    if figure is not None:
        from evenrank.io.figures import check_figure

        check_figure(figure)
    opened = open_judged(collection, judgments)
    if depths is not None:
        return score_depths(opened, runs, options, depths, form, figure)
    if varied:
        return score_variants(opened, runs, options, form)
    if attributes:
        return score_attributes(opened, runs, options, measures, form)
    results = options.score(opened, runs, measures=measures, bounds=unjudged, **intervals)
    if topic_stats is not None:
        from evenrank.scoring.topic_stats import write_topic_stats

        write_topic_stats(results, topic_stats)
    if intervals["uncertainty"]:
        print_uncertainty(results, form, figure)
    else:
        print_results(results, form, per_topic, all_intervals=all_intervals)
    if results.bounds is not None and form != "json":
        click.echo("".join(f"\n{RENDERERS[form](results.bounds_table(task))}" for task in results.tasks), nl=False)
    for said in results.conclusions():
        say(said)
    return say_notes(results, with_settings=form != "json", with_intervals=True)


def print_uncertainty(results: Results, form: str, figure: Path | None) -> None:
    """Print intervals that carry what is unknown, differences of runs, and groups; draw them if asked to."""
    tables = [table for found in results.uncertainty.values() for table in found.tables()]
    print_tables(tables, results.to_json(), form)
    for task, found in results.uncertainty.items():
        for note in found.notes:
            say(f"task {task}: {note}" if len(results.uncertainty) > 1 else note)
        if figure is not None:
            from evenrank.io.figures import figure_style, save_figure_as

            several = len(results.uncertainty) > 1
            with figure_style():
                save_figure_as(found.plot(), figure.with_stem(f"{figure.stem}-task{task}") if several else figure)


def score_attributes(
    opened: Collection, runs: tuple[Path, ...], options: ScoringOptions, measures: tuple[str, ...], form: str
) -> None:
    """Print a table for each task with a column for each attribute."""
    from evenrank.scoring.attributes import evaluate_attributes

    if options.groups != "intersection":
        raise click.BadParameter(
            "--attributes scores every choice of groups; leave out --groups", param_hint="--groups"
        )
    opened, loaded = scored_runs(opened, runs, options)
    found = evaluate_attributes(opened, loaded, options.protocol, measures=measures, **options.settings)
    print_tables([found.table(task) for task in found.overall.tasks], found.to_json(), form)
    if form != "json":
        say_notes(found.overall, with_settings=True)


def score_depths(
    opened: Collection, runs: tuple[Path, ...], options: ScoringOptions, depths: str, form: str, figure: Path | None
) -> None:
    """Print Task 1 runs at several depths, and draw them if asked to."""
    from evenrank.io.figures import figure_style, save_figure_as
    from evenrank.scoring.depth_curves import depth_curves

    if figure is not None:
        check_output(opened, figure)
    parts = [] if depths == "auto" else [part.strip() for part in depths.split(",")]
    wrong = [part for part in parts if not (part.isascii() and part.isdigit() and len(part) < 10)]
    if wrong:
        raise click.BadParameter(f"{', '.join(map(repr, wrong[:20]))}: not whole numbers", param_hint="--depths")
    chosen = [int(part) for part in parts]
    opened, loaded = scored_runs(opened, runs, options)
    found = depth_curves(opened, loaded, chosen, options.protocol, options.groups, **options.settings)
    print_tables([found.table()], found.to_json(), form)
    if figure is not None:
        with figure_style():
            save_figure_as(found.plot(), figure)
    say_notes(found.results, with_settings=form != "json")


def score_variants(opened: Collection, runs: tuple[Path, ...], options: ScoringOptions, form: str) -> None:
    """Print the main measure of runs under variants of the protocol."""
    from evenrank.scoring.sensitivity import sensitivity

    opened, loaded = scored_runs(opened, runs, options)
    found = sensitivity(opened, loaded, options.protocol, options.groups, **options.settings)
    tables = [table for task in found.scores for table in (found.table(task), found.change_table(task))]
    print_tables(tables, found.to_json(), form)
    for note in found.notes():
        say(f"note: {note}")


def scored_runs(
    opened: Collection, runs: tuple[Path, ...], options: ScoringOptions, is_quiet: bool = False
) -> tuple[Collection, list[Run]]:
    """The runs of files that count, without pages that nobody judged if asked to, and the collection to score them on.

    What readers should know of the runs is said here, unless `is_quiet`.
    """
    opened, loaded, about = without_withdrawn(opened, read_runs(runs, opened.text_ids))
    for note in () if is_quiet else about:
        say(note)
    return opened, [judged_part(run, opened) for run in loaded] if options.judged_only else loaded


def print_tables(tables: Sequence[Table], record: dict[str, Any], form: str) -> None:
    """Tables one below the other, or all of it as JSON."""
    if form == "json":
        return echo_json(record)
    return click.echo("\n".join(RENDERERS[form](table) for table in tables), nl=False)


def print_results(results: Results, form: str, per_topic: bool, *, all_intervals: bool = False) -> None:
    """The results in one of `FORMATS`; on a terminal, the best values of a table are bold."""
    if form == "json":
        return echo_json(results.to_json(all_intervals))
    table_of = topics_table if per_topic else intervals_table if all_intervals else runs_table
    has_bold = bool(sys.stdout and sys.stdout.isatty())
    render = partial(text_of, bold=has_bold) if form == "table" else RENDERERS[form]
    return click.echo("\n".join(render(table_of(results, task)) for task in results.tasks), nl=False)


def say_notes(results: Results, *, with_settings: bool, with_intervals: bool = False) -> None:
    """Settings of the protocol and notes on runs, on standard error; notes on intervals where those are printed."""
    if with_settings and is_verbose():
        say("\n".join(settings_lines(results)))
    for note in results.notes:
        if with_intervals or note != COMPANY:
            say(note)
    for run in results.runs:
        for note in run.notes:
            say(f"{run.run}: {note}")
