"""The desk's SQLite file: one connection a thread, write-ahead log, transactions that queue in order."""

from __future__ import annotations

import os
import secrets
import sqlite3
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from evenrank.assessment.store import Store, statements
from evenrank.errors import input_error

VERSION = 2
"""A file of an earlier one is brought up to date by `upgrade_N.sql`, step by step, when it is opened."""
TOKEN_BYTES = 16
"""Random bytes in a link: 2^128 links are not guessed."""


def open_desk_store(path: str | os.PathLike[str]) -> Store:
    """The store in a file, made if it is not there; an error when the file is something else."""
    store = Store(path)
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with store.transaction() as connection:
            if _version(connection) == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                _create(connection)
            elif _is_desk(connection) and _version(connection) > 0:
                _upgrade(connection)
        version = _version(store.connection)
    except (sqlite3.Error, OSError) as error:
        store.close()
        raise input_error(path, 0, f"cannot be opened as a store of work lists: {error}", "name another") from error
    is_desk = _is_desk(store.connection)
    if version != VERSION or not is_desk:
        store.close()
        found = f"a store of work lists of version {version}, not of this version ({VERSION})"
        raise input_error(path, 0, found if is_desk else "not a store of work lists", "name another file")
    return store


def new_token() -> str:
    """A link that nobody guesses."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def now() -> str:
    """The time as stored: UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")


def server_secret(store: Store) -> str:
    """The secret that all draws are seeded with; it never leaves the file."""
    (secret,) = store.connection.execute("SELECT value FROM setting WHERE name = 'secret'").fetchone()
    return str(secret)


def _create(connection: sqlite3.Connection) -> None:
    """Tables and the secret, in the transaction that is open."""
    _run(connection, "schema.sql")
    connection.execute("INSERT INTO setting VALUES ('secret', ?)", (secrets.token_hex(32),))
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _upgrade(connection: sqlite3.Connection) -> None:
    """All steps from the version of the file to this one, in the transaction that is open: all or none."""
    for version in range(_version(connection) + 1, VERSION + 1):
        _run(connection, f"upgrade_{version}.sql")
        connection.execute(f"PRAGMA user_version = {version}")


def _run(connection: sqlite3.Connection, name: str) -> None:
    """The statements of a file of this room."""
    for statement in statements(files("evenrank.web.storage").joinpath(name).read_text("utf-8")):
        connection.execute(statement)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _is_desk(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'saved_search'").fetchone() is not None
