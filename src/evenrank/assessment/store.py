"""A judgments file: votes in an SQLite file or in PostgreSQL, safe for many threads and processes at once."""

from __future__ import annotations

from importlib.resources import files

from evenrank.database import Database, Location, open_database
from evenrank.errors import DamagedStoreError, EvenrankError
from evenrank.sqlite import WAIT_SECONDS, Schema

Store = Database
"""An open judgments file."""

MAX_GRADE = 3
"""The finest scale of relevance: not, marginally, fairly, highly relevant."""


def create_store(location: Location, seed: int = 0) -> Store:
    """A new, empty judgments file; opens the one that is there."""
    return open_database(location, judgments_schema(seed), may_create=True)


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
    folder = files("evenrank.assessment")
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
