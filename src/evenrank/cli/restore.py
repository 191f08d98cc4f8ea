"""`evenrank restore`: databases of the server from a backup."""

from __future__ import annotations

from pathlib import Path

import click

from evenrank.cli.options import NEW_STORE, InputFile


@click.command("restore")
@click.argument("source", metavar="FILE", type=InputFile(exists=True))
@click.option("--store", type=NEW_STORE, metavar="FILE|URL", help="Where lists and searches of the web app go.")
@click.option("--judgments", type=NEW_STORE, metavar="FILE|URL", help="Where judgments go.")
@click.option("--force", is_flag=True, help="Replace an existing store.")
def command(source: Path, store: Path | str | None, judgments: Path | str | None, force: bool) -> None:
    """Put back what `evenrank backup` saved in FILE, after checking all of it. Stop the server first.

    Without --store and --judgments, it says what FILE contains.
    """
    from evenrank.app.storage.backup import read_contents, restore_backup
    from evenrank.database.database import shown_location

    targets = {kind: path for kind, path in (("store", store), ("judgments", judgments)) if path is not None}
    if not targets:
        for entry in read_contents(source):
            click.echo(f"{source}: {entry.kind}, {entry.size_bytes:,} bytes")
        return
    for entry in restore_backup(source, targets, replace=force):
        click.echo(f"{shown_location(targets[entry.kind])}: {entry.size_bytes:,} bytes")
