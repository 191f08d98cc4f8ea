"""Checksums of everything in an SQLite file, kept by the file's own triggers in the transaction that changes a row.

SQLite notices damage only where it breaks the structure of a file. So a table `row_checksum` holds, for each table, the
sum of the CRC-32 of its rows, and one of the schema. Triggers maintain the sums; `find_damage` computes them anew. They
find damage and changes made past the triggers, not forgery.
"""

from __future__ import annotations

import sqlite3
import zlib
from typing import Any

APPLICATION_ID = 0x45764E72
"""In the header of every file with checksums ("EvNr"): a file that has lost them is not taken for an old one."""
TABLE = "row_checksum"
SCHEMA_ROW = "the schema"
"""Name of the checksum of the schema itself, which no table can have."""
_CREATE = f"CREATE TABLE {TABLE} (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID"
_EVENTS = {"insert": "+ {new}", "delete": "- {old}", "update": "+ {new} - {old}"}


def register(connection: sqlite3.Connection) -> None:
    """Give a connection what the triggers call; without it a file with checksums can be read but not changed."""
    connection.create_function("row_checksum", -1, row_checksum, deterministic=True)
    connection.execute("PRAGMA trusted_schema = ON")
    connection.execute("PRAGMA recursive_triggers = ON")  # else REPLACE would remove rows past the triggers


def row_checksum(*values: Any) -> int:
    """CRC-32 of a row, types included; `ascii` writes the same in every version of Python."""
    if bytes in map(type, values):
        values = tuple((zlib.crc32(value),) if isinstance(value, bytes) else value for value in values)
    return zlib.crc32(ascii(values).encode("ascii"))


def has_checksums(connection: sqlite3.Connection) -> bool:
    """Whether the file says that it has checksums, in its header or by the table."""
    (marked,) = connection.execute("PRAGMA application_id").fetchone()
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (TABLE,))
    return marked == APPLICATION_ID or known.fetchone() is not None


def add_checksums(connection: sqlite3.Connection) -> None:
    """Compute all checksums and make the triggers that maintain them; within a transaction of the caller."""
    connection.execute(_CREATE)
    for table in _tables(connection):
        for event, change in _EVENTS.items():
            connection.execute(_trigger(connection, table, event, change))
        connection.execute(f"INSERT INTO {TABLE} VALUES (?, ?)", (table, _sum(connection, table)))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"INSERT INTO {TABLE} VALUES (?, ?)", (SCHEMA_ROW, _schema_checksum(connection)))


def drop_checksums(connection: sqlite3.Connection) -> None:
    """Remove table and triggers, so that the schema can be changed; within a transaction of the caller."""
    for table in _tables(connection):
        for event in _EVENTS:
            connection.execute(f"DROP TRIGGER IF EXISTS {_trigger_name(table, event)}")
    connection.execute(f"DROP TABLE {TABLE}")
    connection.execute("PRAGMA application_id = 0")


def find_damage(connection: sqlite3.Connection) -> list[str]:
    """What is not as it was written, in words; empty when nothing is. Reads the complete file, in one state of it."""
    is_own = not connection.in_transaction
    if is_own:
        connection.execute("BEGIN")
    try:
        return _structural_damage(connection) or (_changed(connection) if has_checksums(connection) else [])
    finally:
        if is_own:
            connection.rollback()


def _structural_damage(connection: sqlite3.Connection) -> list[str]:
    """What SQLite itself finds: pages, indexes against their tables, rules of the tables, references."""
    lines = [line for row in connection.execute("PRAGMA integrity_check(20)") for line in str(row[0]).splitlines()]
    found = [line for line in lines if line != "ok" and not line.startswith("***")]
    orphans = connection.execute("PRAGMA foreign_key_check").fetchmany(20)
    return [*found, *(f"{row[0]} refers to a missing {row[2]}" for row in orphans)]


def _changed(connection: sqlite3.Connection) -> list[str]:
    (marked,) = connection.execute("PRAGMA application_id").fetchone()
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (TABLE,)).fetchone()
    if marked != APPLICATION_ID or known is None:
        return ["its checksums are missing"]
    kept = {str(row[0]): row[1] for row in connection.execute(f"SELECT name, value FROM {TABLE}")}
    if kept.pop(SCHEMA_ROW, None) != _schema_checksum(connection):
        return ["its schema is not as it was written"]
    found = {table: _sum(connection, table) for table in _tables(connection)}
    changed = [table for table in sorted(kept | found) if kept.get(table) != found.get(table)]
    return [f"rows of {table} are not as they were written" for table in changed]


def _tables(connection: sqlite3.Connection) -> list[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite^_%' ESCAPE '^' ORDER BY name"
    return [str(row[0]) for row in connection.execute(query) if row[0] != TABLE]


def _checksum_of(connection: sqlite3.Connection, table: str, prefix: str = "") -> str:
    """SQL for the checksum of a row, whose columns may be those of NEW or OLD."""
    columns = [str(row[1]) for row in connection.execute(f'PRAGMA table_info("{table}")')]
    names = ", ".join(f'{prefix}"{column}"' for column in columns)
    return f"row_checksum({names})"


def _sum(connection: sqlite3.Connection, table: str) -> int:
    query = f'SELECT sum({_checksum_of(connection, table)}) FROM "{table}"'
    return int(connection.execute(query).fetchone()[0] or 0)


def _trigger_name(table: str, event: str) -> str:
    return f'"{TABLE}_{table}_{event}"'


def _trigger(connection: sqlite3.Connection, table: str, event: str, change: str) -> str:
    sums = {"new": _checksum_of(connection, table, "NEW."), "old": _checksum_of(connection, table, "OLD.")}
    return (
        f'CREATE TRIGGER {_trigger_name(table, event)} AFTER {event.upper()} ON "{table}" BEGIN '
        f"UPDATE {TABLE} SET value = value {change.format(**sums)} WHERE name = '{table}'; END"
    )


def _schema_checksum(connection: sqlite3.Connection) -> int:
    """CRC-32 of all definitions and of the version in the header."""
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    return zlib.crc32(ascii(([tuple(row) for row in rows], version)).encode("ascii"))
