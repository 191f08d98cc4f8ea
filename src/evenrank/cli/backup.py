"""`evenrank backup`: the server's databases in one file."""

from __future__ import annotations

from pathlib import Path

import click

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("backup")
@click.argument("target", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--store", type=FILE, help="Lists and searches of the web app, e.g. DIR/desk.sqlite.")
@click.option("--judgments", type=FILE, help="Judgments file.")
def command(target: Path, store: Path | None, judgments: Path | None) -> None:
    """Copy the web app's store, the judgments or both into FILE, also while the server runs.

    Secret links are in it, so only its owner can read it. The collection is not: it is made from its sources by
    `evenrank collection import`.
    """
    from evenrank.web.storage.backup import write_backup

    databases = {kind: path for kind, path in (("store", store), ("judgments", judgments)) if path is not None}
    if not databases:
        raise click.UsageError("name what to back up: --store, --judgments or both")
    for entry in write_backup(target, databases):
        click.echo(f"{target}: {entry.kind}, {entry.size_bytes:,} bytes")
