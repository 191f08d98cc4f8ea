"""`evenrank search`: find articles by words, for all groups or for one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

import evenrank
from evenrank.cli.listing import print_listing
from evenrank.cli.options import ModelOptions, model_options
from evenrank.cli.talk import say
from evenrank.core.settings import read_pairs
from evenrank.trec.dimensions import DIMENSIONS

if TYPE_CHECKING:
    from evenrank.retrieval.find import Explanation

Command = TypeVar("Command", bound=Callable[..., Any])

CAUTION = "note: data about people are incomplete and coarse; use the result for totals only"
N_REASONS = 4
"""Words and features shown of each article in a table."""


def group_options(command: Command) -> Command:
    """Add an option for each dimension: only articles of one of its groups."""
    own = "Only articles of this group of a dimension, such as a collection's own; may be repeated."
    command = click.option("--group", "pairs", metavar="DIMENSION=NAME", multiple=True, help=own)(command)
    for name, dimension in reversed(list(DIMENSIONS.items())):
        text = f"Only articles of this group: {', '.join(dimension.groups[1:4])}, …"
        if name == "gender":
            text = "Only articles of this group; for totals, never about a person."
        command = click.option(f"--{name}", name.replace("-", "_"), metavar="NAME", help=text)(command)
    return command


@click.command("search")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("words", nargs=-1, required=True)
@click.option("-k", "n_pages", type=click.IntRange(min=1), default=20, show_default=True, help="Articles to show.")
@group_options
@model_options
@click.option("--why", is_flag=True, help="Show the words, and with a model the features, that brought each article.")
@click.option("--format", "form", type=click.Choice(["table", "tsv", "json"]), default="table", show_default=True)
def command(
    folder: Path,
    words: tuple[str, ...],
    n_pages: int,
    model: ModelOptions,
    why: bool,
    form: str,
    pairs: tuple[str, ...],
    **groups: str | None,
) -> None:
    """Find the articles of the collection DIR that WORDS describe."""
    collection = evenrank.Collection.open(folder)
    choice = model.choose(collection)
    wanted = {name: group for name in DIMENSIONS if (group := groups[name.replace("-", "_")]) is not None}
    wanted |= read_pairs(pairs, "--group")
    if any(name in wanted and dimension.is_personal for name, dimension in collection.known_dimensions.items()):
        say(CAUTION)
    found = evenrank.search(collection, words, n_pages, groups=wanted, model=choice, why=why)
    rows = list(found.rows)
    for row, reason in zip(rows, found.reasons, strict=False):
        row |= why_columns(reason, form, has_features=choice.kind != "untrained")
    if rows or form == "json":
        print_listing(rows, form)
    else:
        say("nothing found")


def why_columns(reason: Explanation, form: str, *, has_features: bool) -> dict[str, Any]:
    """Words and features of a page: all of them as data, the strongest as text."""
    words: Any = dict(reason.words)
    features: Any = dict(reason.features)
    if form != "json":
        words = ", ".join([f"{name} {value:.3f}" for name, value in reason.words][:N_REASONS])
        named = [f"{name} {value:+.2f}" for name, value in reason.features if name != "base"]
        features = ", ".join(named[:N_REASONS])
    return {"words": words, "features": features} if has_features else {"words": words}
