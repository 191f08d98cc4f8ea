"""`evenrank pareto`: the frontier between relevance and fairness of a topic or a topic set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from evenrank.cli.model_options import chosen_model, model_options

if TYPE_CHECKING:
    from evenrank.ranking.pareto import FrontierPoint
    from evenrank.records import Task

    Frontiers = dict[str, list[FrontierPoint]]

TABLES = ("tsv", "json")


@click.command("pareto")
@click.argument("collection", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--task", type=click.Choice(["1", "2"]), default="1", show_default=True)
@click.option(
    "--from",
    "run_path",
    metavar="RUN",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Take the pages of this run as candidates; needs no index.",
)
@model_options
@click.option("--topics", default="eval", show_default=True, help="eval, train, all, or ids joined by commas.")
@click.option("--weights", metavar="W,W,…", help="Weights of fairness.  [default: ten from 0 to 30]")
@click.option("--set", "pairs", metavar="NAME=VALUE", multiple=True, help="A setting of `optimal` or the candidates.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes.  [default: all cores]")
@click.option(
    "-o",
    "--output",
    "outputs",
    metavar="OUT",
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="A figure (.pdf, .png, .svg) or the numbers (.tsv, .json); may be given more than once.",
)
def command(
    collection: Path,
    task: str,
    run_path: Path | None,
    model: str,
    encoder: Path | None,
    pooling: str | None,
    topics: str,
    weights: str | None,
    pairs: Sequence[str],
    workers: int | None,
    outputs: Sequence[Path],
) -> None:
    """Sweep the weight of fairness of the policy `optimal`; print one row per topic and weight, the mean last.

    Relevance and fairness are the policy's own estimates: no judgment is looked at.
    """
    from evenrank.cli.outputs import check_output
    from evenrank.cli.rank import make_job
    from evenrank.cli.topic_choice import chosen_topics
    from evenrank.collection.collection import Collection
    from evenrank.parallel import n_cores
    from evenrank.progress import track
    from evenrank.ranking.pareto import WEIGHTS, mean_frontier, topic_frontiers

    check_outputs(outputs)
    swept = parse_weights(weights) if weights else WEIGHTS
    opened = Collection.open(collection)
    check_output(opened, *outputs)
    topic_ids = sorted(chosen_topics(opened, topics))
    choice = chosen_model(opened, model, encoder, pooling)
    job = make_job(opened, cast("Task", int(task)), "optimal", pairs, 0, run_path, choice)
    found = topic_frontiers(job, topic_ids, swept, workers or n_cores())
    frontiers = {str(topic): points for topic, points in track(found, "topics", len(topic_ids), "topic")}
    if not frontiers:
        raise click.ClickException("no topic has candidates")
    mean = mean_frontier(frontiers.values())
    write_outputs(job.request.task, frontiers, mean, outputs, choice.describe())


def check_outputs(outputs: Sequence[Path]) -> None:
    """Refuse names whose ending is no known format, and figures that cannot be drawn."""
    from evenrank.figures import FORMATS, require_matplotlib

    wrong = [str(path) for path in outputs if path.suffix[1:] not in (*TABLES, *FORMATS)]
    if wrong:
        endings = ", ".join(f".{ending}" for ending in (*TABLES, *FORMATS))
        raise click.BadParameter(f"{', '.join(wrong)}: give a name that ends in {endings}", param_hint="-o")
    if any(path.suffix[1:] in FORMATS for path in outputs):
        require_matplotlib()


def parse_weights(text: str) -> tuple[float, ...]:
    """Weights of fairness from text, sorted."""
    try:
        weights = sorted({float(part) for part in text.split(",")})
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of numbers", param_hint="--weights") from None
    if not all(0.0 <= weight < 1e9 for weight in weights):
        raise click.BadParameter("weights must be from 0 to 1e9", param_hint="--weights")
    return tuple(weights)


def write_outputs(
    task: Task, frontiers: Frontiers, mean: list[FrontierPoint], outputs: Sequence[Path], model: dict[str, Any]
) -> None:
    """The frontier in every form asked for; on standard output when none is."""
    from evenrank.formats.atomic import atomic_file
    from evenrank.ranking.pareto_figure import draw_frontier

    if not outputs:
        click.echo(as_tsv(task, {**frontiers, "mean": mean}), nl=False)
    for path in outputs:
        if path.suffix[1:] not in TABLES:
            draw_frontier(task, list(frontiers.values()), mean, path)
            continue
        is_json = path.suffix == ".json"
        text = as_json(task, frontiers, mean, model) if is_json else as_tsv(task, {**frontiers, "mean": mean})
        with atomic_file(path) as file:
            file.write(text.encode())


def as_tsv(task: Task, frontiers: Frontiers) -> str:
    """One line per topic and weight."""
    rows = [(topic, point.row(task)) for topic, points in frontiers.items() for point in points]
    lines = ["\t".join(["topic", *rows[0][1]])]
    lines += ["\t".join([topic, *(f"{value:.6g}" for value in row.values())]) for topic, row in rows]
    return "\n".join(lines) + "\n"


def as_json(task: Task, frontiers: Frontiers, mean: list[FrontierPoint], model: dict[str, Any]) -> str:
    """The same as plain data, with the relevance model behind it."""
    import orjson

    data = {
        "task": task,
        "model": model,
        "mean": [point.row(task) for point in mean],
        "topics": [
            {"topic": int(topic), "points": [point.row(task) for point in points]}
            for topic, points in frontiers.items()
        ],
    }
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode() + "\n"
