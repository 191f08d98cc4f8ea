"""A store in PostgreSQL, for servers on several machines: the same SQL and the same promises as an SQLite file.

Writes about one thing queue by advisory locks, which end with their transaction, so that a killed process holds none.
Tables of a kind are in a schema of their own: work lists and judgments may share a database.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from evenrank.database.postgres_sql import refuse_unescaped, tables_for_postgres, to_postgres, without_password
from evenrank.database.schema import Schema
from evenrank.database.sqlite import WAIT_SECONDS
from evenrank.errors import EvenrankError, StoreUnavailableError, UncertainStoreError, first_line, input_error

MAX_CONNECTIONS = 8
"""Connections of one process; PostgreSQL allows 100 in all unless set otherwise."""
ANSWER_SECONDS = 60
"""How long one statement may take, and how long a silent server counts as there."""
QUEUE_BEHIND = (
    "SELECT pg_advisory_xact_lock_shared(hashtextextended(?, 0)), pg_advisory_xact_lock(hashtextextended(?, 1))"
)
BEGIN_WRITE = "BEGIN"
BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class Row(tuple[Any, ...]):
    """A row whose columns are found by position and by name."""

    places: dict[str, int]

    def __getitem__(self, key: Any) -> Any:
        return tuple.__getitem__(self, self.places[key] if isinstance(key, str) else key)

    def keys(self) -> list[str]:
        return list(self.places)


def _rows(cursor: psycopg.Cursor[Any]) -> Any:
    places = {column.name: place for place, column in enumerate(cursor.description or ())}

    def make(values: Sequence[Any]) -> Row:
        row = Row(values)
        row.places = places
        return row

    return make


class PostgresDatabase:
    """An open PostgreSQL database. A thread has one connection during a block, and any free one otherwise."""

    max_bytes = None

    def __init__(self, address: str, namespace: str, *, wait_seconds: float = WAIT_SECONDS) -> None:
        refuse_unescaped(address)
        self.address = address
        self.namespace = namespace
        self.path = without_password(address)
        self.wait_seconds = wait_seconds
        self._free: list[psycopg.Connection[Row]] = []
        self._room = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._local = threading.local()

    @property
    def connection(self) -> PostgresDatabase:
        """This database: it chooses the connection for each statement itself."""
        return self

    def execute(self, sql: str, parameters: Any = (), /) -> psycopg.Cursor[Row]:
        """Run a statement; outside a block it is a transaction of its own, and read again on a new connection if the
        one it had was lost."""
        held: psycopg.Connection[Row] | None = getattr(self._local, "held", None)
        if held is not None:
            with self._clear_errors():
                return held.execute(to_postgres(sql), parameters)
        with self._borrowed(to_postgres(sql), parameters) as (_, cursor):
            return cursor

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> psycopg.Cursor[Row]:
        """Run a statement for each row of values, in the transaction of the block."""
        held: psycopg.Connection[Row] | None = getattr(self._local, "held", None)
        if held is None:
            raise RuntimeError("many rows are written in a transaction")
        with self._clear_errors():
            cursor = held.cursor()
            cursor.executemany(to_postgres(sql), parameters)
            return cursor

    @contextmanager
    def transaction(self, turn: tuple[str, object] | None = None) -> Iterator[PostgresDatabase]:
        """A write that is stored completely when the block ends without an error, and durable by then."""
        with self._block(BEGIN_WRITE) as connection:
            # A write without a turn excludes all others; those with one exclude only those of the same turn.
            if turn is None:
                self.execute("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", (self.namespace,))
            else:
                names = (self.namespace, f"{self.namespace} {turn[0]} {turn[1]}")
                self.execute(QUEUE_BEHIND, names)
            yield self
            try:
                connection.execute("COMMIT")
            except psycopg.OperationalError as error:
                raise UncertainStoreError(self.path, first_line(error)) from error

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A block that reads one state of the database, whatever others write meanwhile; inside another block, that
        one's."""
        if getattr(self._local, "held", None) is not None:
            yield
            return
        with self._block(BEGIN_READ):
            yield

    def stream(self, sql: str, n_rows: int) -> Iterator[Row]:
        """The rows of a query in a block, `n_rows` at a time, for answers that need not fit into memory."""
        held: psycopg.Connection[Row] = self._local.held
        with self._clear_errors(), held.cursor("stream") as cursor:
            cursor.itersize = n_rows
            cursor.execute(to_postgres(sql))
            yield from cursor

    def size_bytes(self) -> int:
        """How much room the database takes."""
        ((size,),) = self.execute("SELECT pg_database_size(current_database())").fetchall()
        return int(size)

    def check(self) -> list[str]:
        """What is damaged: tables of which a value cannot be read, and indexes that the server calls invalid."""
        known = "SELECT tablename FROM pg_tables WHERE schemaname = ? ORDER BY 1"
        invalid = "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid AND indexrelid IN (SELECT oid "
        invalid += "FROM pg_class WHERE relnamespace = ?::regnamespace) ORDER BY 1"
        found = [f"index {name} is invalid" for (name,) in self.execute(invalid, (self.namespace,)).fetchall()]
        for (name,) in self.execute(known, (self.namespace,)).fetchall():
            try:
                self.execute(f'SELECT sum(length(found::text)) FROM "{name}" found')
            except psycopg.InternalError as error:
                found.append(f"table {name}: {first_line(error)}")
        return found

    def close(self) -> None:
        """Close the connections that nobody is using."""
        while self._free:
            self._free.pop().close()

    def __enter__(self) -> PostgresDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _block(self, begin: str) -> Iterator[psycopg.Connection[Row]]:
        """A connection that this thread keeps until the end of the block, where it is rolled back if need be."""
        if getattr(self._local, "held", None) is not None:
            raise RuntimeError("a transaction inside a transaction")
        with self._borrowed(begin, ()) as (connection, _):
            self._local.held = connection
            try:
                yield connection
            finally:
                self._local.held = None
                with suppress(psycopg.Error):
                    connection.rollback()

    @contextmanager
    def _borrowed(self, first: str, parameters: Any) -> Iterator[tuple[psycopg.Connection[Row], psycopg.Cursor[Row]]]:
        """A connection that has run its first statement. A connection may have been lost since it was last used: then
        nothing was done, and a new one does it."""
        if not self._room.acquire(timeout=self.wait_seconds):
            raise StoreUnavailableError(self.path, "all connections are in use")
        connection: psycopg.Connection[Row] | None = None
        try:
            with self._clear_errors():
                connection, cursor = self._first(first, parameters)
            yield connection, cursor
        finally:
            if connection is not None:
                if connection.closed:
                    self.close()  # the others were lost with it
                else:
                    self._free.append(connection)
            self._room.release()

    def _first(self, statement: str, parameters: Any) -> tuple[psycopg.Connection[Row], psycopg.Cursor[Row]]:
        with suppress(IndexError):
            known = self._free.pop()
            try:
                return known, known.execute(statement, parameters)
            except psycopg.Error:
                if not known.closed:
                    self._free.append(known)
                    raise
                self.close()
        fresh = self._connect()
        try:
            return fresh, fresh.execute(statement, parameters)
        except BaseException:
            fresh.close()
            raise

    def _connect(self) -> psycopg.Connection[Row]:
        seconds = max(2, int(self.wait_seconds))
        settings = (
            f"-c search_path={self.namespace} -c lock_timeout={int(self.wait_seconds * 1000)} "
            f"-c statement_timeout={ANSWER_SECONDS * 1000} "
            f"-c idle_in_transaction_session_timeout={ANSWER_SECONDS * 1000}"
        )
        return psycopg.connect(
            self.address,
            autocommit=True,
            row_factory=_rows,
            options=settings,
            connect_timeout=seconds,
            tcp_user_timeout=ANSWER_SECONDS * 1000,
            application_name="evenrank",
        )

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Errors of PostgreSQL as errors of this package; what a store refuses is the same for every database."""
        try:
            yield
        except psycopg.IntegrityError as error:
            raise sqlite3.IntegrityError(first_line(error)) from error
        except psycopg.errors.NumericValueOutOfRange as error:
            raise OverflowError(first_line(error)) from error
        except psycopg.DataError as error:
            raise EvenrankError(f"a value cannot be stored: {first_line(error)}") from error
        except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction) as error:
            raise StoreUnavailableError(self.path, first_line(error)) from error


def open_postgres(
    address: str, schema: Schema, *, may_create: bool = False, wait_seconds: float = WAIT_SECONDS
) -> PostgresDatabase:
    """The tables of a kind in a PostgreSQL database, ready for use: created if they may be, and of this version."""
    store = PostgresDatabase(address, schema.namespace, wait_seconds=wait_seconds)
    try:
        _prepare(store, schema, may_create)
    except psycopg.ProgrammingError as error:  # an address that cannot be read, or rights that are missing
        store.close()
        raise input_error(store.path, 0, first_line(error), "check the address and the rights of its user") from error
    except BaseException:
        store.close()
        raise
    return store


def has_tables(address: str, schema: Schema) -> bool:
    """Whether a PostgreSQL database has tables of a kind."""
    with PostgresDatabase(address, schema.namespace) as store:
        try:
            return _version(store) is not None
        except psycopg.ProgrammingError as error:
            fix = "check the address and the rights of its user"
            raise input_error(store.path, 0, first_line(error), fix) from error


def _prepare(store: PostgresDatabase, schema: Schema, may_create: bool) -> None:
    version = _version(store)
    if version is None and not may_create:
        raise input_error(store.path, 0, f"has no tables of {schema.name}", schema.fix)
    if version is None or version < schema.version:
        with store.transaction() as connection:
            create_or_upgrade(connection, schema)
        version = _version(store)
    if version != schema.version:
        found = f"{schema.name} of version {version}, not {schema.version}"
        raise input_error(store.path, 0, found, "use the evenrank that made it, or a newer one")


def create_or_upgrade(connection: PostgresDatabase, schema: Schema) -> bool:
    """Create the tables of a kind in the transaction of a block, or bring them up to date; whether they are new."""
    version = _version(connection)  # another process may have been first
    if version is None:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema.namespace}")
        connection.execute("CREATE TABLE version (number bigint NOT NULL)")
        for statement in tables_for_postgres(schema.script):
            connection.execute(statement)
        schema.first_rows(connection)
        connection.execute("INSERT INTO version VALUES (?)", (schema.version,))
        return True
    for step in range(version + 1, schema.version + 1):
        for statement in tables_for_postgres(schema.upgrades[step]):
            connection.execute(statement)
        connection.execute("UPDATE version SET number = ?", (step,))
    return False


def _version(connection: PostgresDatabase) -> int | None:
    """The version of the tables; None when there are none."""
    # Not to_regclass(): it may answer from a cache that is older than the transaction another process just ended.
    known = "SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'version'"
    if connection.execute(known, (connection.namespace,)).fetchone() is None:
        return None
    (number,) = connection.execute("SELECT number FROM version").fetchone() or (None,)
    return None if number is None else int(number)
