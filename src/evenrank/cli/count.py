"""`evenrank count`: how many pages of a topic are relevant, from a few judged ones."""

from __future__ import annotations

from pathlib import Path

import click

import evenrank
from evenrank.cli.listing import print_listing
from evenrank.cli.options import ModelOptions, model_options
from evenrank.cli.rank import FILE, FOLDER, TOPICS


@click.command("count")
@click.argument("folder", metavar="DIR", type=FOLDER)
@TOPICS
@click.option(
    "--query",
    metavar="WORDS",
    default="",
    show_default=False,
    help="Count for this subject instead, as `rank --query` does.",
)
@click.option("--title", default="", show_default=False, help="Title of the subject of --query.  [default: its words]")
@click.option("--judged", type=FILE, help="Judged pages of the topics, as qrels: topic, 0, page, grade.")
@click.option("--project-size", type=click.IntRange(min=1), help="Pages of the topic's project or category, if known.")
@model_options
@click.option("--format", "form", type=click.Choice(["table", "tsv", "json"]), default="table", show_default=True)
def command(
    folder: Path,
    topics: tuple[str, ...],
    query: str,
    title: str,
    judged: Path | None,
    project_size: int | None,
    model: ModelOptions,
    form: str,
) -> None:
    """Estimate how many pages of each topic are relevant in the collection DIR, found or not.

    The interval (low, high) contains the true number for about four topics in five. Judge the page in the last columns,
    add a line to the file of --judged, and repeat: 10 to 20 judged pages a topic are enough. `rank --judged` then uses
    the file.
    """
    collection = evenrank.Collection.open(folder)
    counts = evenrank.count_relevant(
        collection,
        topics,
        query=query,
        title=title,
        judged=judged,
        project_size=project_size,
        model=model.choose(collection),
    )
    pages = [one.next_page for one in counts if one.next_page is not None]
    titles = dict(zip(pages, collection.titles_of(pages), strict=True))
    rows = [
        {
            "topic": one.topic_id,
            "title": one.title,
            "relevant": round(one.n_relevant.median),
            "low": round(one.n_relevant.low),
            "high": round(one.n_relevant.high),
            "judged": one.n_judged,
            "page_id": "" if one.next_page is None else collection.shown_id(one.next_page),
            "rank": one.next_rank or "",
            "page_title": titles.get(one.next_page, "") if one.next_page is not None else "",
        }
        for one in counts
    ]
    print_listing(rows, form)
