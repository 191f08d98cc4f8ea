"""Rows of a store from PostgreSQL to an SQLite file and back: a backup is the same file wherever it comes from."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from evenrank.database.postgres import PostgresDatabase, create_or_upgrade, open_postgres
from evenrank.database.schema import Schema
from evenrank.database.sqlite import SqliteFile, open_file
from evenrank.database.sqlite_connection import TABLE as CHECKSUMS
from evenrank.errors import ExistingFileError

BATCH = 500
"""Rows that are copied together."""


def copy_out(address: str, schema: Schema, target: Path) -> None:
    """Copy the tables in a PostgreSQL database, as they are at one moment, to a new SQLite file."""
    with (
        open_postgres(address, schema) as source,
        open_file(SqliteFile(target), schema, may_create=True) as file,
        source.snapshot(),
        file.transaction() as connection,
    ):
        connection.execute("DELETE FROM setting")
        for table, columns in _tables(connection):
            rows = source.stream(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1", BATCH)
            connection.executemany(_insert(table, columns), rows)


def copy_in(source: Path, address: str, schema: Schema, *, replace: bool) -> None:
    """Copy the tables of an SQLite file to a PostgreSQL database, all or nothing; `replace` removes those there."""
    with (
        open_file(SqliteFile(source), schema) as file,
        PostgresDatabase(address, schema.namespace) as target,
        target.transaction() as connection,
    ):
        if replace:
            connection.execute(f"DROP SCHEMA IF EXISTS {schema.namespace} CASCADE")
        if not create_or_upgrade(connection, schema):
            raise ExistingFileError(f"{target.path}: has tables of {schema.name} already (replace them with --force)")
        connection.execute("DELETE FROM setting")
        for table, columns in _tables(file.connection):
            rows = file.connection.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1")
            connection.executemany(_insert(table, columns), map(tuple, rows))
            _continue_numbers(connection, table, columns[0])


def _tables(connection: sqlite3.Connection) -> Iterator[tuple[str, list[str]]]:
    """Names of tables with their columns, in the order of creation: no row comes before one it refers to."""
    names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
    for table in (name for (name,) in connection.execute(names).fetchall() if name != CHECKSUMS):
        yield table, [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def _insert(table: str, columns: list[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def _continue_numbers(connection: PostgresDatabase, table: str, column: str) -> None:
    """Numbers given out from now on follow those that were copied."""
    sequence = connection.execute("SELECT pg_get_serial_sequence(?, ?)", (table, column)).fetchone()
    if sequence is not None and sequence[0] is not None:
        last = f"(SELECT coalesce(max({column}), 0) + 1 FROM {table})"
        connection.execute(f"SELECT setval(?, {last}, false)", (sequence[0],))
