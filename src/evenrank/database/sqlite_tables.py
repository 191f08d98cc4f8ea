"""Tables of SQLite files: created, recognised, compared with their checksums and upgraded when a file is opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from evenrank.database.schema import Schema, statements_of
from evenrank.database.sqlite import S, SqliteFile
from evenrank.database.sqlite_checksums import add_checksums, drop_checksums, has_checksums
from evenrank.database.sqlite_connection import can_write
from evenrank.errors import DamagedStoreError, input_error, reason_of


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
