"""Connections to SQLite files whose errors are those of this package, which say whether waiting helps."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from evenrank.database.sqlite_checksums import register
from evenrank.errors import DamagedStoreError, EvenrankError, StoreUnavailableError

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
