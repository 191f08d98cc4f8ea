"""A judgments file: votes in an SQLite file or in PostgreSQL, safe for many threads and processes at once."""

from __future__ import annotations

from importlib.resources import files

from evenrank.database import Database, Location, open_database
from evenrank.errors import DamagedStoreError
from evenrank.sqlite import WAIT_SECONDS, Schema

Store = Database
"""An open judgments file."""


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


def judgments_schema(seed: int = 0) -> Schema:
    """What a judgments file holds; `seed` is kept in a new one."""
    return Schema(
        name="a judgments file",
        version=1,
        script=files("evenrank.assessment").joinpath("schema.sql").read_text("utf-8"),
        table="vote",
        fix="make one with evenrank judgments create",
        first_rows=lambda connection: connection.execute("INSERT INTO setting VALUES ('seed', ?)", (str(seed),)),
        namespace="evenrank_judgments",
    )
