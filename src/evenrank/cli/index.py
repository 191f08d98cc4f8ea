"""`evenrank index`: build the text index of a collection."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenrank.cli.options import SparkOptions, encoder_options, spark_options
from evenrank.cli.talk import say
from evenrank.io.work_report import reported
from evenrank.parallel import n_cores

if TYPE_CHECKING:
    from evenrank.retrieval.encode.encoder import EncoderSettings


@click.command("index")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--engine",
    metavar="ADDRESS",
    help="Where the index lives.  [default: where it is already, or tantivy: a folder on this machine]",
)
@click.option("--threads", type=click.IntRange(min=1), help="Cores to use.  [default: all]")
@spark_options
@click.option(
    "--dense/--no-dense",
    default=None,
    help="Make text vectors of all pages too: pages are then found by meaning.  [default: if the index has them]",
)
@encoder_options
def command(
    folder: Path,
    threads: int | None,
    engine: str | None,
    spark: SparkOptions,
    dense: bool | None,
    encoder: EncoderSettings | None,
) -> None:
    """Build the text index of the collection DIR from its corpus, in a folder of its own, DIR/index-N.

    An interrupted build resumes where it stopped; a finished one is left as it is. An earlier index stays in use, with
    the data it was made from, until the new one is complete; then DIR switches to the new data and index in one step.
    Text vectors are kept: those of changed and new pages are made before the switch. Broken records are skipped and
    reported. With --dense (implied by --encoder, --pooling and --device), the models hybrid and learned also find
    pages by meaning; the vectors are kept beside the index, and an interrupted run resumes. With a --spark option, the
    executors of a Spark cluster prepare the pages of an index on OpenSearch; they see DIR under the same path.
    """
    from evenrank.io.faults import FaultLog
    from evenrank.retrieval.encode.dense import encode_index, recorded_encoders
    from evenrank.retrieval.engine.engines import index_folder
    from evenrank.retrieval.engine.indexing import build_index
    from evenrank.trec.collection import Collection

    collection = Collection.open(folder)
    faults = FaultLog()
    session = spark.start_if_given()
    cores = threads or n_cores()
    start = time.monotonic()
    has_same_encoder = encoder is None or (encoder,) == recorded_encoders(index_folder(collection))
    with reported(folder, "index"):
        opened = build_index(
            collection,
            faults,
            engine=engine,
            n_threads=cores,
            workers=cores,
            spark=session,
            keeps_vectors=dense is not False and has_same_encoder,
        )
    collection = Collection.open(folder)
    if report := faults.report():
        say(report)
    facts = opened.statistics()
    seconds = time.monotonic() - start
    click.echo(
        f"{index_folder(collection)}: {facts.n_pages:,} articles, {facts.size_bytes / 1e6:,.1f} MB, {seconds:.1f} s"
    )
    if dense or (encoder is not None and dense is None):
        with reported(folder, "index --dense"):
            encoded = encode_index(collection, encoder)
        for vectors in encoded:
            name, n = vectors.encoder.name, len(vectors.cache)
            click.echo(f"{vectors.cache.path}: {n:,} vectors by {name}; {vectors.cost}")
