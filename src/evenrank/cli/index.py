"""`evenrank index`: build the text index of a collection."""

from __future__ import annotations

import time
from pathlib import Path

import click

from evenrank.cli.options import DEVICE, ENCODER, POOLING, asked_session, encoder_settings, spark_options
from evenrank.cli.talk import say
from evenrank.parallel import n_cores


@click.command("index")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--engine",
    metavar="ADDRESS",
    help="Where the index lives.  [default: where it is already, or tantivy: a folder on this machine]",
)
@click.option("--threads", type=click.IntRange(min=1), help="Cores to use.  [default: all]")
@spark_options
@click.option("--dense", is_flag=True, help="Make text vectors of all pages too: pages are then found by meaning.")
@ENCODER
@POOLING
@DEVICE
def command(
    folder: Path,
    threads: int | None,
    engine: str | None,
    spark_master: str | None,
    spark_remote: str | None,
    spark_pairs: tuple[str, ...],
    dense: bool,
    encoder: Path | None,
    pooling: str | None,
    device: str | None,
) -> None:
    """Build the text index of the collection DIR from its corpus, under DIR/index.

    An interrupted build resumes where it stopped; a finished one is left as it is. Broken records are skipped and
    reported. With --dense (implied by --encoder, --pooling and --device), the models hybrid and learned also find
    pages by meaning; the vectors are kept beside the index, and an interrupted run resumes. With a --spark option, the
    executors of a Spark cluster prepare the pages of an index on OpenSearch; they see DIR under the same path.
    """
    from evenrank.io.faults import FaultLog
    from evenrank.retrieval.engine.engines import index_folder
    from evenrank.retrieval.engine.indexing import build_index
    from evenrank.trec.collection import Collection

    collection = Collection.open(folder)
    faults = FaultLog()
    spark = asked_session(spark_master, spark_remote, spark_pairs)
    cores = threads or n_cores()
    start = time.monotonic()
    opened = build_index(collection, faults, engine=engine, n_threads=cores, workers=cores, spark=spark)
    if report := faults.report():
        say(report)
    facts = opened.statistics()
    seconds = time.monotonic() - start
    click.echo(
        f"{index_folder(collection)}: {facts.n_pages:,} articles, {facts.size_bytes / 1e6:,.1f} MB, {seconds:.1f} s"
    )
    settings = encoder_settings(encoder, pooling, device)
    if dense or settings is not None:
        from evenrank.retrieval.encode.dense import encode_index

        vectors = encode_index(collection, settings)
        click.echo(f"{vectors.cache.path}: {len(vectors.cache):,} vectors; {vectors.cost}")
