"""Where results may be written: never over a collection's own files, and only where a file can be made."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

import click
import orjson

from evenrank.errors import ExistingFileError
from evenrank.trec.collection import Collection

STDOUT = Path("-")
"""Standard output."""
OWN = ("manifest.json", "manifest-waiting.json", "relevance-model.json", "desk.sqlite", "index", "source")
"""What a collection's folder holds, beside its data."""
ENTRIES_AT_ONCE = 10_000
"""Entries of a list, or rows of a table, that are written at once."""


OUTPUT_RUN = click.option(
    "-o",
    "--output",
    metavar="RUN",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    required=True,
    help="Run file, gzip by its ending; - is standard output.",
)
FORCE = click.option("--force", is_flag=True, help="Overwrite an existing file.")


def check_output(collection: Collection, *outputs: Path, replaceable: Path | None = None) -> None:
    """A usage error, before the work, when a result would overwrite a file of its collection or cannot be written.

    `replaceable` is the one of the collection's own files that the result is meant to be.
    """
    folder = collection.path.resolve()
    versions = (path.name for kind in ("data", "index") for path in folder.glob(f"{kind}-*"))
    own = {folder / name for name in (*OWN, *versions)}
    own -= {replaceable.resolve()} if replaceable else set()
    wrong = []
    for path in outputs:
        if path != STDOUT and any(path.resolve().is_relative_to(place) for place in own):
            wrong.append(f"{path} is a place of the collection's own files")
        elif not can_be_made(path):
            wrong.append(f"{path} cannot be written there")
    if wrong:
        raise click.BadParameter("; ".join(wrong), param_hint="-o")


def can_be_made(path: Path) -> bool:
    """Whether a file of that name can be made or replaced, as far as can be seen; a device is used as it is."""
    if path == STDOUT:
        return True
    if path.exists() and not path.is_file():
        return is_device(path)
    place = next(parent for parent in path.resolve().parents if parent.exists())
    return place.is_dir() and os.access(place, os.W_OK)


def is_device(path: Path) -> bool:
    """Whether a result goes to a device or a pipe (`/dev/stdout`), beside which no other file belongs."""
    return path == STDOUT or (path.exists() and not path.is_file() and not path.is_dir())


def refuse_existing(path: Path, *, force: bool) -> None:
    """ExistingFileError when a file would be overwritten; devices, pipes and `-` are written to as they are."""
    if not force and path != STDOUT and path.is_file():
        raise ExistingFileError(f"{path}: exists already (overwrite it with --force, or name another file)")


def refuse_foreign(folder: Path, *, force: bool) -> None:
    """ExistingFileError when a folder holds a collection or anything else, which would be overwritten."""
    if not force and folder.is_dir() and any(folder.iterdir()):
        what = "a collection" if (folder / "manifest.json").exists() else "files that are not a collection"
        raise ExistingFileError(f"{folder}: holds {what} (overwrite it with --force, or name another folder)")


def write_text(parts: Iterable[str], path: Path, *, force: bool) -> None:
    """A text, part by part, to a file, complete or not at all, or to standard output (`-`)."""
    from evenrank.io.atomic import atomic_file

    refuse_existing(path, force=force)
    if path == STDOUT:
        for part in parts:
            click.echo(part, nl=False)
        return
    with atomic_file(path) as file:
        file.writelines(part.encode() for part in parts)


def json_parts(data: Mapping[str, object], name: str, entries: Iterable[object]) -> Iterator[str]:
    """A JSON object, part by part, with the entries as its list `name`, which is empty in `data`; there may be many.

    It has the bytes of `orjson.dumps` with an indent of 2.
    """
    before, key, after = orjson.dumps(data, option=orjson.OPT_INDENT_2).decode().partition(f'\n  "{name}": []')
    listed = iter(entries)
    start = f"{before}{key[:-1]}"
    while some := list(islice(listed, ENTRIES_AT_ONCE)):
        text = orjson.dumps(some, option=orjson.OPT_INDENT_2).decode()[1:-2]
        yield start + text.replace("\n", "\n  ")
        start = ","
    yield (f"{before}{key}" if start != "," else "\n  ]") + f"{after}\n"
