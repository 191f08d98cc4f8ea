"""A judgments file: an SQLite file of votes, safe for many threads and processes at once."""

from __future__ import annotations

import os
from importlib.resources import files

from evenrank.errors import DamagedStoreError
from evenrank.sqlite import WAIT_SECONDS, Schema, SqliteFile, open_file


class Store(SqliteFile):
    """An open judgments file."""

    @property
    def seed(self) -> int:
        """The start of all shuffling and sampling in this file."""
        row = self.connection.execute("SELECT value FROM setting WHERE name = 'seed'").fetchone()
        try:
            return int(row[0])
        except (TypeError, ValueError) as error:
            raise DamagedStoreError(self.path, "it has no seed") from error


def create_store(path: str | os.PathLike[str], seed: int = 0) -> Store:
    """A new, empty judgments file; opens the one that is there."""
    return open_file(Store(path), judgments_schema(seed), may_create=True)


def open_store(path: str | os.PathLike[str], wait_seconds: float = WAIT_SECONDS) -> Store:
    """The judgments file at `path`."""
    return open_file(Store(path, wait_seconds=wait_seconds), judgments_schema())


def judgments_schema(seed: int = 0) -> Schema:
    """What a judgments file holds; `seed` is kept in a new one."""
    return Schema(
        name="a judgments file",
        version=1,
        script=files("evenrank.assessment").joinpath("schema.sql").read_text("utf-8"),
        table="vote",
        fix="make one with evenrank judgments create",
        first_rows=lambda connection: connection.execute("INSERT INTO setting VALUES ('seed', ?)", (str(seed),)),
    )
