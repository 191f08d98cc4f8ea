"""A judgments file: votes in an SQLite file or in PostgreSQL, safe for many threads and processes at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from evenrank.database.database import Database, Location, is_database_address, open_database
from evenrank.database.schema import Schema
from evenrank.database.sqlite import WAIT_SECONDS
from evenrank.errors import DamagedStoreError, EvenrankError, input_error
from evenrank.io.atomic import remove_stale, sync_folder, sync_tree, temporary_folder

Store = Database
"""An open judgments file."""

MAX_GRADE = 3
"""The finest scale of relevance: not, marginally, fairly, highly relevant."""


def create_store(location: Location, seed: int = 0) -> Store:
    """A new, empty judgments file; opens the one that is there."""
    return open_database(location, judgments_schema(seed), may_create=True)


@contextmanager
def filled_store(location: Location, seed: int = 0) -> Iterator[Store]:
    """The judgments file at a location, to add to; a new file appears when the block ends well, with what was added.

    It is made beside its place. Whoever makes one of that name meanwhile keeps it, and this one is given up.
    """
    if is_database_address(location) or Path(location).exists():
        if not is_database_address(location):
            remove_stale(Path(location))
        with create_store(location, seed) as store:
            yield store
        return
    path = Path(location)
    with temporary_folder(path) as folder:
        fresh = folder / path.name
        with create_store(fresh, seed) as store:
            yield store
        sync_tree(folder)
        try:
            os.link(fresh, path)
        except FileExistsError as error:
            raise input_error(path, 0, "another process has just made it", "run the command again") from error
        except OSError:  # a file system without such links
            os.replace(fresh, path)
        sync_folder(path.parent)


def open_store(location: Location, wait_seconds: float = WAIT_SECONDS) -> Store:
    """The judgments file at a location."""
    return open_database(location, judgments_schema(), wait_seconds=wait_seconds)


def seed_of(store: Store) -> int:
    """The start of all shuffling and sampling in this file."""
    row = store.connection.execute("SELECT value FROM setting WHERE name = 'seed'").fetchone()
    try:
        return int(row[0])
    except (TypeError, ValueError) as error:
        raise DamagedStoreError(store.path, "it has no seed") from error


def max_grade_of(store: Store) -> int:
    """The highest grade of relevance that assessors are asked for; 1 when pages are relevant or not."""
    row = store.connection.execute("SELECT value FROM setting WHERE name = 'max_grade'").fetchone()
    return 1 if row is None else int(row[0])


def set_max_grade(store: Store, grade: int) -> None:
    """Ask for grades up to `grade` from now on; an error when a higher one was given already."""
    if not 1 <= grade <= MAX_GRADE:
        raise EvenrankError(f"the highest grade must be from 1 to {MAX_GRADE}, not {grade}")
    with store.transaction() as connection:
        (given,) = connection.execute("SELECT coalesce(max(grade), 0) FROM current_vote").fetchone()
        if given > grade:
            raise EvenrankError(f"grade {given} was given already: the highest grade cannot be {grade}")
        connection.execute("DELETE FROM setting WHERE name = 'max_grade'")
        connection.execute("INSERT INTO setting VALUES ('max_grade', ?)", (str(grade),))


def judgments_schema(seed: int = 0) -> Schema:
    """What a judgments file holds; `seed` is kept in a new one."""
    folder = files("evenrank.trec.assessment")
    return Schema(
        name="a judgments file",
        version=3,
        script=folder.joinpath("schema.sql").read_text("utf-8"),
        upgrades={step: folder.joinpath(f"upgrade_{step}.sql").read_text("utf-8") for step in (2, 3)},
        table="vote",
        fix="make one with evenrank judgments create",
        first_rows=lambda connection: connection.execute("INSERT INTO setting VALUES ('seed', ?)", (str(seed),)),
        namespace="evenrank_judgments",
    )
