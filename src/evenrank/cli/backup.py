"""`evenrank backup`: the server's databases in one file."""

from __future__ import annotations

from pathlib import Path

import click

from evenrank.cli.options import STORE


@click.command("backup")
@click.argument("target", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--store", type=STORE, metavar="FILE|URL", help="Lists and searches, e.g. DIR/desk.sqlite.")
@click.option("--judgments", type=STORE, metavar="FILE|URL", help="Judgments.")
def command(target: Path, store: Path | str | None, judgments: Path | str | None) -> None:
    """Copy the web app's store, the judgments or both into FILE, also while the server runs.

    Of a PostgreSQL database (postgresql://USER@HOST/NAME), FILE has the same content as of an SQLite file, so that
    either can be restored to the other. Secret links are in it, so only its owner can read it. The collection is not:
    it is made from its sources by `evenrank collection import`.
    """
    from evenrank.app.storage.backup import write_backup

    databases = {kind: path for kind, path in (("store", store), ("judgments", judgments)) if path is not None}
    if not databases:
        raise click.UsageError("name what to back up: --store, --judgments or both")
    for entry in write_backup(target, databases):
        click.echo(f"{target}: {entry.kind}, {entry.size_bytes:,} bytes")
