"""`evenrank sync`: a collection follows a wiki."""

from __future__ import annotations

import importlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import orjson

import evenrank
from evenrank.cli.options import Duration, NamedPath, needs_wiki
from evenrank.cli.talk import say


@click.command("sync")
@click.argument("folder", type=NamedPath(path_type=Path))
@click.option("--wiki", metavar="URL", required=True, help="The wiki's address, e.g. https://en.wikipedia.org/")
@click.option("--api", metavar="URL", help="Address of its api.php.  [default: below the wiki's address]")
@click.option("--contact", required=True, help="Your e-mail or web address; every request to the wiki carries it.")
@click.option("--every", "every_seconds", type=Duration(), default="1h", help="Time between updates: 30m, 1h, 1d.")
@click.option("--since", metavar="TIME", help="First change to take.  [default: where the last run ended]")
@click.option("--most", type=click.IntRange(min=500), default=50_000, help="Pages of one update.")
@click.option("--rounds", "n_rounds", type=click.IntRange(min=1), help="End after so many updates.  [default: never]")
@click.option("--metrics", type=NamedPath(path_type=Path), help="Keep metrics for Prometheus in this text file.")
def command(folder: Path, wiki: str, api: str | None, contact: str, metrics: Path | None, **options: Any) -> None:
    """Keep the collection FOLDER up to date with the articles of a wiki; metadata stay as they are.

    Prints a JSON line after each update. A run that was stopped resumes where it was. While the wiki has more changes
    than --most, updates follow each other without a pause; a wiki that is busy or unreachable is asked again later.
    """
    from evenrank.wikipedia.mediawiki.settings import WikiSettings, api_of

    with needs_wiki():
        follow = evenrank.sync
        if metrics is not None:
            importlib.import_module("prometheus_client")
    follow(
        folder,
        WikiSettings(api or api_of(wiki), contact),
        metrics=metrics,
        report=lambda state: click.echo(orjson.dumps(asdict(state)).decode()),
        warn=lambda text: say(f"note: {text}"),
        **options,
    )
