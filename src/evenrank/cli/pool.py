"""`evenrank pool`: which pages to judge, what that costs, and what it does to scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import nan
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click

import evenrank
from evenrank.cli.listing import FORMAT, echo_json, echo_table, shown_number
from evenrank.cli.options import SEED, FiniteRange, InputFile
from evenrank.cli.rank import TOPICS
from evenrank.cli.scoring_options import (
    DEPTH,
    JUDGMENTS,
    ScoringOptions,
    open_judged,
    protocol_option,
    scoring_options,
)
from evenrank.cli.talk import say
from evenrank.io.atomic import refuse_input

if TYPE_CHECKING:
    from evenrank.core.records import Task
    from evenrank.trec.assessment.leave_one_out import LeftOut
    from evenrank.trec.assessment.pool import Pool
    from evenrank.trec.assessment.pool_file import PoolStatistics
    from evenrank.trec.collection import Collection


FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
FILE = InputFile(exists=True)
RUN = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


@click.group(name="pool")
def command() -> None:
    """Pages to judge, taken from runs in tiers."""


@command.command()
@click.argument("collection", metavar="DIR", type=FOLDER)
@click.argument("runs", metavar="RUN...", type=InputFile(), nargs=-1, required=True)
@click.option("-o", "--output", metavar="POOL", type=click.Path(dir_okay=False, path_type=Path), required=True)
@click.option(
    "--tier",
    "tiers",
    metavar="TASK:DEPTH[xRANKINGS]",
    multiple=True,
    help="A tier, in order of priority; may be repeated.  [default: 1:20 and 2:5x25, as in 2021]",
)
@click.option("--budget", type=click.IntRange(min=1), help="Maximum number of pages per topic; tiers become smaller.")
@click.option("--total", type=click.IntRange(min=1), help="Maximum number of pages of all topics together.")
@TOPICS
@protocol_option("Protocol whose lengths runs are checked by.")
@click.option(
    "--despite",
    metavar="REASON",
    default="",
    show_default=False,
    help="Take runs that fail the check, for this reason.",
)
@click.option("--new", is_flag=True, help="Start over instead of extending an existing POOL.")
def build(
    collection: Path,
    runs: Sequence[Path],
    output: Path,
    protocol: str,
    despite: str,
    new: bool,
    **limits: Any,
) -> None:
    """Pool the first pages of runs; an existing POOL is extended, and its pages keep their tier.

    Runs must pass `run check`; those that do not are refused, unless --despite says why they may enter. POOL keeps a
    receipt with the checksum of each run, which `pool receipts` shows.
    """
    refuse_input(output, runs)
    start = evenrank.read_pool(output) if output.exists() and not new else None
    opened = evenrank.Collection.open(collection)
    receipts = evenrank.admit_runs(opened, runs, protocol, despite)
    pool = evenrank.pool(opened, runs, start=start, receipts=receipts, **limits)
    evenrank.write_pool(output, pool)
    _tell(pool, start, opened)


def _tell(pool: Pool, start: Pool | None, collection: Collection) -> None:
    """What was done, on standard error."""
    import numpy as np

    n_new = len(pool.pages) - (len(start.pages) if start else 0)
    n_topics = len({entry.topic for entry in pool.pages})
    say(f"{len(pool.pages):,} pages of {n_topics} topics from {len(pool.runs)} runs, {n_new:,} of them new")
    pages = np.array([entry.page for entry in pool.pages], np.int32)
    if n_missing := int((collection.rows_of(pages) < 0).sum()):
        say(f"{n_missing:,} pages have no metadata in {collection.path}")
    if pool.shares:
        least = [min(shares) for shares in zip(*pool.shares.values(), strict=True)]
        shown = ", ".join(f"{tier} is {tier.reduced(share)}" for tier, share in zip(pool.tiers, least, strict=False))
        say(f"the budget makes the tiers of {len(pool.shares)} topics smaller; in the smallest {shown}")
    if pool.cut:
        say(f"topics with a tier that the budget leaves incomplete: {', '.join(map(str, pool.cut))}")
    for run in pool.runs:
        if run.receipt is not None and run.receipt.n_faults:
            n_faults = run.receipt.n_faults
            say(f"{run.name} entered with {n_faults:,} fault{'s' * (n_faults != 1)}: {run.receipt.despite}")


@command.command()
@click.argument("pool", type=FILE)
@FORMAT
def receipts(pool: Path, form: str) -> None:
    """Show the receipt of each run that entered a pool: file, checksum, and how it was checked."""
    runs = evenrank.read_pool(pool).runs
    if form == "json":
        return echo_json([asdict(run) for run in runs])
    nothing = ["–"] * 5
    rows = [[r.name, r.task, *(nothing if r.receipt is None else [*asdict(r.receipt).values()][:5])] for r in runs]
    echo_table(["run", "task", "file", "sha256", "bytes", "protocol", "faults"], rows)
    for run in runs:
        if run.receipt is not None and run.receipt.despite:
            click.echo(f"{run.name} entered despite its faults: {run.receipt.despite}")
    return None


@command.command()
@click.argument("pool", type=FILE)
@click.option("--seconds", type=FiniteRange(min=0), default=45.0, help="Time for one judgment.")
@click.option("--overlap", type=FiniteRange(0, 1), default=0.1, help="Share judged twice.")
@FORMAT
def stats(pool: Path, seconds: float, overlap: float, form: str) -> None:
    """Size of a pool, overlap between runs, pages that only one run brought, and projected hours."""
    from evenrank.trec.assessment.pool_file import pool_statistics, read_pool

    read = read_pool(pool)
    counts = pool_statistics(read)
    hours = counts.hours(seconds, overlap)
    if form == "json":
        return echo_json(_stats_json(read, counts) | {"hours": hours})
    tiers = [f"tier {number} ({tier})" for number, tier in enumerate(read.tiers, 1)]
    by_topic = counts.n_by_topic_and_tier.items()
    tiers += ["beyond"] * (max((len(n) for _, n in by_topic), default=0) - len(tiers))
    echo_table(["topic", *tiers, "pages"], [[topic, *n, sum(n)] for topic, n in by_topic])
    echo_table(["run", "task", "pages", "unique"], [[s.run, s.task, s.n_pages, s.n_unique] for s in counts.shares])
    names = [share.run for share in counts.shares]
    rows = [[name, *(shown_number(x, 3) for x in row)] for name, row in zip(names, counts.overlap, strict=True)]
    echo_table(["overlap", *names], rows)
    click.echo(f"{counts.n_pages:,} pages, {hours:,.1f} hours at {seconds:g} s with {overlap:.0%} judged twice")
    return None


def _stats_json(pool: Pool, counts: PoolStatistics) -> dict[str, Any]:
    return {
        "n_pages": counts.n_pages,
        "tiers": [str(tier) for tier in pool.tiers],
        "topics": [{"topic": topic, "n_by_tier": n} for topic, n in counts.n_by_topic_and_tier.items()],
        "runs": [asdict(share) for share in counts.shares],
        "overlap": counts.overlap.tolist(),
        "cut": [{"topic": topic, "tier": tier} for topic, tier in pool.cut.items()],
        "shares": [{"topic": topic, "shares": shares} for topic, shares in pool.shares.items()],
    }


@command.command()
@click.argument("pool", type=FILE)
@click.option(
    "--share",
    "shares",
    metavar="TIER=SHARE",
    multiple=True,
    required=True,
    help="Part of a tier to draw, such as 2=0.2; may be repeated. Other tiers stay whole.",
)
@click.option("-o", "--output", metavar="SAMPLE", type=click.Path(dir_okay=False, path_type=Path), required=True)
@click.option("--seed", type=SEED, default=0)
def sample(pool: Path, shares: Sequence[str], output: Path, seed: int) -> None:
    """Draw at random which pages of a pool are judged, tier by tier and topic by topic.

    SAMPLE is a pool file like any other, for `judgments create --pool`. Keep POOL: `pool estimate` needs both.
    """
    refuse_input(output, [pool])
    wanted: dict[int, float] = {}
    for text in shares:
        tier, _, share = text.partition("=")
        try:
            wanted[int(tier)] = float(share)
        except ValueError as error:
            raise click.BadParameter(f"{text!r} (write TIER=SHARE, such as 2=0.2)", param_hint="--share") from error
    whole = evenrank.read_pool(pool)
    drawn = evenrank.sample_pool(whole, wanted, seed)
    evenrank.write_pool(output, drawn)
    say(f"{len(drawn.pages):,} of {len(whole.pages):,} pages drawn")


@command.command()
@click.argument("collection", metavar="DIR", type=FOLDER)
@click.argument("pool", type=FILE)
@click.argument("runs", metavar="RUN...", type=RUN, nargs=-1, required=True)
@click.option("--sample", metavar="SAMPLE", type=FILE, required=True, help="The part that was drawn to be judged.")
@JUDGMENTS
@scoring_options(DEPTH)
@FORMAT
def estimate(
    collection: Path,
    pool: Path,
    runs: Sequence[Path],
    sample: Path,
    judgments: Path | str | None,
    options: ScoringOptions,
    form: str,
) -> None:
    """Estimate nDCG, P, AWRF and Score of Task 1 runs where only a sample of the pool was judged.

    Each judged page also represents pages of its tier that were not drawn (inverse-probability weights).
    """
    opened = open_judged(collection, judgments)
    found = evenrank.sampled_scores(opened, runs, pool, sample, options.protocol, options.groups, **options.settings)
    if form == "json":
        return echo_json(found.to_json())
    click.echo(str(found), nl=False)
    return None


@command.command()
@click.argument("collection", metavar="DIR", type=FOLDER)
@click.argument("runs", metavar="RUN...", type=RUN, nargs=-1, required=True)
@click.option("-k", "depths", type=click.IntRange(min=1), multiple=True, default=(5, 20, 100))
@JUDGMENTS
@FORMAT
def judged(
    collection: Path, runs: Sequence[Path], depths: Sequence[int], judgments: Path | str | None, form: str
) -> None:
    """judged@k: the judged share of the first k pages of each run, mean over judged topics."""
    from evenrank.io.runs import read_runs
    from evenrank.trec.judged_pages import judged_at, judged_pages

    opened = open_judged(collection, judgments)
    known = judged_pages(opened.topics)
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


@command.command(name="leave-one-out")
@click.argument("collection", metavar="DIR", type=FOLDER)
@click.argument("pool", type=FILE)
@click.argument("runs", metavar="RUN...", type=RUN, nargs=-1, required=True)
@protocol_option()
@click.option("--groups", default="intersection", help="intersection, or names of dimensions.")
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
    from evenrank.scoring.evaluate import without_withdrawn
    from evenrank.scoring.rejudged import scorer
    from evenrank.trec.assessment.leave_one_out import leave_one_out as leave_out
    from evenrank.trec.assessment.pool_file import read_pool

    opened = open_judged(collection, judgments)
    opened, loaded, about = without_withdrawn(opened, read_runs(runs, opened.text_ids))
    for note in about:
        say(note)
    team_of = {name.strip(): team for team in teams for name in team.split(",")}
    if unknown := sorted(team_of.keys() - {run.name for run in loaded}):
        raise click.BadParameter(f"not among the runs: {', '.join(unknown)}", param_hint="--team")
    score = scorer(opened, protocol, groups)
    pooled = read_pool(pool).with_ids(opened.text_ids)
    found: dict[Task, list[LeftOut]] = {}
    for task in sorted({run.task for run in loaded}):
        same = [run for run in loaded if run.task == task]
        found[task] = leave_out(same, pooled, opened.topics, score, team_of, MAIN[task].higher_is_better)
    if form == "json":
        return echo_json(
            [
                asdict(row) | {"change": row.change, "task": task, "measure": MAIN[task].name}
                for task, rows in found.items()
                for row in rows
            ]
        )
    for task, rows in found.items():  # the measures of the tasks are not comparable
        measure = MAIN[task].name
        names = ["run", "unique", "relevant", "topics", measure, "without", "change", "rank", "rank without"]
        echo_table(names, [_cells(row) for row in rows])
    return None


def _cells(row: LeftOut) -> list[object]:
    """A run none of whose unique pages was judged is untested: nothing could change."""
    counts = [row.n_unique, row.n_unique_relevant, row.n_topics]
    tested = [shown_number(row.score_without), shown_number(row.change)] if row.n_unique else ["–", "–"]
    return [row.run, *counts, shown_number(row.score), *tested, row.rank, row.rank_without]
