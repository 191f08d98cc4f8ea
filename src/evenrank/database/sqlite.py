"""SQLite files that many threads and processes share.

Every thread has a connection of its own, which is closed when the thread ends. Writers of one process queue here, with
a time limit. `open_file` makes and upgrades the tables, and compares a file with its checksums (`sqlite_connection.py`,
which also turns errors into those of this package).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from evenrank.database.schema import Schema, statements_of
from evenrank.database.sqlite_connection import (
    IN_MEMORY,
    TRY_SECONDS,
    UNAVAILABLE,
    add_checksums,
    can_write,
    connect,
    drop_checksums,
    find_damage,
    has_checksums,
    is_busy,
)
from evenrank.errors import DamagedStoreError, StoreUnavailableError, input_error, reason_of

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
REPLACED = "the file was removed or replaced while it was open; start the program again"
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
        self._turns = _Turns()
        self._n_refused = 0
        self._file: tuple[int, int] | None = None
        """Device and number of the file that was opened."""

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection."""
        self._refuse_other_file()
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
            self._refuse_other_file()
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
        """A block that reads one state of the file, whatever others write meanwhile; inside a block, that one's."""
        connection = self.connection
        if connection.in_transaction:
            yield
            return
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
        if self._file is None:
            self._file = _file_at(self.path)
        if self.max_bytes is not None:
            (page_size,) = connection.execute("PRAGMA page_size").fetchone()
            connection.execute(f"PRAGMA max_page_count = {max(1, self.max_bytes // page_size)}")
        if threading.current_thread() is not threading.main_thread():
            connection.execute(f"PRAGMA cache_size = -{THREAD_CACHE_KIB}")
        return connection

    def _refuse_other_file(self) -> None:
        """An error when the file was removed or replaced: what is written to the one that is open would be lost, and
        threads that come later would see another one."""
        if self._file is not None and _file_at(self.path) != self._file:
            raise StoreUnavailableError(self.path, REPLACED)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """This thread's turn to write. A busy file makes writers wait; only one that stands still refuses them."""
        deadline = time.monotonic() + QUEUE_SECONDS

        def has_patience() -> bool:
            return time.monotonic() < deadline and self._n_refused < STALLED_TRIES

        if not self._turns.take(has_patience):
            raise StoreUnavailableError(self.path, UNAVAILABLE[sqlite3.SQLITE_BUSY])
        try:
            yield
        finally:
            self._turns.pass_on()

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


class _Turns:
    """Writers of one process, one after the other in the order in which they came.

    SQLite itself lets them wait by naps of up to 0.1 s, and a lock of Python gives itself to whoever asks next: of
    forty writers on a busy machine, some waited for half a minute.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._is_taken = False
        self._waiting: deque[threading.Lock] = deque()
        """A lock for each that waits, held until it is its turn."""

    def take(self, has_patience: Callable[[], bool]) -> bool:
        """Wait for the turn, as long as there is patience, which is looked for several times a second."""
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return True
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        while not mine.acquire(timeout=5 * TRY_SECONDS):
            if has_patience():
                continue
            with self._guard:
                if mine not in self._waiting:  # the turn came just now
                    return True
                self._waiting.remove(mine)
            return False
        return True

    def pass_on(self) -> None:
        """End the turn; the next one begins at once."""
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False


def _file_at(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one that is put in its place; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class _Held:
    """A thread's connection; closed with the thread, whose locals are dropped when it ends."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def close(self) -> None:
        self.connection.close()

    def __del__(self) -> None:
        with suppress(Exception):
            self.connection.close()


def open_file(store: S, schema: Schema, *, may_create: bool = False) -> S:
    """The file behind `store`, ready for use: created if it may be, upgraded, undamaged, of this kind and version.

    A file made before there were checksums gets them. Closes the store and raises when the file is something else,
    damaged, or of a later version.
    """
    try:
        if not store.path.is_file() and not may_create:
            raise input_error(store.path, 0, "no such file", schema.fix)
        if may_create:
            store.path.parent.mkdir(parents=True, exist_ok=True)
            _create_private(store.path)
        _create(store, schema, may_create)
        _refuse_other_kinds(store, schema)
        _refuse_damage(store)
        _upgrade(store, schema)
    except OSError as error:
        store.close()
        found = f"cannot be opened as {schema.name}: {reason_of(error)}"
        raise input_error(store.path, 0, found, schema.fix) from error
    except BaseException:
        store.close()
        raise
    return store


def kind_of(path: Path, schemas: Iterable[Schema]) -> Schema:
    """The kind of a file, by its tables; InputError when it is none of them."""
    known = tuple(schemas)
    with SqliteFile(path) as store:
        found = next((schema for schema in known if _has_table(store.connection, schema)), None)
    if found is None:
        names = " nor ".join(schema.name for schema in known)
        raise input_error(path, 0, f"neither {names}", "name another file")
    return found


def _create_private(path: Path) -> None:
    """Make an empty file that only its owner can read, unless one is there; SQLite gives its logs the same rights.

    Stores hold secret links, and whose lists and votes they are.
    """
    if str(path) != IN_MEMORY and not path.exists():
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _create(store: SqliteFile, schema: Schema, may_create: bool) -> None:
    """Make the tables of a new file, in one transaction."""
    try:
        is_empty = _is_empty(store.connection)
    except DamagedStoreError as error:
        raise input_error(store.path, 0, f"cannot be opened as {schema.name}: {error.reason}", schema.fix) from error
    if not (is_empty and may_create):
        return
    with store.transaction() as connection:
        if _is_empty(connection):
            _run(connection, schema.script)
            schema.first_rows(connection)
            connection.execute(f"PRAGMA user_version = {schema.version}")
            add_checksums(connection)


def _refuse_other_kinds(store: SqliteFile, schema: Schema) -> None:
    if not _has_table(store.connection, schema):
        raise input_error(store.path, 0, f"not {schema.name}", schema.fix)
    version = _version(store.connection)
    if not 0 < version <= schema.version:
        found = f"{schema.name} of version {version}, not {schema.version}"
        raise input_error(store.path, 0, found, "use the evenrank that made it, or a newer one")


def _refuse_damage(store: SqliteFile) -> None:
    if found := store.check():
        raise DamagedStoreError(store.path, found[0])


def _upgrade(store: SqliteFile, schema: Schema) -> None:
    """Bring the tables up to date and give them checksums, in one transaction; most files need neither."""

    def is_ready(connection: sqlite3.Connection) -> bool:
        is_checked = has_checksums(connection) or not can_write(store.path)
        return is_checked and _version(connection) == schema.version

    if is_ready(store.connection):
        return
    with store.transaction() as connection:
        if is_ready(connection):  # another process was faster
            return
        if has_checksums(connection):
            drop_checksums(connection)
        for step in range(_version(connection) + 1, schema.version + 1):
            _run(connection, schema.upgrades[step])
            connection.execute(f"PRAGMA user_version = {step}")
        add_checksums(connection)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None and _version(connection) == 0


def _has_table(connection: sqlite3.Connection, schema: Schema) -> bool:
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (schema.table,))
    return known.fetchone() is not None


def _run(connection: sqlite3.Connection, script: str) -> None:
    """The statements of a script one by one; sqlite3's executescript would end the transaction."""
    for statement in statements_of(script):
        connection.execute(statement)
