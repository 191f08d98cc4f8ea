"""The desk's store, in an SQLite file or in PostgreSQL: work lists, saved searches, draws and marks."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files

from evenrank.database.database import Connection, Database, Location, open_database
from evenrank.database.schema import Schema
from evenrank.errors import DamagedStoreError

VERSION = 5
"""A file of an earlier one is brought up to date by `upgrade_N.sql`, step by step, when it is opened."""
TOKEN_BYTES = 16
"""Random bytes in a link: 2^128 links are not guessed."""
WAIT_SECONDS = 4.0
"""How long a visitor waits for another process that writes, before being asked to try again."""

MAX_BYTES = 20 << 30
"""Size at which the store takes nothing more: about a million lists. Visitors are then asked to come back later."""


@dataclass(frozen=True)
class Limit:
    """A limit that whoever runs the server may change while it runs."""

    usual: int
    least: int
    most: int


LIMITS = {
    "max_kept": Limit(1000, 1, 100_000),
    "max_draws": Limit(10_000, 1, 1_000_000),
    "browser_days": Limit(0, 0, 3650),
    "archive_days": Limit(0, 0, 3650),
}
"""Limits by their name in the store: lists, and searches, that one visitor may keep; draws of one search; days after
which unused things without an account, and archived ones, are removed (0 for never)."""


def open_desk_store(location: Location) -> Database:
    """The store at a location, made if it is not there; an error when something else is there."""
    return open_database(location, desk_schema(), may_create=True, wait_seconds=WAIT_SECONDS, max_bytes=MAX_BYTES)


def desk_schema() -> Schema:
    """What a store of work lists holds, and the steps from earlier versions."""

    def read(name: str) -> str:
        return files("evenrank.app.storage").joinpath(name).read_text("utf-8")

    return Schema(
        name="a store of work lists",
        version=VERSION,
        script=read("schema.sql"),
        table="saved_search",
        fix="name another file with --store",
        upgrades={version: read(f"upgrade_{version}.sql") for version in range(2, VERSION + 1)},
        first_rows=_add_secret,
        namespace="evenrank_desk",
    )


def new_token() -> str:
    """A link that nobody guesses."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def now() -> str:
    """The time as stored: UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")


def server_secret(store: Database) -> str:
    """The secret that all draws are seeded with; it never leaves the store."""
    row = store.connection.execute("SELECT value FROM setting WHERE name = 'secret'").fetchone()
    if row is None:
        raise DamagedStoreError(store.path, "it has no secret")
    return str(row[0])


def limit_of(store: Database, name: str) -> int:
    """A limit as it is set now."""
    row = store.connection.execute("SELECT value FROM setting WHERE name = ?", (name,)).fetchone()
    return LIMITS[name].usual if row is None else int(row["value"])


def _add_secret(connection: Connection) -> None:
    connection.execute("INSERT INTO setting VALUES ('secret', ?)", (secrets.token_hex(32),))
