"""`evenrank rank`: fair rankings for the topics of a collection, from search or from a run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from evenrank.cli.model_options import chosen_model, model_options
from evenrank.cli.option_types import SEED

if TYPE_CHECKING:
    from evenrank.collection.collection import Collection
    from evenrank.ranking.job import RankingJob, TopicRankings
    from evenrank.records import Task
    from evenrank.search.model_choice import ModelChoice

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("rank")
@click.argument("collection", metavar="DIR", type=FOLDER)
@click.option("--task", type=click.Choice(["1", "2"]), required=True, help="1: one list of 1000; 2: 100 lists of 50.")
@click.option("--policy", metavar="NAME", required=True, help="How to rank; `evenrank policies` lists the names.")
@click.option("--from", "run_path", metavar="RUN", type=FILE, help="Re-rank the pages of this run; needs no index.")
@model_options
@click.option("--topics", default="eval", show_default=True, help="eval, train, all, or ids joined by commas.")
@click.option("--set", "pairs", metavar="NAME=VALUE", multiple=True, help="A setting of the policy or the candidates.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Same seed, same bytes.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes.  [default: all cores]")
@click.option("-o", "--output", metavar="RUN", type=click.Path(dir_okay=False, path_type=Path), required=True)
def command(
    collection: Path,
    task: str,
    policy: str,
    run_path: Path | None,
    model: str,
    encoder: Path | None,
    pooling: str | None,
    topics: str,
    pairs: Sequence[str],
    seed: int,
    workers: int | None,
    output: Path,
) -> None:
    """Rank pages fairly and write a run, with a record of all settings and proofs beside it (RUN.json).

    Settings of the candidates: information (geography,gender or geography), n_candidates, keep_unknown, sharpness,
    group_odds.
    """
    from evenrank.cli.outputs import check_output, is_device
    from evenrank.cli.topic_choice import chosen_topics
    from evenrank.collection.collection import Collection
    from evenrank.formats.runs import run_name, write_run
    from evenrank.parallel import n_cores
    from evenrank.progress import track
    from evenrank.ranking.job import rank_topics
    from evenrank.ranking.record import record_path, run_of, run_record, write_record

    opened = Collection.open(collection)
    records = [] if is_device(output) else [record_path(output)]
    check_output(opened, output, *records)
    topic_ids = sorted(chosen_topics(opened, topics))
    if not topic_ids:
        raise click.BadParameter(f"the collection has no topics of {topics!r}", param_hint="--topics")
    choice = chosen_model(opened, model, encoder, pooling)
    job = make_job(opened, cast("Task", int(task)), policy, pairs, seed, run_path, choice)
    ranked = rank_topics(job, topic_ids, workers or n_cores())
    results = list(track(ranked, "topics", len(topic_ids), "topic"))
    warn_of_short(results, job)
    for path in records:
        write_record(run_record(job, results, ["evenrank", *sys.argv[1:]]), path)
    write_run(run_of(job, run_name(output), results), output)
    click.echo(f"{output}: {job.policy.name} on {len(topic_ids)} topics", err=True)


def make_job(
    collection: Collection,
    task: Task,
    policy: str,
    pairs: Iterable[str],
    seed: int,
    run_path: Path | None,
    model: ModelChoice,
) -> RankingJob:
    """The job that the options describe, with what it learns from the training topics filled in."""
    from evenrank.policies.registry import policy_class
    from evenrank.ranking.build import BuildSettings
    from evenrank.ranking.job import RankingJob, full_request
    from evenrank.ranking.open_source import open_source
    from evenrank.settings import parse_settings, read_pairs

    owner, texts = policy_class(policy, task), read_pairs(pairs)
    shared = {field.name for field in fields(BuildSettings)}
    of_build = {name: text for name, text in texts.items() if name in shared}
    of_policy = {name: text for name, text in texts.items() if name not in shared}
    configured = owner(**parse_settings(owner, of_policy))
    settings, request = BuildSettings(**parse_settings(BuildSettings, of_build)), full_request(task)
    source = open_source(collection, run_path, settings, request.length, model)
    return RankingJob(collection.path, source, configured, request, settings, seed).learned()


def warn_of_short(results: Sequence[TopicRankings], job: RankingJob) -> None:
    """Say on standard error which topics have shorter rankings than the task asks for."""
    short = [topic for topic in results if topic.page_ids.shape[1] < job.request.length]
    if short:
        shown = ", ".join(f"{topic.topic_id} ({topic.page_ids.shape[1]})" for topic in short[:8])
        more = f" and {len(short) - 8} more" if len(short) > 8 else ""
        click.echo(
            f"warning: fewer candidates than the {job.request.length} pages of a ranking in topics {shown}{more}",
            err=True,
        )
