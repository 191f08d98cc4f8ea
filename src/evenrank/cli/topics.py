"""`evenrank topics`: topics from the projects of a wiki."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import evenrank
from evenrank.cli.listing import echo_table
from evenrank.cli.options import SEED, FiniteRange, needs_wiki
from evenrank.cli.talk import say, warn

FILE = click.Path(dir_okay=False, path_type=Path)


@click.group("topics")
def command() -> None:
    """Topics in the official format, from the projects of a wiki."""


@command.command("make")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--corpus", type=FILE, help="The wiki's XML dump, or the track's corpus: the articles, for keywords.")
@click.option("--page-assessments", type=FILE, metavar="SQL", help="Dump of the table page_assessments (.sql, .gz).")
@click.option("--projects", type=FILE, metavar="SQL", help="Dump of the table page_assessments_projects.")
@click.option("--banners", is_flag=True, help="Projects by the banners on the talk pages of the dump.")
@click.option("--categories", is_flag=True, help="Categories of the dump as projects.")
@click.option("--api", metavar="URL", help="A running wiki's api.php; its projects are found by their banners.")
@click.option(
    "--contact",
    metavar="TEXT",
    default="",
    show_default=False,
    help="E-mail or web address that wikis ask for, with --api.",
)
@click.option("--prefix", default="WikiProject", help="What names of banners and projects begin with.")
@click.option("--depth", type=click.IntRange(0, 3), default=0, help="Levels of subcategories.")
@click.option("--topics", "n_topics", type=click.IntRange(min=1), default=100, help="Topics to make.")
@click.option("--held-out", type=FiniteRange(0.0, 1.0), default=0.5, help="Share of topics that are held out.")
@click.option("--min-pages", type=click.IntRange(min=1), default=20, help="Fewest pages of a project.")
@click.option("--recent", type=FiniteRange(0.0, 1.0), default=0.1, help="Share of taggings that are recent.")
@click.option("--min-recent", type=click.IntRange(min=0), default=1, help="Fewest recent taggings of a project.")
@click.option(
    "--max-overlap",
    type=FiniteRange(0.0, 1.0),
    default=0.5,
    help="Largest share of a project's pages that a more active one may have.",
)
@click.option("--keywords", "n_keywords", type=click.IntRange(min=1), default=10, help="Keywords each.")
@click.option("--only", multiple=True, metavar="TITLE", help="Choose from this project; may be repeated.")
@click.option("--seed", type=SEED, default=0, help="Same seed, same bytes.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes that read the corpus.  [default: this one]")
def make_command(
    folder: Path,
    corpus: Path | None,
    page_assessments: Path | None,
    projects: Path | None,
    banners: bool,
    categories: bool,
    api: str | None,
    contact: str,
    workers: int | None,
    **chosen: Any,
) -> None:
    """Make topics in FOLDER from the projects of a wiki, as the track made its training topics.

    Projects come from the tables of the extension PageAssessments (--page-assessments, --projects), from banners on
    talk pages (--banners, or --api for a running wiki), or from categories (--categories). Import the files with
    `collection import --topics FOLDER/trec_topics.json.gz --eval-topics FOLDER/eval-topics-with-qrels.json.gz`.
    """
    if (page_assessments is not None) + banners + categories > 1:
        raise click.UsageError("choose one of --page-assessments, --banners and --categories")
    with needs_wiki():
        made = evenrank.make_topics(
            folder,
            corpus=corpus,
            page_assessments=page_assessments,
            projects=projects,
            source="categories" if categories else "banners" if banners or api else "assessments",
            api=api,
            contact=contact,
            settings=evenrank.TopicSettings(**chosen),
            workers=workers,
        )
    for note in made.notes:
        warn(note)
    rows = [
        [topic.id, topic.split, topic.title, f"{len(topic.rel_docs):,}", ", ".join(topic.keywords[:5])]
        for topic in sorted(made.topics, key=lambda topic: topic.id)
    ]
    echo_table(["id", "split", "title", "pages", "keywords"], rows)
    counts = made.counts
    say(
        f"{made.path}: {counts['chosen']:,} topics from {counts['projects']:,} projects ({counts['large']:,} large "
        f"enough, {counts['active']:,} of these active, {counts['overlapping']:,} left out as parts of others)"
    )
