"""SQLite files that many threads and processes share.

Every thread has a connection of its own, which is closed when the thread ends. Writers of one process queue here, with
a time limit. Errors are those of this package (`sqlite_connection.py`). `open_file` makes and upgrades the tables
(`sqlite_tables.py`), and compares a file with its checksums (`sqlite_checksums.py`).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from evenrank.database.sqlite_checksums import find_damage
from evenrank.database.sqlite_connection import TRY_SECONDS, UNAVAILABLE, connect, is_busy
from evenrank.errors import StoreUnavailableError

WAIT_SECONDS = 30.0
"""How long a writer waits for one of another process, unless set otherwise."""
QUEUE_SECONDS = 30.0
"""How long a writer waits for others of its own process, while these get on with their work."""
STALLED_TRIES = 20
"""A writer that another process has refused so often makes the writers behind it give up at once. Tries are counted,
not seconds: on a busy machine, a thread may not get to run for a second although nobody holds the file."""
THREAD_CACHE_KIB = 256
"""Memory that the connection of a thread other than the main one keeps of the file. SQLite's own 2 MiB would be 80 MiB
for each store of a server with forty threads, filled little by little."""
S = TypeVar("S", bound="SqliteFile")


class SqliteFile:
    """An open SQLite file; each thread gets a connection of its own, closed when the thread ends."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        wait_seconds: float = WAIT_SECONDS,
        is_durable: bool = True,
        max_bytes: int | None = None,
    ) -> None:
        self.path = Path(path)
        self.wait_seconds = wait_seconds
        self.is_durable = is_durable
        """Whether a write survives a power cut once its transaction has ended."""
        self.max_bytes = max_bytes
        """Size at which the file counts as full; None for no limit."""
        self._local = threading.local()
        self._open: weakref.WeakSet[_Held] = weakref.WeakSet()
        self._lock = threading.Lock()
        # Threads of one process queue here, because SQLite's own waiting is by naps of up to 0.1 s.
        self._writing = threading.Lock()
        self._n_refused = 0

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection."""
        held: _Held | None = getattr(self._local, "held", None)
        if held is None:
            held = self._local.held = _Held(self._connect())
            with self._lock:
                self._open.add(held)
        return held.connection

    @contextmanager
    def transaction(self, turn: tuple[str, object] | None = None) -> Iterator[sqlite3.Connection]:
        """A write that is stored completely when the block ends without an error, and safely on the disk by then.

        Writes to a file always happen one after the other; `turn` is for databases that allow more.
        """
        connection = self.connection
        with self._turn():
            self._begin(connection)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.rollback()
                raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A block that reads one state of the file, whatever others write meanwhile."""
        connection = self.connection
        connection.execute("BEGIN")
        try:
            yield
        finally:
            connection.rollback()

    def size_bytes(self) -> int:
        """How much room the file takes; 0 when that cannot be seen."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def check(self) -> list[str]:
        """What is damaged in the file; empty when nothing is."""
        return find_damage(self.connection)

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for held in list(self._open):
                held.close()
            self._open.clear()
        self._local = threading.local()

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connect(self) -> sqlite3.Connection:
        connection = connect(self.path, self.wait_seconds, self.is_durable)
        if self.max_bytes is not None:
            (page_size,) = connection.execute("PRAGMA page_size").fetchone()
            connection.execute(f"PRAGMA max_page_count = {max(1, self.max_bytes // page_size)}")
        if threading.current_thread() is not threading.main_thread():
            connection.execute(f"PRAGMA cache_size = -{THREAD_CACHE_KIB}")
        return connection

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """This thread's turn to write. A busy file makes writers wait; only one that stands still refuses them."""
        deadline = time.monotonic() + QUEUE_SECONDS
        while not self._writing.acquire(timeout=5 * TRY_SECONDS):
            if time.monotonic() >= deadline or self._n_refused >= STALLED_TRIES:
                raise StoreUnavailableError(self.path, UNAVAILABLE[sqlite3.SQLITE_BUSY])
        try:
            yield
        finally:
            self._writing.release()

    def _begin(self, connection: sqlite3.Connection) -> None:
        """Begin a write; whoever queues meanwhile can see how often another process has refused it."""
        deadline = time.monotonic() + self.wait_seconds
        connection.execute(f"PRAGMA busy_timeout = {int(TRY_SECONDS * 1000)}")
        try:
            while True:
                try:
                    connection.execute("BEGIN IMMEDIATE")
                    return
                except StoreUnavailableError as error:
                    if time.monotonic() >= deadline or not is_busy(error):
                        raise
                    self._n_refused += 1
        finally:
            self._n_refused = 0
            connection.execute(f"PRAGMA busy_timeout = {int(self.wait_seconds * 1000)}")


class _Held:
    """A thread's connection; closed with the thread, whose locals are dropped when it ends."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def close(self) -> None:
        self.connection.close()

    def __del__(self) -> None:
        with suppress(Exception):
            self.connection.close()
