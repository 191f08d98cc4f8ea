"""`evenrank learn`: a relevance model from the training topics of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import evenrank
from evenrank.cli.listing import FORMAT, echo_json, echo_table, shown_number
from evenrank.cli.options import SEED, STORE, FiniteRange, encoder_options
from evenrank.cli.outputs import check_output
from evenrank.cli.talk import say
from evenrank.core.settings import read_pairs

if TYPE_CHECKING:
    from evenrank.core.records import Topic
    from evenrank.database.database import Location
    from evenrank.retrieval.encode.encoder import EncoderSettings
    from evenrank.retrieval.learn.learn import TrainingReport


@click.command("learn")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    metavar="MODEL",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Model file.  [default: DIR/relevance-model.json, which --model learned takes]",
)
@click.option(
    "--dense", is_flag=True, help="Learn from text vectors too (slow); --encoder, --pooling, --device imply it."
)
@click.option("--cross", is_flag=True, help="Let a cross-encoder read the best pages too; implies --dense.")
@encoder_options
@click.option(
    "--set", "pairs", metavar="NAME=VALUE", multiple=True, help="A setting of learning: ridge, n_learned, n_forms."
)
@click.option(
    "--marks",
    metavar="FILE|URL",
    type=STORE,
    help="Store of the web app: learn also from what its visitors marked as done or as off topic.",
)
@click.option(
    "--tagging-rate",
    metavar="R",
    type=FiniteRange(0.0, 1.0, min_open=True),
    help="Share of the relevant pages that the topics list: others are unlabelled, not irrelevant.  [default: 1]",
)
@click.option(
    "--tagging-sample",
    metavar="QRELS",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Estimate that share from pages of training topics that people judged, tagged or not.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Same seed, same bytes.")
@FORMAT
def command(
    folder: Path,
    output: Path | None,
    dense: bool,
    cross: bool,
    encoder: EncoderSettings | None,
    pairs: tuple[str, ...],
    marks: Location | None,
    tagging_rate: float | None,
    tagging_sample: Path | None,
    seed: int,
    form: str,
) -> None:
    """Train a relevance model on the training topics of the collection DIR, which needs an index.

    Prints how good it is on topics that it did not see (five folds), how well its probabilities are calibrated, and
    what each feature adds. Use it with `--model learned` in search, rank, pareto and serve.
    """
    collection = evenrank.Collection.open(folder)
    default = collection.learned_model
    check_output(collection, output or default, replaceable=default)
    if tagging_rate is not None and tagging_sample is not None:
        raise click.UsageError("give --tagging-rate, or --tagging-sample to estimate it")
    if tagging_sample is not None:
        estimate = evenrank.estimate_tagging_rate(collection, tagging_sample)
        say(estimate)
        tagging_rate = estimate.rate
    marked = _read_marks(marks) if marks else []
    learned = evenrank.learn(
        collection,
        output,
        dense=dense,
        cross=cross,
        encoder=encoder,
        settings=read_pairs(pairs),
        marked=marked,
        tagging_rate=tagging_rate,
        seed=seed,
    )
    print_report(learned.report, form)
    if learned.cost:
        say(learned.cost)
    n_topics = learned.report.n_topics
    say(f"{learned.path}: learned from {n_topics} topics, fingerprint {learned.fingerprint}")


def _read_marks(store: Location) -> list[Topic]:
    """The questions of a store that have articles of both kinds."""
    from evenrank.app.storage.marked_topics import marked_topics
    from evenrank.database.database import shown_location

    found = marked_topics(store)
    n_marks = sum(len(topic.assessed_docs) for topic in found if topic.assessed_docs is not None)
    say(f"{shown_location(store)}: {len(found):,} marked questions with {n_marks:,} marks")
    return found


def print_report(found: TrainingReport, form: str) -> None:
    """The report on standard output."""
    from dataclasses import asdict

    if form == "json":
        echo_json(asdict(found))
        return
    rows = [
        [name, c.form, shown_number(quality.precision_at_10, 3), shown_number(quality.r_precision, 3), found.n_topics]
        for c in found.comparisons
        for name, quality in (("learned", c.learned), ("untrained", c.untrained))
    ]
    echo_table(["model", "keywords", "P@10", "R-precision", "topics"], rows)
    click.echo(f"{found.verdict}\n")
    errors = [
        ["expected calibration error", shown_number(found.calibration_error)],
        ["error of the number of relevant pages", shown_number(found.count_error)],
    ]
    echo_table(["probabilities", "value"], errors)
    parts = [[name, shown_number(value, 3)] for name, value in found.contributions.items()]
    echo_table(["feature", "adds"], parts)
