"""`evenrank score`: relevance and fairness of rankings of anything, from files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click

import evenrank
from evenrank.cli.options import measures_option, settings_option
from evenrank.cli.outputs import ENTRIES_AT_ONCE, STDOUT, json_parts, write_text
from evenrank.cli.scoring_options import uncertainty_options
from evenrank.cli.talk import say
from evenrank.errors import UnknownNameError
from evenrank.io.figures import require_matplotlib
from evenrank.io.runs import split_name
from evenrank.scoring.campaigns.registry import CAMPAIGNS

TABLE = click.Path(dir_okay=False, allow_dash=True, path_type=Path)
FORMATS = ("table", "tsv", "csv", "json", "latex")
ATTENTION = "log, dcg, reciprocal, uniform, rbp:PERSISTENCE, gerr:PERSISTENCE,SATISFACTION or table:FILE."


@click.command("score")
@click.option(
    "--run",
    "runs",
    metavar="RUN",
    multiple=True,
    required=True,
    help="TREC run, or CSV with query, item and rank or score; - is stdin; NAME=FILE names it. May be repeated.",
)
@click.option(
    "--groups",
    metavar="FILE",
    multiple=True,
    help="CSV: item, and one column per grouping or group,share. Of a campaign: [NAME=]FILE; may be repeated.",
)
@click.option("--qrels", metavar="FILE", type=TABLE, help="Qrels, or CSV with query, item and grade.")
@click.option(
    "--target",
    metavar="WORD|FILE",
    multiple=True,
    help="relevant, population, equal, or CSV: [query,grouping,]group,share. Of a campaign: [NAME=]FILE.",
)
@click.option("--protocol", type=click.Choice(list(CAMPAIGNS)), help="Score files of a campaign as its organisers do.")
@click.option("--sequences", metavar="FILE", type=TABLE, help="Sequences of requests, of trec-2019.")
@settings_option("Change one choice of the protocol.")
@measures_option("Measures to compute", "the usual ones", or_all=True)
@click.option("--attention", help=f"Attention by rank: {ATTENTION}  [default: log; of trec-2020: gerr]")
@click.option("-k", "k", type=click.IntRange(min=1), help="Ranks that are scored.  [default: all]")
@click.option(
    "--missing",
    type=click.Choice(["skip", "empty"]),
    default="skip",
    help="A query that a run does not answer: left out of its means, or scored as an empty ranking.",
)
@click.option(
    "--bounds",
    type=click.Choice(["none", "ranked"]),
    is_flag=False,
    flag_value="none",
    help="Also the lowest and highest possible scores, whatever unknown groups are; with `ranked`, whatever ranked "
    "items are that nobody judged, too.",
)
@uncertainty_options
@click.option("-q", "per_query", is_flag=True, help="A row per query.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="table")
@click.option(
    "--report",
    metavar="OUTDIR",
    type=click.Path(path_type=Path),
    help="Also make a folder with tables, figures and one offline page; needs the extra `report`.",
)
@click.option("--baseline", metavar="RUN", help="Run that the report compares others with.  [default: the first]")
def command(
    runs: tuple[str, ...],
    groups: tuple[str, ...],
    qrels: Path | None,
    target: tuple[str, ...],
    protocol: str | None,
    sequences: Path | None,
    measures: tuple[str, ...],
    bounds: Literal["none", "ranked"] | None,
    intervals: dict[str, Any],
    per_query: bool,
    form: str,
    report: Path | None,
    baseline: str | None,
    **options: Any,
) -> None:
    """Score rankings of items, documents or people: nDCG, AWRF and more, without a collection.

    Files may have any ids. Groups may have shares, and there may be several groupings: AWRF is then over the
    intersections of their groups, and of each grouping alone. Every fault of every file is reported with its line.

    With --protocol the files are those of a campaign (TREC 2019, TREC 2020, NTCIR FairWeb-1), and the measures its own.
    """
    group_files, targets = _named("--groups", groups, protocol), _named("--target", target, protocol)
    refuse_second_stdin(
        *(path for _, path in map(split_name, runs)), *group_files.values(), qrels, *targets.values(), sequences
    )
    named = dict(split_name(run) for run in runs)
    if len(named) < len(runs):
        raise click.UsageError("two runs of the same name (write NAME=FILE)")
    _check_baseline(report, baseline, named)
    found = evenrank.score(
        {name: str(path) for name, path in named.items()},
        group_files if protocol else group_files.get(""),
        qrels,
        targets if protocol else targets.get(""),
        measures or None,
        protocol=protocol,
        sequences=sequences,
        bounds=bounds or False,
        **options,
        **intervals,
    )
    page = None if report is None else evenrank.score_report(found, report, baseline)
    write_text(render_scores(found, form, per_query), STDOUT, force=True)
    for said in found.conclusions():
        say(said)
    for note in (*found.notes, *(note for one in found.uncertainty.values() for note in one.notes)):
        say(f"note: {note}")
    if page is not None:
        say(f"report: {page}")


def _check_baseline(report: Path | None, baseline: str | None, runs: Mapping[str, Path]) -> None:
    """Refuse what the report could not be made with, before anything is scored."""
    if baseline is not None and report is None:
        raise click.UsageError("--baseline is for the report (give --report OUTDIR)")
    if baseline is not None and baseline not in runs:
        raise UnknownNameError("run", baseline, runs)
    if report is not None:
        from evenrank.scoring.report.report import refuse_other_folder

        refuse_other_folder(report, "own rankings")
        require_matplotlib()


def _named(option: str, given: tuple[str, ...], protocol: str | None) -> dict[str, str]:
    """Files by the name of their grouping; without a protocol there is one, and it has no name."""
    if protocol is None:
        if len(given) > 1:
            raise click.UsageError(f"{option} is given {len(given)} times, and needs a --protocol for that")
        return {"": given[0]} if given else {}
    pairs = [(name if str(path) != text else "", str(path)) for text in given for name, path in [split_name(text)]]
    if len(dict(pairs)) < len(pairs):
        raise click.UsageError(f"two files of {option} have the same name (write NAME=FILE)")
    return dict(pairs)


def refuse_second_stdin(*files: object) -> None:
    """UsageError when standard input is named for two files: it can be read once."""
    if [str(file) for file in files].count("-") > 1:
        raise click.UsageError("standard input (-) is named twice, and can be read once")


def render_scores(found: evenrank.ItemScores, form: str, per_query: bool) -> Iterator[str]:
    """The scores in one of `FORMATS`, part by part: there may be a million queries."""
    from evenrank.scoring.result_tables import RENDERERS
    from evenrank.scoring.tables import text_of, widths_of

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
        if found.bounds is not None:
            yield "\n" + text_of(found.bounds_table(1))
        for one in found.uncertainty.values():
            yield from ("\n" + text_of(table) for table in one.tables())
        if found.shares and not found.uncertainty:
            yield "\n" + text_of(found.group_table())
        return
    heading = ""
    for table in found.tables(per_query, ENTRIES_AT_ONCE):
        yield RENDERERS[form](table).removeprefix(heading)
        heading = heading or RENDERERS[form](replace(table, rows=()))
