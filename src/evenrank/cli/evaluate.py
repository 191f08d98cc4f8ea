"""`evenrank evaluate`: one line scores any number of runs."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import orjson

from evenrank.cli.scoring_options import ScoringOptions, depth_options, protocol_options, scoring_options
from evenrank.cli.talk import is_verbose, say
from evenrank.collection.collection import Collection
from evenrank.evaluation.attributes import evaluate_attributes
from evenrank.evaluation.evaluate import judged_part, score_files
from evenrank.evaluation.feedback import write_topic_stats
from evenrank.evaluation.results import Results
from evenrank.evaluation.tables.results import RENDERERS, intervals_table, runs_table, settings_lines, topics_table
from evenrank.evaluation.tables.table import text_of
from evenrank.formats.runs import read_runs

MEASURES_HELP = "Measures in place of the usual ones, joined by commas: nDCG@10,AWRF; `all` for every one."
ATTENTION_HELP = (
    "How people read: log, dcg, reciprocal, uniform, rbp:PERSISTENCE, gerr:PERSISTENCE,SATISFACTION (a cascade) or "
    "table:FILE, a weight per line.  [default: log]"
)
FORMATS = ("table", "tsv", "csv", "json", "latex")


@click.command("evaluate")
@click.argument("collection", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@protocol_options
@depth_options
@click.option("--attention", metavar="MODEL", help=ATTENTION_HELP)
@click.option("--measures", default="", metavar="NAMES", help=MEASURES_HELP)
@click.option("--attributes", is_flag=True, help="Score each dimension alone, each set, and all together.")
@click.option("--intervals", "all_intervals", is_flag=True, help="A row per run and measure, each with its interval.")
@click.option("-q", "per_topic", is_flag=True, help="A row per topic, then a row `all`.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option(
    "--topic-stats",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="OUTDIR",
    help="Also write topic scores and statistics over the runs as CSV files.",
)
def command(
    collection: Path,
    runs: tuple[Path, ...],
    protocol: str,
    groups: str,
    settings: tuple[str, ...],
    depth: int | None,
    rankings: int | None,
    judged_only: bool,
    attention: str | None,
    measures: str,
    attributes: bool,
    all_intervals: bool,
    per_topic: bool,
    form: str,
    topic_stats: Path | None,
) -> None:
    """Score runs on a collection: per run with confidence intervals, and per topic with -q.

    The task is inferred from the run file's columns; runs of both tasks give two tables. Best runs come first and best
    values are bold, by the direction of each measure. Notes go to standard error, with -v also the protocol's settings.
    """
    options = scoring_options(protocol, groups, settings, depth, rankings, judged_only, attention)
    if attributes:
        score_attributes(Collection.open(collection), runs, options, measures, form, judged_only=judged_only)
        return
    results = score_files(
        collection, runs, options.protocol, options.groups, options.settings, judged_only=judged_only, measures=measures
    )
    if topic_stats is not None:
        write_topic_stats(results, topic_stats)
    click.echo(render_results(results, form, per_topic, all_intervals=all_intervals), nl=False)
    say_notes(results, with_settings=form != "json")


def score_attributes(
    opened: Collection,
    runs: tuple[Path, ...],
    options: ScoringOptions,
    measures: str,
    form: str,
    *,
    judged_only: bool,
) -> None:
    """Print a table for each task with a column for each attribute."""
    if options.groups != "intersection":
        raise click.BadParameter(
            "--attributes scores every choice of groups; leave out --groups", param_hint="--groups"
        )
    loaded = read_runs(runs, opened.text_ids)
    loaded = [judged_part(run, opened) for run in loaded] if judged_only else loaded
    found = evaluate_attributes(opened, loaded, options.protocol, measures=measures, **options.settings)
    if form == "json":
        click.echo(orjson.dumps(found.to_json(), option=orjson.OPT_INDENT_2))
        return
    tables = [found.table(task) for task in found.overall.tasks]
    click.echo("\n".join(RENDERERS[form](table) for table in tables), nl=False)
    say_notes(found.overall, with_settings=True)


def render_results(results: Results, form: str, per_topic: bool, *, all_intervals: bool = False) -> str:
    """The results in one of `FORMATS`."""
    if form == "json":
        return orjson.dumps(results.to_json(all_intervals), option=orjson.OPT_INDENT_2).decode() + "\n"
    table_of = topics_table if per_topic else intervals_table if all_intervals else runs_table
    tables = [table_of(results, task) for task in results.tasks]
    if form == "table":
        return "\n".join(text_of(table, bold=bool(sys.stdout and sys.stdout.isatty())) for table in tables)
    return "\n".join(RENDERERS[form](table) for table in tables)


def say_notes(results: Results, *, with_settings: bool) -> None:
    """Settings of the protocol and notes on runs, on standard error."""
    if with_settings and is_verbose():
        say("\n".join(settings_lines(results)))
    for note in results.notes:
        say(note)
    for run in results.runs:
        for note in run.notes:
            say(f"{run.run}: {note}")
