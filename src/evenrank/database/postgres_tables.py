"""Tables in PostgreSQL: created, recognised and upgraded when a store is opened."""

from __future__ import annotations

import psycopg

from evenrank.database.postgres import PostgresDatabase
from evenrank.database.postgres_sql import tables_for_postgres
from evenrank.database.schema import Schema
from evenrank.database.sqlite import WAIT_SECONDS
from evenrank.errors import first_line, input_error


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
