"""`evenrank search`: find articles by words, for all groups or for one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from evenrank.search.engine import Restriction

CAUTION = "note: gender is incomplete and coarse data about people; use the result for totals only"


@click.command("search")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("words", nargs=-1, required=True)
@click.option("-k", "n_pages", type=click.IntRange(min=1), default=20, show_default=True, help="Articles to show.")
@click.option("--geography", metavar="NAME", help="Only articles of this continent.")
@click.option("--gender", metavar="NAME", help="Only articles of this group; for totals, never about a person.")
@click.option("--format", "form", type=click.Choice(["table", "tsv", "json"]), default="table", show_default=True)
def command(
    folder: Path, words: tuple[str, ...], n_pages: int, geography: str | None, gender: str | None, form: str
) -> None:
    """Find the articles of the collection DIR that WORDS describe."""
    from evenrank.cli.listing import print_listing
    from evenrank.collection.collection import Collection
    from evenrank.records import Topic
    from evenrank.search.indexing import open_index
    from evenrank.search.relevance import LexicalModel

    engine = open_index(Collection.open(folder))
    allowed = restriction({"geography": geography, "gender": gender})
    if gender:
        click.echo(CAUTION, err=True)
    terms = LexicalModel(engine).terms(Topic(0, " ".join(words)))
    hits = engine.search(terms, n_pages, allowed)
    titles = {page.page_id: page.title for page in engine.stored(hits.page_ids.tolist()) if page is not None}
    rows = [
        {"rank": rank, "page_id": page, "score": round(score, 4), "title": titles.get(page, "")}
        for rank, (page, score) in enumerate(zip(hits.page_ids.tolist(), hits.scores.tolist(), strict=True), 1)
    ]
    if rows or form == "json":
        print_listing(rows, form)
    else:
        click.echo("nothing found", err=True)


def restriction(groups: dict[str, str | None]) -> Restriction:
    """The restriction to named groups; a usage error that lists the names when one is unknown."""
    from evenrank.alignment.dimensions import DIMENSIONS
    from evenrank.search.engine import Restriction

    masks = {}
    for name, group in groups.items():
        if group is None:
            continue
        try:
            masks[name] = DIMENSIONS[name].mask_of(group)
        except KeyError:
            known = ", ".join(DIMENSIONS[name].groups)
            raise click.BadParameter(f"no group {group!r}; there are: {known}", param_hint=f"--{name}") from None
    return Restriction(groups=masks)
