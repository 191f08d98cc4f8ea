"""`evenrank pool`: which pages to judge, what that costs, and what it does to scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import evenrank
from evenrank.cli.listing import FORMAT, echo_json, echo_table, shown_number
from evenrank.cli.option_types import FiniteRange, InputFile
from evenrank.cli.pool_effects import judged, leave_one_out
from evenrank.cli.rank import TOPICS
from evenrank.cli.talk import say
from evenrank.io.atomic import refuse_input

if TYPE_CHECKING:
    from evenrank.trec.assessment.pool import Pool
    from evenrank.trec.assessment.pool_file import PoolStatistics
    from evenrank.trec.collection import Collection

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
FILE = InputFile(exists=True)
RUN = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


@click.group(name="pool")
def command() -> None:
    """Pages to judge, taken from runs in tiers."""


command.add_command(judged)
command.add_command(leave_one_out)


@command.command()
@click.argument("collection", metavar="DIR", type=FOLDER)
@click.argument("runs", metavar="RUN...", type=RUN, nargs=-1, required=True)
@click.option("-o", "--output", metavar="POOL", type=click.Path(dir_okay=False, path_type=Path), required=True)
@click.option(
    "--tier",
    "tiers",
    metavar="TASK:DEPTH[xRANKINGS]",
    multiple=True,
    help="A tier, in order of priority; may be repeated.  [default: 1:20 and 2:5x25, as in 2021]",
)
@click.option("--budget", type=click.IntRange(min=1), help="Maximum number of pages per topic.")
@TOPICS
@click.option("--new", is_flag=True, help="Start over instead of extending an existing POOL.")
def build(
    collection: Path,
    runs: Sequence[Path],
    output: Path,
    tiers: Sequence[str],
    budget: int | None,
    topics: tuple[str, ...],
    new: bool,
) -> None:
    """Pool the first pages of runs; an existing POOL is extended, and its pages keep their tier."""
    refuse_input(output, runs)
    start = evenrank.read_pool(output) if output.exists() and not new else None
    opened = evenrank.Collection.open(collection)
    pool = evenrank.pool(opened, runs, tiers=tiers, budget=budget, topics=topics, start=start)
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
    if pool.cut:
        say(f"the budget ended {len(pool.cut)} topics early: {', '.join(map(str, pool.cut))}")


@command.command()
@click.argument("pool", type=FILE)
@click.option("--seconds", type=FiniteRange(min=0), default=45.0, show_default=True, help="Time for one judgment.")
@click.option("--overlap", type=FiniteRange(0, 1), default=0.1, show_default=True, help="Share judged twice.")
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
    }
