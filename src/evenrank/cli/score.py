"""`evenrank score`: relevance and fairness of rankings of anything, from files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import click

import evenrank
from evenrank.cli.outputs import ENTRIES_AT_ONCE, STDOUT, json_parts, write_text
from evenrank.cli.talk import say
from evenrank.io.runs import split_name

TABLE = click.Path(dir_okay=False, allow_dash=True, path_type=Path)
FORMATS = ("table", "tsv", "csv", "json", "latex")
ATTENTION = "log, dcg, reciprocal, uniform, rbp:PERSISTENCE or table:FILE."


@click.command("score")
@click.option(
    "--run",
    "runs",
    metavar="RUN",
    multiple=True,
    required=True,
    help="TREC run, or CSV with query, item and rank or score; - is stdin; NAME=FILE names it. May be repeated.",
)
@click.option("--groups", metavar="FILE", type=TABLE, help="CSV: item, and one column per grouping or group,share.")
@click.option("--qrels", metavar="FILE", type=TABLE, help="Qrels, or CSV with query, item and grade.")
@click.option(
    "--target", metavar="WORD|FILE", help="relevant, population, equal, or CSV: [query,grouping,]group,share."
)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    help="Measure to compute, such as nDCG@10, or all; may be repeated.  [default: the usual ones]",
)
@click.option("--attention", default="log", show_default=True, help=f"Attention by rank: {ATTENTION}")
@click.option("-k", "depth", type=click.IntRange(min=1), help="Ranks that are scored.  [default: all]")
@click.option(
    "--missing",
    type=click.Choice(["skip", "empty"]),
    default="skip",
    show_default=True,
    help="A query that a run does not answer: left out of its means, or scored as an empty ranking.",
)
@click.option("-q", "per_query", is_flag=True, help="A row per query.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
def command(
    runs: tuple[str, ...],
    groups: Path | None,
    qrels: Path | None,
    target: str | None,
    measures: tuple[str, ...],
    attention: str,
    depth: int | None,
    missing: Literal["skip", "empty"],
    per_query: bool,
    form: str,
) -> None:
    """Score rankings of items, documents or people: nDCG, AWRF and more, without a collection.

    Files may have any ids. Groups may have shares, and there may be several groupings: AWRF is then over the
    intersections of their groups, and of each grouping alone. Every fault of every file is reported with its line.
    """
    refuse_second_stdin(*(path for _, path in map(split_name, runs)), groups, qrels, target)
    named = dict(split_name(run) for run in runs)
    if len(named) < len(runs):
        raise click.UsageError("two runs of the same name (write NAME=FILE)")
    paths = {name: str(path) for name, path in named.items()}
    found = evenrank.score(paths, groups, qrels, target, measures or None, attention, depth, missing=missing)
    write_text(render_scores(found, form, per_query), STDOUT, force=True)
    for note in found.notes:
        say(f"note: {note}")


def refuse_second_stdin(*files: object) -> None:
    """UsageError when standard input is named for two files: it can be read once."""
    if [str(file) for file in files].count("-") > 1:
        raise click.UsageError("standard input (-) is named twice, and can be read once")


def render_scores(found: evenrank.ItemScores, form: str, per_query: bool) -> Iterator[str]:
    """The scores in one of `FORMATS`, part by part: there may be a million queries."""
    from evenrank.scoring.tables.results import RENDERERS
    from evenrank.scoring.tables.table import text_of, widths_of

    if form == "json":
        yield from json_parts(found.to_json(with_queries=False), "queries", found.query_entries())
        return
    if form == "table":
        n_columns = len(found.columns) + 2
        widths = [0] * n_columns
        for table in found.tables(per_query, ENTRIES_AT_ONCE):
            widths = list(map(max, widths, widths_of(table)))
        for number, table in enumerate(found.tables(per_query, ENTRIES_AT_ONCE)):
            text = text_of(table, widths=widths)
            yield text.split("\n", 2)[2] if number else text
        if found.shares:
            yield "\n" + text_of(found.group_table())
        return
    heading = ""
    for table in found.tables(per_query, ENTRIES_AT_ONCE):
        yield RENDERERS[form](table).removeprefix(heading)
        heading = heading or RENDERERS[form](replace(table, rows=()))
