"""`evenrank collection`: generate, import, download and describe collections."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import evenrank
from evenrank.cli.listing import FORMAT, echo_json
from evenrank.cli.options import SEED, Duration, InputFile, NamedPath, needs_wiki
from evenrank.cli.outputs import FORCE, refuse_foreign
from evenrank.cli.talk import say
from evenrank.io.work_report import reported
from evenrank.parallel import n_cores
from evenrank.trec.dimensions import OPTION_FORM
from evenrank.trec.manifest import FILE_NAME

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
@click.option("--at-once", is_flag=True, help="Use the new data at once, without an index until one is built.")
def import_command(
    folder: Path,
    metadata: Path | None,
    ir_dataset: str | None,
    text: bool,
    corpus: Path | None,
    dimensions: tuple[str, ...],
    at_once: bool,
    **others: Any,
) -> None:
    """Make the collection FOLDER from official files (or your own in the same formats).

    Files of 2021 and of 2022 are taken as they are. Judgments of --qrels replace those of the topic files; a topic that
    no file names is an evaluation topic. Sizes, checksums and counts are compared with those of the track. An import
    that fails or is killed leaves the old collection, or none.

    With --qrels alone, a collection that is there keeps all but the judgments of the topics that FILE names.

    A collection that has an index keeps its data and index in use until `evenrank index` has indexed the new articles,
    and then changes to both in one step. Where pages and texts stay the same, so does the index, and the change is
    immediate.
    """
    from evenrank.trec.describe import table_text

    if corpus == Path("-"):
        raise click.UsageError("--corpus cannot be standard input: `evenrank index` reads it later (name a file)")
    asked = {"corpus": corpus, "dimensions": tuple(map(evenrank.read_dimension, dimensions)), **others}
    given = {name: value for name, value in asked.items() if value not in (None, ())}
    if ir_dataset is not None:
        named = evenrank.ir_dataset_files(ir_dataset, metadata=metadata, with_text=text and corpus is None)
    elif metadata is not None:
        named = evenrank.ImportFiles(metadata=metadata)
    elif set(given) == {"qrels"} and (folder / FILE_NAME).exists():
        with reported(folder, "collection import"):
            click.echo(table_text(evenrank.replace_judgments(folder, given["qrels"], warn=_warn)))
        return
    else:
        fix = "a collection that is there takes other judgments with --qrels FILE alone"
        raise click.UsageError(f"name the pages: --metadata FILE, or --ir-dataset NAME ({fix})")
    files = replace(named, **given)
    with reported(folder, "collection import"):
        collection = evenrank.import_collection(folder, files, warn=_warn, workers=n_cores(), at_once=at_once)
    click.echo(table_text(collection))


@command.command("update")
@click.argument("folder", type=FILE)
@click.option("--changes", type=INPUT, required=True, help="JSON lines: pages and topics to add, replace or delete.")
@click.option(
    "--date", metavar="DATE", help="Date of the data after the changes, e.g. 2026-11-18.  [default: as before]"
)
def update_command(folder: Path, changes: Path, date: str | None) -> None:
    """Apply changes to the collection FOLDER, its index and its vectors, in one step.

    Each line of the changes adds, replaces or deletes a page or a topic (docs: Updates). The result is that of
    importing and indexing the changed pages, at the cost of those pages; servers and searches have the earlier version
    until the new one is complete. After a failure or a kill, give the same command again.
    """
    with reported(folder, "collection update"):
        done = evenrank.update_collection(folder, changes, date=date, warn=_warn)
    click.echo(done)


@command.command("changes")
@click.argument("editions", metavar="[OLD NEW]", type=FILE, nargs=-1)
@click.option("--old-metadata", type=INPUT, help="Metadata of the old edition.")
@click.option("--new-metadata", type=INPUT, help="Metadata of the new edition.")
@click.option("--wiki", metavar="URL", help="Read changes from this wiki, e.g. https://en.wikipedia.org/")
@click.option("--api", metavar="URL", help="Address of its api.php.  [default: below the wiki's address]")
@click.option("--contact", help="Your e-mail or web address; every request to the wiki carries it.")
@click.option("--since", metavar="TIME", help="Changes of the wiki since then, at most 29 days ago.")
@click.option("--events", type=INPUT, help="MediaWiki's events instead: recentchange or page_change, or - for a pipe.")
@click.option("--wiki-name", metavar="NAME", help="Name of the wiki whose events are wanted, e.g. enwiki.")
@click.option("--collection", type=FILE, help="Delete only pages of this collection, by their titles, too.")
@click.option("-o", "--output", type=FILE, required=True, help="File of changes; - is standard output.")
def changes_command(
    editions: tuple[Path, ...],
    old_metadata: Path | None,
    new_metadata: Path | None,
    wiki: str | None,
    api: str | None,
    contact: str | None,
    since: str | None,
    events: Path | None,
    wiki_name: str | None,
    collection: Path | None,
    output: Path,
) -> None:
    """Write the changes between two editions, or of a wiki, for `evenrank collection update`.

    OLD and NEW are corpora, dumps (MediaWiki XML, Cirrus search) or collections; metadata are compared as well if both
    editions name theirs, or alone. Changes of a wiki come from its API (--since) or from its events (--events), and
    have the texts that the pages have now.
    """
    if wiki is None:
        if len(editions) not in (0, 2) or not (editions or (old_metadata and new_metadata)):
            raise click.UsageError("name two editions OLD NEW, or --old-metadata and --new-metadata, or --wiki URL")
        old, new = editions or (None, None)
        counts = evenrank.compare_editions(
            evenrank.Edition(old, old_metadata), evenrank.Edition(new, new_metadata), output, _warn
        )
        say(str(counts))
        return
    if editions or (since is None) == (events is None) or contact is None:
        raise click.UsageError("--wiki needs --contact and either --since or --events, and no editions")
    _write_wiki_changes(api, wiki, contact, since, events, wiki_name, collection, output)


def _write_wiki_changes(
    api: str | None,
    wiki: str,
    contact: str,
    since: str | None,
    events: Path | None,
    wiki_name: str | None,
    collection: Path | None,
    output: Path,
) -> None:
    from evenrank.io.atomic import atomic_file
    from evenrank.wikipedia.mediawiki.settings import WikiSettings, api_of

    with needs_wiki():
        from evenrank.trec.wiki_changes import changed_since, read_events, write_wiki_changes
        from evenrank.wikipedia.mediawiki.client import WikiClient

    opened = None if collection is None else evenrank.Collection.open(collection)
    found = None if events is None else read_events(events, wiki_name)
    with WikiClient(WikiSettings(api or api_of(wiki), contact)) as client:
        changed = changed_since(client, str(since)) if found is None else found
        with atomic_file(output) as file:
            n_lines = write_wiki_changes(client, changed, opened, file.write)
    until = f" up to {changed.until}" if changed.until else ""
    say(f"{n_lines:,} changes{until}" + ("" if changed.is_all else "; the wiki has more: use --since with that time"))


KEEP = click.option("--keep", type=click.IntRange(min=1), default=3, help="Releases that stay.")


@command.command("pack")
@click.argument("folder", type=FILE)
@click.argument("releases", type=FILE)
@click.option("--corpus/--no-corpus", default=True, help="Include the articles in the release.")
@KEEP
def pack_command(folder: Path, releases: Path, corpus: bool, keep: int) -> None:
    """Put the collection FOLDER, as it is in use, into the folder RELEASES as its current release.

    A folder of releases can be copied, mounted read-only, or put behind a web server; `serve` and all other commands
    that only read open it as they open a collection. Every file has its size and SHA-256 in `release-N.json`. Servers
    on RELEASES, and copies that `collection fetch --every` renews, change to the new release by themselves.
    """
    release = evenrank.pack_collection(folder, releases, keep=keep, with_corpus=corpus)
    click.echo(f"{releases}: {release}")
    if release.on_cluster:
        say(f"note: the index itself stays on {release.on_cluster}; the release only names it")


@command.command("fetch")
@click.argument("source", metavar="SOURCE")
@click.argument("folder", type=FILE)
@KEEP
@click.option("--every", type=Duration(), help="Fetch again and again, after 30s, 5m or 1h.  [default: once]")
def fetch_command(source: str, folder: Path, keep: int, every: float | None) -> None:
    """Copy the current release of SOURCE, a folder of releases or its http(s) address, into FOLDER.

    Every byte is checked. An interrupted fetch resumes, and files of an earlier release are not fetched again. Servers
    on FOLDER change to the release when all of it is there.
    """
    if every is None:
        click.echo(f"{folder}: {evenrank.fetch_release(source, folder, keep=keep)}")
        return
    evenrank.follow_releases(
        source,
        folder,
        every_seconds=every,
        keep=keep,
        report=lambda release: click.echo(f"{folder}: {release}"),
        warn=_warn,
    )


@command.command("rollback")
@click.argument("releases", type=FILE)
@click.option("--to", type=click.IntRange(min=1), metavar="N", help="Number of a release.  [default: the one before]")
def rollback_command(releases: Path, to: int | None) -> None:
    """Make an earlier release of the folder RELEASES the current one, for all servers that follow it."""
    click.echo(f"{releases}: {evenrank.roll_back(releases, to)}")


@command.command("describe")
@click.argument("folder", type=FILE)
@FORMAT
def describe_command(folder: Path, form: str) -> None:
    """Print what FOLDER contains: counts, groups, quality, topics, sources. Groups of people only as totals."""
    from evenrank.trec.describe import describe_collection, table_text

    collection = evenrank.Collection.open(folder)
    if form == "json":
        echo_json(describe_collection(collection))
    else:
        click.echo(table_text(collection))


@command.command("generate")
@click.argument("folder", type=FILE)
@click.option("--pages", "n_pages", type=click.IntRange(min=100), default=20_000, help="Articles.")
@click.option("--topics", "n_topics", type=click.IntRange(min=1), default=48, help="Half of them for training.")
@click.option("--seed", type=SEED, default=0, help="Same seed, same bytes.")
@FORCE
@click.option("--text/--no-text", "with_text", default=True, help="Write the articles, or metadata alone.")
@click.option("--world", metavar="NAME", default="usual", help="The world: usual or track-2021.")
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
    folder: Path, world: str, force: bool, retrieval_bias: tuple[str, ...], unknown: tuple[str, ...], **others: Any
) -> None:
    """Make a synthetic collection in FOLDER: official-format files under source/, then imported.

    People, places and articles are made up; groups and quality are mixed as in the published counts. `--world` sets
    the options below it; those that you give yourself replace its values.
    """
    from evenrank.errors import Collected
    from evenrank.trec.describe import table_text
    from evenrank.trec.generate.settings import read_group_values, world_settings

    refuse_foreign(folder, force=force)
    faults = Collected()
    given = {
        "retrieval_bias": faults.check(lambda: read_group_values(retrieval_bias, "--retrieval-bias")) or None,
        "unknown": faults.check(lambda: read_group_values(unknown, "--unknown", for_all=True)) or None,
        **others,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    settings = faults.check(lambda: world_settings(world, **chosen))
    faults.raise_any()
    click.echo(table_text(evenrank.generate_collection(folder, settings, workers=n_cores())))


@command.command("download")
@click.argument("folder", type=FILE)
@click.option("--source", help="Address to download from.  [default: the one that the paper gives]")
@click.option("--only", multiple=True, metavar="NAME", help="Download this file alone; may be repeated.")
@click.option("--year", type=click.Choice(["2021", "2022"]), default="2021", help="Year of the track.")
def download_command(folder: Path, source: str | None, only: tuple[str, ...], year: str) -> None:
    """Download the track's files into FOLDER; broken downloads are resumed, sizes and checksums are checked."""
    from evenrank.trec.download import download_collection

    for path in download_collection(folder, source, only, int(year), _warn):
        click.echo(path)
