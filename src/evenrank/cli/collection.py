"""`evenrank collection`: generate, import, download and describe collections."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
import orjson

import evenrank
from evenrank.cli.options import SEED, InputFile, NamedPath
from evenrank.cli.outputs import FORCE, refuse_foreign
from evenrank.cli.talk import say
from evenrank.parallel import n_cores
from evenrank.trec.own_dimension import OPTION_FORM

FILE = NamedPath(path_type=Path)
INPUT = InputFile()


@click.group("collection")
def command() -> None:
    """Make, import, download and describe collections."""


def _warn(text: str) -> None:
    say(f"note: {text}")


@command.command("import")
@click.argument("folder", type=FILE)
@click.option(
    "--metadata",
    type=INPUT,
    help="Page metadata, JSON lines (trec_metadata.json.gz, trec_2022_articles_discrete.json.gz).",
)
@click.option(
    "--ir-dataset",
    metavar="NAME",
    help="Official files by their name in ir_datasets (trec-fair/2021/eval), from its cache or downloaded into it.",
)
@click.option("--text/--no-text", default=True, help="Whether to take the articles of --ir-dataset as well.")
@click.option("--topics", type=INPUT, help="Training topics (trec_topics.json.gz, trec_2022_train_reldocs.jsonl).")
@click.option(
    "--eval-topics",
    type=INPUT,
    multiple=True,
    help="Evaluation topics, with judgments or with keywords; may be given twice, once for each file.",
)
@click.option("--qrels", type=INPUT, multiple=True, help="Judgments in four columns: topic, 0, page, grade.")
@click.option("--corpus", type=FILE, help="Articles: the track's corpus, or a MediaWiki XML dump.")
@click.option("--language", metavar="CODE", help="Language of the articles.  [default: what a dump says, else en]")
@click.option(
    "--date", metavar="DATE", help="When the data were taken, e.g. 2021-10-01.  [default: as the sources say]"
)
@click.option(
    "--page-views", type=INPUT, help="How often pages were read: page id or title, views; or Wikimedia's counts."
)
@click.option("--subjects", type=INPUT, help="Subjects without an article, from `annotate --subjects` or a query.")
@click.option(
    "--dimension",
    "dimensions",
    metavar=OPTION_FORM,
    multiple=True,
    help="A dimension of your own: its name, the metadata field with its groups, and a TOML file with the share of "
    "each group; may be repeated.",
)
def import_command(
    folder: Path,
    metadata: Path | None,
    ir_dataset: str | None,
    text: bool,
    topics: Path | None,
    eval_topics: tuple[Path, ...],
    qrels: tuple[Path, ...],
    corpus: Path | None,
    language: str | None,
    date: str | None,
    page_views: Path | None,
    subjects: Path | None,
    dimensions: tuple[str, ...],
) -> None:
    """Make the collection FOLDER from official files (or your own in the same formats).

    Files of 2021 and of 2022 are taken as they are. Judgments of --qrels replace those of the topic files; a topic that
    no file names is an evaluation topic. Sizes, checksums and counts are compared with those of the track. An import
    that fails or is killed leaves the old collection, or none.
    """
    from evenrank.trec.describe import table_text

    if corpus == Path("-"):
        raise click.UsageError("--corpus cannot be standard input: `evenrank index` reads it later (name a file)")
    if ir_dataset is not None:
        named = evenrank.ir_dataset_files(ir_dataset, metadata=metadata, with_text=text and corpus is None)
    elif metadata is not None:
        named = evenrank.ImportFiles(metadata=metadata)
    else:
        raise click.UsageError("name the pages: --metadata FILE, or --ir-dataset NAME")
    files = replace(
        named,
        topics=topics or named.topics,
        eval_topics=eval_topics or named.eval_topics,
        corpus=corpus or named.corpus,
        qrels=qrels,
        language=language,
        dimensions=tuple(map(evenrank.read_dimension, dimensions)),
        date=date,
        page_views=page_views,
        subjects=subjects,
    )
    collection = evenrank.import_collection(folder, files, warn=_warn, workers=n_cores())
    click.echo(table_text(collection))


@command.command("describe")
@click.argument("folder", type=FILE)
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def describe_command(folder: Path, form: str) -> None:
    """Print what FOLDER holds: counts, groups, quality, topics, sources. Groups of people only as totals."""
    from evenrank.trec.describe import describe_collection, table_text

    collection = evenrank.Collection.open(folder)
    if form == "json":
        click.echo(orjson.dumps(describe_collection(collection), option=orjson.OPT_INDENT_2).decode())
    else:
        click.echo(table_text(collection))


@command.command("generate")
@click.argument("folder", type=FILE)
@click.option("--pages", type=click.IntRange(min=100), default=20_000, show_default=True, help="Articles.")
@click.option("--topics", type=click.IntRange(min=1), default=48, show_default=True, help="Half of them for training.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Same seed, same bytes.")
@FORCE
@click.option("--text/--no-text", default=True, show_default=True, help="Write the articles, or metadata alone.")
@click.option("--world", metavar="NAME", default="usual", show_default=True, help="The world: usual or track-2021.")
@click.option("--train-relevant", type=float, metavar="N", help="Relevant pages of a training topic, on average.")
@click.option("--eval-relevant", type=float, metavar="N", help="Relevant pages of an evaluation topic, on average.")
@click.option(
    "--retrieval-bias",
    multiple=True,
    metavar="GROUP=LOGITS",
    help="How much more (below 0: less) the articles of a group show what they are about; may be repeated.",
)
@click.option("--noise", type=float, metavar="LOGITS", help="Standard deviation of what articles show.")
@click.option(
    "--unknown",
    multiple=True,
    metavar="[GROUP=]SHARE",
    help="Pages whose metadata lack their group, of all or of one group; may be repeated.",
)
def generate_command(
    folder: Path,
    pages: int,
    topics: int,
    seed: int,
    force: bool,
    text: bool,
    world: str,
    train_relevant: float | None,
    eval_relevant: float | None,
    retrieval_bias: tuple[str, ...],
    noise: float | None,
    unknown: tuple[str, ...],
) -> None:
    """Make a synthetic collection in FOLDER: official-format files under source/, then imported.

    People, places and articles are made up; groups and quality are mixed as in the published counts. `--world` names a
    set of the options below it, which change it where they are given.
    """
    from evenrank.errors import Collected
    from evenrank.trec.describe import table_text
    from evenrank.trec.generate.settings import read_group_values, world_settings

    refuse_foreign(folder, force=force)
    faults = Collected()
    given = {
        "train_relevant": train_relevant,
        "eval_relevant": eval_relevant,
        "retrieval_bias": faults.check(lambda: read_group_values(retrieval_bias, "--retrieval-bias")) or None,
        "noise": noise,
        "unknown": faults.check(lambda: read_group_values(unknown, "--unknown", for_all=True)) or None,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    settings = faults.check(
        lambda: world_settings(world, n_pages=pages, n_topics=topics, seed=seed, with_text=text, **chosen)
    )
    faults.raise_any()
    click.echo(table_text(evenrank.generate_collection(folder, settings, workers=n_cores())))


@command.command("download")
@click.argument("folder", type=FILE)
@click.option("--source", help="Address to download from.  [default: the one that the paper gives]")
@click.option("--only", multiple=True, metavar="NAME", help="Download this file alone; may be repeated.")
@click.option(
    "--year", type=click.Choice(["2021", "2022"]), default="2021", show_default=True, help="Year of the track."
)
def download_command(folder: Path, source: str | None, only: tuple[str, ...], year: str) -> None:
    """Download the track's files into FOLDER; broken downloads are resumed, sizes and checksums are checked."""
    from evenrank.trec.download import download_collection

    for path in download_collection(folder, source, only, int(year), _warn):
        click.echo(path)
