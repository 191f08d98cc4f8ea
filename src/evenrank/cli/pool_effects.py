"""What incomplete judgments do to runs: `evenrank pool judged` and `evenrank pool leave-one-out`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import nan
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click

from evenrank.cli.listing import FORMAT, echo_json, echo_table, shown_number
from evenrank.cli.option_types import STORE, InputFile
from evenrank.cli.scoring_options import PROTOCOL_NAME
from evenrank.core.protocol import DEFAULT_PROTOCOL

if TYPE_CHECKING:
    from evenrank.core.records import Topic
    from evenrank.trec.assessment.leave_one_out import LeftOut
    from evenrank.trec.collection import Collection

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
FILE = InputFile(exists=True)
RUN = click.Path(dir_okay=False, allow_dash=True, path_type=Path)
JUDGMENTS = click.option(
    "--judgments", type=STORE, help="Judgments file; the collection's own judgments when left out."
)


@click.command()
@click.argument("collection", metavar="DIR", type=FOLDER)
@click.argument("runs", metavar="RUN...", type=RUN, nargs=-1, required=True)
@click.option("-k", "depths", type=click.IntRange(min=1), multiple=True, default=(5, 20, 100), show_default=True)
@JUDGMENTS
@FORMAT
def judged(
    collection: Path, runs: Sequence[Path], depths: Sequence[int], judgments: Path | str | None, form: str
) -> None:
    """judged@k: the judged share of the first k pages of each run, mean over judged topics."""
    from evenrank.io.runs import read_runs
    from evenrank.trec.assessment.judged import judged_at, judged_pages
    from evenrank.trec.collection import Collection

    opened = Collection.open(collection)
    known = judged_pages(topics_with_judgments(opened, judgments))
    rows: list[dict[str, Any]] = []
    for run in read_runs(runs, opened.text_ids):
        shares = {depth: judged_at(run, known, depth).values() for depth in depths}
        means = {f"judged@{depth}": fmean(values or [nan]) for depth, values in shares.items()}
        rows.append({"run": run.name, "topics": len(shares[depths[0]]), **means})
    if form == "json":
        return echo_json(rows)
    echo_table(
        list(rows[0]), [[run, n_topics, *map(shown_number, means)] for run, n_topics, *means in map(dict.values, rows)]
    )
    return None


def topics_with_judgments(collection: Collection, judgments: Path | str | None) -> tuple[Topic, ...]:
    """The topics of the collection; with the judgments of a judgments file, those that it has."""
    from evenrank.trec.assessment.exports import judged_topics
    from evenrank.trec.assessment.store import open_store

    if judgments is None:
        return collection.topics
    with open_store(judgments) as store:
        return tuple(judged_topics(store, collection.text_ids))


@click.command(name="leave-one-out")
@click.argument("collection", metavar="DIR", type=FOLDER)
@click.argument("pool", type=FILE)
@click.argument("runs", metavar="RUN...", type=RUN, nargs=-1, required=True)
@click.option(
    "--protocol",
    type=PROTOCOL_NAME,
    default=DEFAULT_PROTOCOL,
    show_default=True,
    help="Set of scoring choices.",
)
@click.option("--groups", default="intersection", show_default=True, help="intersection, or names of dimensions.")
@click.option("--team", "teams", metavar="RUN,RUN...", multiple=True, help="Runs that are left out together.")
@JUDGMENTS
@FORMAT
def leave_one_out(
    collection: Path,
    pool: Path,
    runs: Sequence[Path],
    protocol: str,
    groups: str,
    teams: Sequence[str],
    judgments: Path | str | None,
    form: str,
) -> None:
    """How a run's score changes without the judgments that only it brought: is the pool fair to later runs?"""
    from evenrank.io.runs import read_runs
    from evenrank.measures.registry import MAIN
    from evenrank.scoring.rejudged import scorer
    from evenrank.trec.assessment.leave_one_out import leave_one_out as leave_out
    from evenrank.trec.assessment.pool_file import read_pool
    from evenrank.trec.collection import Collection

    opened = Collection.open(collection)
    topics = topics_with_judgments(opened, judgments)
    loaded = read_runs(runs, opened.text_ids)
    team_of = {name.strip(): team for team in teams for name in team.split(",")}
    if unknown := sorted(team_of.keys() - {run.name for run in loaded}):
        raise click.BadParameter(f"not among the runs: {', '.join(unknown)}", param_hint="--team")
    score = scorer(opened, protocol, groups)
    pooled = read_pool(pool).with_ids(opened.text_ids)
    rows = []
    for task in sorted({run.task for run in loaded}):
        same = [run for run in loaded if run.task == task]
        rows += leave_out(same, pooled, topics, score, team_of, MAIN[task].higher_is_better)
    if form == "json":
        return echo_json([asdict(row) | {"change": row.change} for row in rows])
    names = ["run", "unique", "relevant", "topics", "score", "without", "change", "rank", "rank without"]
    echo_table(names, [_cells(row) for row in rows])
    return None


def _cells(row: LeftOut) -> list[object]:
    counts = [row.n_unique, row.n_unique_relevant, row.n_topics]
    scores = [shown_number(row.score), shown_number(row.score_without), shown_number(row.change)]
    return [row.run, *counts, *scores, row.rank, row.rank_without]
