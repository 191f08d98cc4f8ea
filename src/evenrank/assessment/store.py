"""A judgments file: SQLite with a write-ahead log, safe for many threads and processes at once."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from evenrank.errors import EvenrankError, input_error

VERSION = 1
WAIT_SECONDS = 30.0
"""How long a writer waits for another one."""
SMALLEST = 512
"""Bytes of the smallest SQLite file."""


class Store:
    """An open judgments file; each thread gets a connection of its own."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        # Threads of one process queue here, because SQLite's own waiting is by naps of up to 0.1 s.
        self._writing = threading.Lock()

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection."""
        known: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if known is not None:
            return known
        connection = self._local.connection = _connect(self.path)
        with self._lock:
            self._open.append(connection)
        return connection

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A write that is stored whole when the block ends well, and safely on the disk by then."""
        connection = self.connection
        with self._writing:
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.OperationalError):
                    raise EvenrankError(f"{self.path}: not stored: {error}") from error
                raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A block that reads one state of the file, whatever others write meanwhile."""
        self.connection.execute("BEGIN")
        try:
            yield
        finally:
            self.connection.execute("ROLLBACK")

    @property
    def seed(self) -> int:
        """The start of all shuffling and sampling in this file."""
        row = self.connection.execute("SELECT value FROM setting WHERE name = 'seed'").fetchone()
        return int(row[0])

    def close(self) -> None:
        """Closes the connections of all threads."""
        with self._lock:
            while self._open:
                self._open.pop().close()
        self._local = threading.local()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def create_store(path: str | os.PathLike[str], seed: int = 0) -> Store:
    """A new, empty judgments file; opens the one that is there."""
    store = Store(path)
    with _readable(store), store.transaction() as connection:
        if _version(connection) == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            for statement in statements(files("evenrank.assessment").joinpath("schema.sql").read_text("utf-8")):
                connection.execute(statement)
            connection.execute("INSERT INTO setting VALUES ('seed', ?)", (str(seed),))
            connection.execute(f"PRAGMA user_version = {VERSION}")
    return _checked(store)


def open_store(path: str | os.PathLike[str]) -> Store:
    """The judgments file at `path`."""
    if not Path(path).is_file():
        raise input_error(path, 0, "no such file", "make it with evenrank judgments create")
    return _checked(Store(path))


def _checked(store: Store) -> Store:
    with _readable(store):
        version = _version(store.connection)
    if version != VERSION:
        store.close()
        fix = "name a file made by evenrank judgments create" if version == 0 else "use the evenrank that made it"
        raise input_error(store.path, 0, f"version {version} of the judgments file, not {VERSION}", fix)
    return store


@contextmanager
def _readable(store: Store) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        store.close()
        raise input_error(store.path, 0, f"cannot be opened as a judgments file: {error}", "check the name") from error


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _refuse_other_file(path: Path) -> None:
    """InputError for a file too short to be SQLite's, because SQLite takes one byte for an empty file.

    SQLite itself refuses longer files of other kinds. The file is not opened here: closing it would end the locks
    that other connections of this process hold.
    """
    if path.is_file() and 0 < (n_bytes := path.stat().st_size) < SMALLEST:
        found = f"cannot be opened as a judgments file: {n_bytes} bytes are too few for one"
        raise input_error(path, 0, found, "name a new file, or one made by evenrank judgments create")


def _connect(path: Path) -> sqlite3.Connection:
    _refuse_other_file(path)
    connection = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")  # a vote that was answered survives a power cut, too
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def statements(script: str) -> Iterator[str]:
    """The statements of a script one by one; sqlite3's executescript would end the transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
