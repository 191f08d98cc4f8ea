"""`evenrank rank`: fair rankings for the topics of a collection, from search or from a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

import evenrank
from evenrank.cli.options import SEED, ModelOptions, SparkOptions, model_options, settings_option, spark_options
from evenrank.cli.outputs import FORCE, OUTPUT_RUN, check_output, is_device, refuse_existing
from evenrank.cli.scoring_options import attention_option, protocol_option
from evenrank.cli.talk import say, warn
from evenrank.errors import EvenrankError
from evenrank.parallel import n_cores
from evenrank.policies.registry import DEFAULT_POLICY

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
TOPICS = click.option(
    "--topics",
    multiple=True,
    default=("eval",),
    show_default="eval",
    help="eval, train, all, or ids joined by commas; may be repeated.",
)
CANDIDATES = click.option(
    "--from", "candidates", metavar="RUN", type=FILE, help="Re-rank the pages of this run; needs no index."
)
PROTOCOL = protocol_option("The scorer to serve.")
TARGET = click.option(
    "--target",
    metavar="track|field|equal|world|FILE",
    default="track",
    help="Where the target comes from: half the candidates by relevance and half the world, the candidates alone, "
    "equal shares, the world, or a table of groups and shares.",
)
ATTENTION = attention_option("the protocol's")
WORKERS = click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=n_cores,
    show_default=False,
    help="Processes.  [default: all cores]",
)


@click.command("rank")
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--task", type=click.Choice([1, 2]), required=True, help="1: one list of 1000; 2: 100 lists of 50.")
@click.option(
    "--policy",
    metavar="NAME",
    default=DEFAULT_POLICY,
    help="How to rank; `evenrank policies` lists the names.",
)
@CANDIDATES
@model_options
@TOPICS
@click.option(
    "--query",
    metavar="WORDS",
    help="Rank this subject instead of topics of the collection: its words, or keywords joined by commas.",
)
@click.option("--title", default="", show_default=False, help="Title of the subject of --query.  [default: its words]")
@PROTOCOL
@TARGET
@ATTENTION
@click.option(
    "--length",
    type=click.Choice(["full", "relevant"]),
    default="full",
    help="full: as long as the protocol asks; relevant: as many pages as are expected to be relevant.",
)
@click.option(
    "--relevant",
    "n_relevant",
    metavar="N",
    type=click.FloatRange(min=0.0, min_open=True),
    help="About how many pages of a topic are relevant; a guess within a factor of three helps.  [default: estimated]",
)
@click.option(
    "--judged",
    type=FILE,
    help="Judged pages of the topics, as qrels; `evenrank count` chooses them. Probabilities and lengths follow them.",
)
@settings_option("A setting of the policy or the candidates.")
@click.option(
    "--assume",
    multiple=True,
    metavar="FILE|NAME=VALUE",
    help="How groups are missing: missing=random, a file, geography.rate=0.3, …; unknown pages are then a mixture.",
)
@click.option("--seed", type=SEED, default=0, help="Same seed, same bytes.")
@WORKERS
@spark_options
@OUTPUT_RUN
@FORCE
def command(
    folder: Path,
    policy: str,
    model: ModelOptions,
    query: str | None,
    assume: tuple[str, ...],
    spark: SparkOptions,
    output: Path,
    force: bool,
    **options: Any,
) -> None:
    """Rank pages fairly and write a run, with a record of all settings and proofs beside it (RUN.json).

    Settings of the candidates: information (dimensions of the target, which the system knows: geography,gender, or
    geography), scored (dimensions that the scorer looks at: what the system does not know of them is inferred, for
    `optimal` in Task 2 and for `inferred`), n_candidates, keep_unknown, sharpness, group_odds, divided, undisclosed
    (such as gender:0.3), within (such as geography=Africa), keep_to_subject (false also lets pages fill groups that are
    not about the subject of --query).

    With a --spark option, the executors of a Spark cluster rank the topics; they see DIR under the same path.
    """
    if query is not None and not query.strip():
        raise EvenrankError("--query is empty (give the words to search for)")
    collection = evenrank.Collection.open(folder)
    has_record = not is_device(output)
    check_output(collection, output, *([Path(f"{output}.json")] if has_record else []))
    refuse_existing(output, force=force)
    ranked = evenrank.rank(
        collection,
        policy=policy,
        query=query or "",
        model=model.choose(collection),
        assume=list(assume) or None,
        command=["evenrank", *sys.argv[1:]],
        spark=spark.start_if_given(),
        **options,
    )
    for note in ranked.notes:
        warn(note)
    ranked.write(output, with_record=has_record)
    say(f"{output}: {policy} on {_ranked_topics(ranked)}")
    if words := ranked.in_words():
        say(words)


def _ranked_topics(ranked: evenrank.RankedTopics) -> str:
    """What was ranked: a number of topics, or the subject of --query and the number that it has in the run."""
    for number, title in ranked.run.titles.items():
        counted = [one.n_on_subject for one in ranked.topics if one.topic_id == number and one.n_on_subject]
        about = "".join(f": {n:,} article{'s' * (n != 1)} on the subject" for n in counted)
        return f'"{title}", which is topic {number} of the run{about}'
    return f"{len(ranked.topics)} topic{'s' * (len(ranked.topics) != 1)}"
