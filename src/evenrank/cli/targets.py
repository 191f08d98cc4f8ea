"""`evenrank targets`: the wanted exposure of every group, by topic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import evenrank
from evenrank.cli.listing import echo_json
from evenrank.cli.scoring_options import ScoringOptions, scoring_options
from evenrank.core.records import Task

if TYPE_CHECKING:
    from evenrank.scoring.topic_targets import TopicTargets


@click.command("targets")
@click.argument("collection", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--task", type=click.Choice([1, 2]), default=1)
@scoring_options()
@click.option("--format", "form", type=click.Choice(["tsv", "json"]), default="tsv")
def command(collection: Path, task: Task, options: ScoringOptions, form: str) -> None:
    """Print the target of each judged topic: one row per topic, one column per group.

    With more than 10,000 groups each line has a topic, a group and its target, for the groups whose target is not 0.

    Gender targets rest on categories that collapse identities and on data with errors; they are for totals over groups,
    never for single people.
    """
    targets = evenrank.targets(collection, task, options.protocol, options.groups, **options.settings)
    if form == "json":
        echo_json(targets.to_json())
    else:
        click.echo(_tsv(targets), nl=False)


def _tsv(targets: TopicTargets) -> str:
    if targets.is_long:
        lines = ["topic\tgroup\ttarget", *(f"{topic}\t{name}\t{value!r}" for topic, name, value in targets.rows())]
        return "\n".join(lines) + "\n"
    lines = ["\t".join(["topic", *targets.groups])]
    for topic, values in zip(targets.topic_ids, targets.values.tolist(), strict=True):
        lines.append("\t".join([str(topic), *map(repr, values)]))
    return "\n".join(lines) + "\n"
