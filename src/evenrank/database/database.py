"""What the web app and the judgments ask of a database: SQLite in a file, or PostgreSQL on a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from evenrank.database.postgres_sql import without_password
from evenrank.database.schema import Schema
from evenrank.database.sqlite import WAIT_SECONDS, SqliteFile, open_file
from evenrank.errors import MissingExtraError

SCHEMES = ("postgresql", "postgres")
"""Schemes of an address of PostgreSQL."""
Location = Path | str
"""A file, or the address of a PostgreSQL database (postgresql://USER@HOST/NAME)."""
Turn = tuple[str, object]
"""What a write is about, e.g. ("search", 7): writes about the same thing happen one after the other."""


class Rows(Protocol):
    """The rows of an answer; each has its columns by position and by name."""

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """Runs SQL that both databases know, with `?` or `:name` for values."""

    def execute(self, sql: str, parameters: Any = ..., /) -> Rows: ...

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Rows: ...


class Database(Protocol):
    """A database that many threads and processes share."""

    @property
    def path(self) -> object:
        """What it is called in messages: a file, or an address without its password."""

    @property
    def max_bytes(self) -> int | None:
        """Size at which it counts as full; None for no limit of ours."""

    def size_bytes(self) -> int:
        """How much room it takes; 0 when that cannot be seen."""

    @property
    def connection(self) -> Connection:
        """This thread's connection, for reading."""

    def transaction(self, turn: Turn | None = None) -> AbstractContextManager[Connection]:
        """A write that is stored completely when the block ends without an error, and durable by then.

        Writes about the same thing never overlap; without `turn`, a write overlaps with no other.
        """

    def snapshot(self) -> AbstractContextManager[None]:
        """A block that reads one state of the database, whatever others write meanwhile."""

    def check(self) -> list[str]:
        """What is damaged; empty when nothing is found."""

    def close(self) -> None:
        """Close the connections of all threads."""

    def __enter__(self) -> Database: ...

    def __exit__(self, *_: object) -> None: ...


def is_database_address(location: Location) -> bool:
    """Whether a location is the address of a PostgreSQL database, and not a file."""
    return str(location).partition(":")[0] in SCHEMES and "//" in str(location)


def open_database(
    location: Location,
    schema: Schema,
    *,
    may_create: bool = False,
    wait_seconds: float = WAIT_SECONDS,
    max_bytes: int | None = None,
) -> Database:
    """The database at a location, ready for use: its tables created if they may be, and brought up to date.

    `max_bytes` limits a file; a PostgreSQL database has the limits of its server.
    """
    if not is_database_address(location):
        file = SqliteFile(location, wait_seconds=wait_seconds, max_bytes=max_bytes)
        return open_file(file, schema, may_create=may_create)
    opened: Database = _postgres().open_postgres(
        str(location), schema, may_create=may_create, wait_seconds=wait_seconds
    )
    return opened


def kinds_in(address: str, schemas: Iterable[Schema]) -> list[Schema]:
    """Those kinds of store whose tables a PostgreSQL database has."""
    return [schema for schema in schemas if _postgres().has_tables(address, schema)]


def _postgres() -> ModuleType:
    try:
        from evenrank.database import postgres
    except ImportError as error:
        raise MissingExtraError("a store in PostgreSQL", "postgres") from error
    return postgres


def shown_location(location: Location) -> str:
    """A location as messages show it."""
    return without_password(str(location)) if is_database_address(location) else str(location)
