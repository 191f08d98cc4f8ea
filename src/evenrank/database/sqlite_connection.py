"""Connections to SQLite files, whose errors are those of this package, and checksums of everything in a file.

SQLite notices damage only where it breaks the structure of a file. So a table `row_checksum` holds, for each table, the
sum of the CRC-32 of its rows, and one of the schema. Triggers maintain the sums; `find_damage` computes them anew. They
find damage and changes made past the triggers, not forgery.
"""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from evenrank.errors import DamagedStoreError, EvenrankError, StoreUnavailableError

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
    """What is corrupted, in words; empty when nothing is. Reads the complete file, in one state of it."""
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
        return ["its schema was changed"]
    found = {table: _sum(connection, table) for table in _tables(connection)}
    changed = [table for table in sorted(kept | found) if kept.get(table) != found.get(table)]
    return [f"rows of {table} were changed outside Evenrank or are damaged" for table in changed]


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


TRY_SECONDS = 0.05
"""How long a writer waits for one of another process before it looks again."""
SMALLEST = 512
"""Bytes of the smallest SQLite file."""
IN_MEMORY = ":memory:"
"""Name of a database that is no file, and ends with its connection."""
UNAVAILABLE = {
    sqlite3.SQLITE_BUSY: "another process is writing to it",
    sqlite3.SQLITE_LOCKED: "another process is writing to it",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written",
    sqlite3.SQLITE_READONLY: "it can only be read",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_NOMEM: "not enough memory",
}
"""Primary result codes that concern the machine, in words; waiting or making room helps."""


def connect(path: Path, wait_seconds: float, is_durable: bool) -> sqlite3.Connection:
    """A connection that writes if the file can be written; see `SqliteFile`."""
    _refuse_short_file(path)
    if path.exists() and not can_write(path):
        connection = read_only(path)
    else:
        connection = _open_uri(path, "mode=rwc")
        connection.execute(f"PRAGMA busy_timeout = {int(wait_seconds * 1000)}")
        _keep_log(connection, wait_seconds)
        connection.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'NORMAL'}")
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _keep_log(connection: sqlite3.Connection, wait_seconds: float) -> None:
    """Turn the write-ahead log on. SQLite does not wait for another process that does so to a new file: this does."""
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except StoreUnavailableError as error:
            if time.monotonic() >= deadline or not is_busy(error):
                raise
            time.sleep(TRY_SECONDS)


def is_busy(error: StoreUnavailableError) -> bool:
    """Whether a store is unavailable because another process has it."""
    return getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def _refuse_short_file(path: Path) -> None:
    """DamagedStoreError for a file too short to be SQLite's, because SQLite takes one byte for an empty file.

    SQLite itself refuses longer files of other kinds. The file is not opened here: closing it would end the locks
    that other connections of this process hold.
    """
    if path.is_file() and 0 < (n_bytes := path.stat().st_size) < SMALLEST:
        raise DamagedStoreError(path, f"{n_bytes} bytes are too few for an SQLite file")


def read_only(path: Path) -> sqlite3.Connection:
    """A connection that cannot change the file; also for a file on a medium that cannot be written."""
    if not can_write(path):
        wal = path.with_name(path.name + "-wal")
        if wal.exists() and wal.stat().st_size:
            fix = "copy the file and its -wal to a place that can be written"
            raise EvenrankError(f"{path}: its last changes are in {wal.name}, which cannot be merged here ({fix})")
        return _open_uri(path, "immutable=1")
    return _open_uri(path, "mode=ro")


def _open_uri(path: Path, option: str) -> sqlite3.Connection:
    uri = "file::memory:" if str(path) == IN_MEMORY else f"{path.absolute().as_uri()}?{option}"
    try:
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, factory=_Connection)
    except sqlite3.Error as error:
        _raise(path, error)
    assert isinstance(connection, _Connection)
    connection.path = path
    register(connection)
    return connection


def can_write(path: Path) -> bool:
    """Whether a file and the log beside it can be written."""
    return os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))


class _Cursor(sqlite3.Cursor):
    """A cursor whose errors are those of this package: damage may show only when a row is read."""

    def execute(self, sql: str, parameters: Any = ()) -> _Cursor:
        with _clear_errors(self.connection):
            return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any]) -> _Cursor:
        with _clear_errors(self.connection):
            return super().executemany(sql, parameters)

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            _translate(self.connection, error)

    def fetchone(self) -> Any:
        with _clear_errors(self.connection):
            return super().fetchone()

    def fetchmany(self, size: int | None = None) -> list[Any]:
        with _clear_errors(self.connection):
            return super().fetchmany(self.arraysize if size is None else size)

    def fetchall(self) -> list[Any]:
        with _clear_errors(self.connection):
            return super().fetchall()


class _Connection(sqlite3.Connection):
    path: Path

    def cursor(self, factory: Any = _Cursor) -> Any:
        return super().cursor(factory)

    def execute(self, sql: str, parameters: Any = ()) -> _Cursor:
        cursor: _Cursor = self.cursor()
        return cursor.execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any]) -> _Cursor:
        cursor: _Cursor = self.cursor()
        return cursor.executemany(sql, parameters)


@contextmanager
def _clear_errors(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite's message may quote damaged text
        _translate(connection, error)


def _translate(connection: sqlite3.Connection, error: Exception) -> NoReturn:
    assert isinstance(connection, _Connection)
    _raise(connection.path, error)


def _raise(path: Path, error: Exception) -> NoReturn:
    """The error of this package that an error of SQLite means; mistakes of our own code stay what they are."""
    if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError | sqlite3.InterfaceError):
        raise error
    reason = UNAVAILABLE.get(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF)
    if reason is not None:
        raise StoreUnavailableError(path, reason) from error
    raise DamagedStoreError(path, str(error)) from error
