"""The lock of a collection folder: one writer at a time, and a new data folder for each import."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from evenrank.errors import EvenrankError, input_error, reason_of
from evenrank.io.locking import LOCK_NAME, no_leases, only_writer
from evenrank.trec.manifest import Manifest, read_manifest


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """A block in which no other process writes the collection; a folder that is made here goes if it stays empty."""
    _refuse_file(folder)
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with only_writer(folder / LOCK_NAME, folder):
            yield
    except OSError as error:
        found = f"could not be written: {reason_of(error)}"
        raise input_error(folder, 0, found, "make room or name another folder; nothing was changed") from error
    finally:
        with suppress(OSError):
            for parent in made:
                parent.rmdir()


def _refuse_file(folder: Path) -> None:
    if folder.is_file():
        raise input_error(folder, 0, "a file, where a folder was expected", "name another folder")


def previous_manifest(folder: Path) -> Manifest | None:
    """The manifest of what is there; None without a collection, or with one that cannot be read."""
    try:
        return read_manifest(folder)
    except EvenrankError:
        return None


def new_data_folder(folder: Path) -> Path:
    try:
        for left in folder.glob(".data-*.tmp"):
            shutil.rmtree(left, ignore_errors=True)
        return Path(tempfile.mkdtemp(prefix=".data-", suffix=".tmp", dir=folder))
    except OSError as error:
        raise input_error(folder, 0, f"could not be made: {reason_of(error)}", "name another folder") from error


def next_data_folder(folder: Path, previous: Manifest | None) -> Path:
    """The next data folder of the collection; anything there that is not ours stays."""
    last = previous.data_folder.removeprefix("data-") if previous is not None else ""
    numbers = count(int(last) + 1 if last.isdecimal() else 1)
    return next(path for number in numbers if not (path := folder / f"data-{number}").exists())


def remove_old_data(folder: Path, kept: str) -> None:
    """Remove what earlier imports made, and nothing else that has such a name.

    What a reader still has open stays until the next import. A folder is renamed first: if the removal is killed, the
    next import knows the rest by its name.
    """
    for old in folder.glob("data-*"):
        is_ours = old.name.removeprefix("data-").isdecimal() and (old / "page_ids.npy").exists()
        if is_ours and old.name != kept:
            with suppress(OSError), no_leases(old) as is_free:
                if is_free:
                    doomed = folder / f".{old.name}.tmp"
                    os.replace(old, doomed)
                    shutil.rmtree(doomed, ignore_errors=True)
