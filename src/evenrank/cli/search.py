"""`evenrank search`: find articles by words, for all groups or for one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenrank.cli.model_options import chosen_model, model_options

if TYPE_CHECKING:
    from evenrank.search.engine.protocol import Engine, Restriction
    from evenrank.search.model_choice import ModelChoice
    from evenrank.search.query.explain import Explanation
    from evenrank.search.relevance import RelevanceModel, ScoredPages

CAUTION = "note: gender is incomplete and coarse data about people; use the result for totals only"
N_REASONS = 4
"""Words and features shown of each article in a table."""


@click.command("search")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("words", nargs=-1, required=True)
@click.option("-k", "n_pages", type=click.IntRange(min=1), default=20, show_default=True, help="Articles to show.")
@click.option("--geography", metavar="NAME", help="Only articles of this continent.")
@click.option("--gender", metavar="NAME", help="Only articles of this group; for totals, never about a person.")
@model_options
@click.option("--why", is_flag=True, help="Show the words, and with a model the features, that brought each article.")
@click.option("--format", "form", type=click.Choice(["table", "tsv", "json"]), default="table", show_default=True)
def command(
    folder: Path,
    words: tuple[str, ...],
    n_pages: int,
    geography: str | None,
    gender: str | None,
    model: str,
    encoder: Path | None,
    pooling: str | None,
    why: bool,
    form: str,
) -> None:
    """Find the articles of the collection DIR that WORDS describe."""
    from evenrank.cli.listing import print_listing
    from evenrank.collection.collection import Collection
    from evenrank.records import Topic
    from evenrank.search.engine.indexing import index_folder, open_index
    from evenrank.search.model_choice import UNTRAINED
    from evenrank.search.query.explain import explain_found
    from evenrank.search.query.restricted import answer

    collection = Collection.open(folder)
    engine = open_index(collection)
    allowed = restriction({"geography": geography, "gender": gender})
    choice = chosen_model(collection, model, encoder, pooling)
    if gender:
        click.echo(CAUTION, err=True)
    topic = Topic(0, " ".join(words))
    opened = open_model(engine, choice, n_pages, index_folder(collection))
    shown, found = answer(opened, topic, n_pages, allowed)
    reasons = explain_found(opened, topic, found, shown.page_ids.tolist()) if why else []
    rows = listing(engine, shown, has_probabilities=choice.kind == "learned")
    for row, reason in zip(rows, reasons, strict=False):
        row |= why_columns(reason, form, has_features=choice != UNTRAINED)
    if rows or form == "json":
        print_listing(rows, form)
    else:
        click.echo("nothing found", err=True)


def open_model(engine: Engine, choice: ModelChoice, n_pages: int, index_folder: Path) -> RelevanceModel:
    """The model over an index, with as many pages of each group as are to be shown."""
    from evenrank.search.query.candidates import CandidateSettings
    from evenrank.search.relevance import LexicalModel, SearchSettings

    groups = CandidateSettings(n_per_group=max(n_pages, CandidateSettings().n_per_group))
    return choice.open(LexicalModel(engine, SearchSettings(candidates=groups)), index_folder)


def listing(engine: Engine, shown: ScoredPages, *, has_probabilities: bool) -> list[dict[str, Any]]:
    """One row for each page."""
    titles = {page.page_id: page.title for page in engine.stored(shown.page_ids.tolist()) if page is not None}
    columns = (shown.page_ids.tolist(), shown.scores.tolist(), shown.probabilities.tolist())
    rows = []
    for rank, (page, score, probability) in enumerate(zip(*columns, strict=True), 1):
        row: dict[str, Any] = {"rank": rank, "page_id": page, "score": round(score, 4)}
        if has_probabilities:
            row["probability"] = round(probability, 4)
        rows.append({**row, "title": titles.get(page, "")})
    return rows


def why_columns(reason: Explanation, form: str, *, has_features: bool) -> dict[str, Any]:
    """Words and features of a page: all of them as data, the strongest as text."""
    words: Any = dict(reason.words)
    features: Any = dict(reason.features)
    if form != "json":
        words = ", ".join([f"{name} {value:.3f}" for name, value in reason.words][:N_REASONS])
        named = [f"{name} {value:+.2f}" for name, value in reason.features if name != "base"]
        features = ", ".join(named[:N_REASONS])
    return {"words": words, "features": features} if has_features else {"words": words}


def restriction(groups: dict[str, str | None]) -> Restriction:
    """The restriction to named groups; a usage error that lists the names when one is unknown."""
    from evenrank.alignment.dimensions import DIMENSIONS
    from evenrank.search.engine.protocol import Restriction

    masks = {}
    for name, group in groups.items():
        if group is None:
            continue
        try:
            masks[name] = DIMENSIONS[name].mask_of(group)
        except KeyError:
            known = ", ".join(DIMENSIONS[name].groups)
            raise click.BadParameter(f"unknown group {group!r}; choose from {known}", param_hint=f"--{name}") from None
    return Restriction(groups=masks)
