"""`evenrank learn`: a relevance model from the training topics of a collection."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenrank.cli.columns import FORMAT, echo_json, echo_table, shown
from evenrank.cli.model_options import ENCODER, POOLING, encoder_settings
from evenrank.cli.option_types import SEED

if TYPE_CHECKING:
    from evenrank.collection.collection import Collection
    from evenrank.search.encode.encoder import EncoderSettings
    from evenrank.search.learn.features import FeatureExtractor
    from evenrank.search.learn.training_data import LearningSettings
    from evenrank.search.learn.training_report import TrainingReport


@click.command("learn")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    metavar="MODEL",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Model file.  [default: DIR/relevance-model.json, which --model learned takes]",
)
@click.option("--dense", is_flag=True, help="Learn from text vectors too (slow); --encoder and --pooling imply it.")
@click.option("--cross", is_flag=True, help="Let a cross-encoder read the best pages too; implies --dense.")
@ENCODER
@POOLING
@click.option("--set", "pairs", metavar="NAME=VALUE", multiple=True, help="A setting of trees and line.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Same seed, same bytes.")
@FORMAT
def command(
    folder: Path,
    output: Path | None,
    dense: bool,
    cross: bool,
    encoder: Path | None,
    pooling: str | None,
    pairs: tuple[str, ...],
    seed: int,
    form: str,
) -> None:
    """Train a relevance model on the training topics of the collection DIR, which needs an index.

    Prints how good it is on topics that it did not see (five folds), whether its probabilities mean what they say, and
    what each feature adds. Use it with `--model learned` in search, rank, pareto and serve.
    """
    from evenrank.cli.outputs import check_output
    from evenrank.collection.collection import Collection
    from evenrank.search.learn.model_file import fingerprint, model_path, save
    from evenrank.search.learn.training import train_on_topics
    from evenrank.search.learn.training_report import report
    from evenrank.search.learn.trees import import_lightgbm

    import_lightgbm()
    collection = Collection.open(folder)
    path = output or model_path(collection)
    check_output(collection, path, replaceable=model_path(collection))
    given = encoder_settings(encoder, pooling)
    has_vectors = dense or cross or given is not None
    settings = learning_settings(pairs, seed, has_vectors)
    extractor = open_extractor(collection, given, has_vectors, cross)
    trained = train_on_topics(extractor, collection.topics, settings)
    found = report(trained)
    save(trained.state, path)
    print_report(found, form)
    if extractor.dense is not None:
        click.echo(str(extractor.dense.cost), err=True)
    click.echo(f"{path}: learned from {found.n_topics} topics, fingerprint {fingerprint(path)}", err=True)


def learning_settings(pairs: Iterable[str], seed: int, has_vectors: bool) -> LearningSettings:
    """The settings of trees and line that the options describe."""
    from dataclasses import replace

    from evenrank.search.learn.training import WITH_VECTORS, WITHOUT_VECTORS, check_settings
    from evenrank.search.learn.training_data import LearningSettings
    from evenrank.settings import parse_settings, read_pairs

    texts = read_pairs(pairs)
    if "seed" in texts:
        raise click.BadParameter("the seed has an option of its own: --seed", param_hint="--set")
    chosen = parse_settings(LearningSettings, texts)
    settings = replace(WITH_VECTORS if has_vectors else WITHOUT_VECTORS, **chosen, seed=seed)
    check_settings(settings)
    return settings


def open_extractor(
    collection: Collection, encoder: EncoderSettings | None, has_vectors: bool, has_cross: bool
) -> FeatureExtractor:
    """What computes the features of pages, with text vectors and a cross-encoder if they are wanted."""
    from evenrank.search.encode.encoder import EncoderSettings
    from evenrank.search.engine.indexing import index_folder, open_index
    from evenrank.search.learn.features import FeatureExtractor
    from evenrank.search.model_choice import open_cross_encoder, open_dense, use_encoder
    from evenrank.search.relevance import LexicalModel

    engine = open_index(collection)
    if not has_vectors:
        return FeatureExtractor(LexicalModel(engine))
    used = use_encoder(encoder or EncoderSettings())
    dense = open_dense(engine, used.settings, index_folder(collection))
    return FeatureExtractor(LexicalModel(engine), dense, open_cross_encoder() if has_cross else None)


def print_report(found: TrainingReport, form: str) -> None:
    """The report on standard output."""
    from dataclasses import asdict

    if form == "json":
        echo_json(asdict(found))
        return
    rows = [
        [name, shown(quality.precision_at_10, 3), shown(quality.r_precision, 3), found.n_topics]
        for name, quality in (("learned", found.learned), ("untrained", found.untrained))
    ]
    echo_table(["model", "P@10", "R-precision", "topics"], rows)
    errors = [
        ["expected calibration error", shown(found.calibration_error)],
        ["error of the number of relevant pages", shown(found.count_error)],
    ]
    echo_table(["probabilities", "value"], errors)
    parts = [[name, shown(value, 3)] for name, value in found.contributions.items()]
    echo_table(["feature", "adds"], parts)
