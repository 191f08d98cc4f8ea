"""Backups: copies of the server's databases in one file, taken while it runs, checked before they are put back.

A backup is the same SQLite file wherever it comes from; rows of PostgreSQL are copied to one and back.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import IO, TYPE_CHECKING

import orjson

from evenrank.app.storage.store import app_schema, now
from evenrank.database.database import Location, is_database_address
from evenrank.database.schema import Schema
from evenrank.database.sqlite import SqliteFile, open_file
from evenrank.database.sqlite_connection import TABLE as CHECKSUMS
from evenrank.database.sqlite_connection import find_damage, read_only
from evenrank.errors import DamagedStoreError, EvenrankError, ExistingFileError, input_error, reason_of
from evenrank.io.atomic import atomic_file, sync_folder, temporary_file, temporary_folder
from evenrank.trec.assessment.votes import judgments_schema

if TYPE_CHECKING:
    from evenrank.database.postgres import PostgresDatabase

FORMAT = 1
CONTENTS = "contents.json"
SCHEMAS: dict[str, Callable[[], Schema]] = {"store": app_schema, "judgments": judgments_schema}
"""What a backup may hold: lists and searches of the web app, and judgments."""
MAX_BYTES = 64 << 30
"""Longest database that is restored."""
_CHUNK = 1 << 20
MAX_CONTENTS = 1 << 20
"""Bytes of the longest list of contents."""
UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError),
    *(EOFError, KeyError, TypeError, ValueError, OverflowError),
)
"""What damaged archives make `zipfile` and the reading of their contents raise."""
BATCH = 500
"""Rows that are copied together."""


@dataclass(frozen=True)
class BackedUp:
    """One database in a backup."""

    kind: str
    size_bytes: int
    sha256: str


def write_backup(target: Path, databases: Mapping[str, Location]) -> list[BackedUp]:
    """Copy databases (kind → file) into one file; the server may go on writing meanwhile."""
    missing = [path for path in databases.values() if not is_database_address(path) and not Path(path).is_file()]
    if missing:
        raise input_error(missing[0], 0, "no such file", "name the file of the server")
    with temporary_folder(target) as folder:
        copies = {kind: _copy(kind, path, folder / kind) for kind, path in databases.items()}
        entries = [BackedUp(kind, copy.stat().st_size, _sha256(copy)) for kind, copy in copies.items()]
        contents = {
            "format": FORMAT,
            "evenrank": version("evenrank"),
            "created": now(),
            "databases": [{"kind": e.kind, "size_bytes": e.size_bytes, "sha256": e.sha256} for e in entries],
        }
        with atomic_file(target, is_private=True) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(CONTENTS, orjson.dumps(contents, option=orjson.OPT_INDENT_2))
            for kind, copy in copies.items():
                archive.write(copy, f"{kind}.sqlite")  # with secret links and sessions, so the file is private
    return entries


def read_contents(source: Path) -> list[BackedUp]:
    """What a backup holds; an error when the file is not one."""
    try:
        with zipfile.ZipFile(source) as archive, archive.open(CONTENTS) as file:
            record = orjson.loads(file.read(MAX_CONTENTS))
        if record["format"] != FORMAT:
            raise input_error(source, 0, f"a backup of format {record['format']}, not {FORMAT}", "use a newer evenrank")
        entries = [BackedUp(str(e["kind"]), int(e["size_bytes"]), str(e["sha256"])) for e in record["databases"]]
        if len({entry.kind for entry in entries}) < len(entries):
            raise ValueError("a database is named twice")
        return entries
    except (OSError, *UNREADABLE) as error:
        raise input_error(
            source, 0, f"not a backup: {reason_of(error)}", "name a file that `evenrank backup` wrote"
        ) from error


def restore_backup(source: Path, targets: Mapping[str, Location], *, replace: bool = False) -> list[BackedUp]:
    """Put databases of a backup back (kind → file or address), all checked before the first is replaced.

    A file that is there is replaced only if `replace` says so, and never while its write-ahead log is there: then a
    server is using it, or was killed and must be started once to finish what it was writing.
    """
    entries = [entry for entry in read_contents(source) if entry.kind in targets]
    absent = sorted(set(targets) - {entry.kind for entry in entries})
    if absent:
        raise input_error(source, 0, f"no {' and no '.join(absent)} in this backup", "leave that option out")
    for target in targets.values():
        if not is_database_address(target):
            _refuse_used(Path(target), replace)
    unpacked: dict[str, Path] = {}
    try:
        for entry in entries:
            target = targets[entry.kind]
            beside = Path(tempfile.gettempdir()) / entry.kind if is_database_address(target) else Path(target)
            unpacked[entry.kind] = _unpack(source, entry, beside)
        for kind, path in unpacked.items():
            _put_back(kind, path, targets[kind], replace)
    finally:
        for path in unpacked.values():
            path.unlink(missing_ok=True)
    return entries


def _put_back(kind: str, path: Path, target: Location, replace: bool) -> None:
    if is_database_address(target):
        copy_in(path, str(target), SCHEMAS[kind](), replace=replace)
    else:
        os.replace(path, target)
        sync_folder(Path(target).parent)


def _refuse_used(path: Path, replace: bool) -> None:
    if path.exists() and not replace:
        raise input_error(path, 0, "is there already", "name another file, or replace it with --force")
    log = path.with_name(f"{path.name}-wal")
    if log.exists():
        raise input_error(path, 0, f"in use: {log.name} is there", "stop the server first")


def _copy(kind: str, location: Location, copy: Path) -> Path:
    """A consistent copy of a database: of a file, by SQLite's own online backup."""
    path = copy.with_suffix(".rows") if is_database_address(location) else Path(location)
    if is_database_address(location):
        copy_out(str(location), SCHEMAS[kind](), path)
    with SqliteFile(path) as source, closing(sqlite3.connect(copy)) as target:
        try:
            source.connection.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            raise EvenrankError(f"{path}: cannot be copied: {error}") from error
    if found := _damage(copy):
        raise DamagedStoreError(path, found[0])
    return copy


def _unpack(source: Path, entry: BackedUp, target: Path) -> Path:
    """A database of a backup beside the place it goes to, checked."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = temporary_file(target)
    path = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            _write_entry(source, entry, file)
            file.flush()
            os.fsync(file.fileno())
        _check_copy(path, entry)
    except (DamagedStoreError, sqlite3.Error, *UNREADABLE) as error:
        path.unlink(missing_ok=True)
        reason = error.reason if isinstance(error, DamagedStoreError) else error
        raise input_error(source, 0, f"{entry.kind} cannot be restored: {reason}", "the file is damaged") from error
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def _write_entry(source: Path, entry: BackedUp, file: IO[bytes]) -> None:
    """Unpack one database; no more of it than the backup says there is."""
    n_left = min(entry.size_bytes, MAX_BYTES)
    with zipfile.ZipFile(source) as archive, archive.open(f"{entry.kind}.sqlite") as packed:
        while chunk := packed.read(_CHUNK):
            n_left -= len(chunk)
            if n_left < 0:
                raise ValueError("it is longer than it should be")
            file.write(chunk)


def _check_copy(path: Path, entry: BackedUp) -> None:
    """ValueError for a database that is not what was backed up, or not whole."""
    if _sha256(path) != entry.sha256:
        raise ValueError("it is not what was backed up")
    if found := _damage(path):
        raise ValueError(found[0])


def _damage(path: Path) -> list[str]:
    """What is corrupted in a database that nobody is using."""
    with closing(read_only(path)) as connection:
        return find_damage(connection)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copy_out(address: str, schema: Schema, target: Path) -> None:
    """Copy the tables in a PostgreSQL database, as they are at one moment, to a new SQLite file."""
    from evenrank.database.postgres import open_postgres

    with (
        open_postgres(address, schema) as source,
        open_file(SqliteFile(target), schema, may_create=True) as file,
        source.snapshot(),
        file.transaction() as connection,
    ):
        connection.execute("DELETE FROM setting")
        for table, columns in _tables(connection):
            rows = source.stream(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1", BATCH)
            connection.executemany(_insert(table, columns), rows)


def copy_in(source: Path, address: str, schema: Schema, *, replace: bool) -> None:
    """Copy the tables of an SQLite file to a PostgreSQL database, all or nothing; `replace` removes those there."""
    from evenrank.database.postgres import PostgresDatabase, create_or_upgrade

    with (
        open_file(SqliteFile(source), schema) as file,
        PostgresDatabase(address, schema.namespace) as target,
        target.transaction() as connection,
    ):
        if replace:
            connection.execute(f"DROP SCHEMA IF EXISTS {schema.namespace} CASCADE")
        if not create_or_upgrade(connection, schema):
            raise ExistingFileError(f"{target.path}: has tables of {schema.name} already (replace them with --force)")
        connection.execute("DELETE FROM setting")
        for table, columns in _tables(file.connection):
            rows = file.connection.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1")
            connection.executemany(_insert(table, columns), map(tuple, rows))
            _continue_numbers(connection, table, columns[0])


def _tables(connection: sqlite3.Connection) -> Iterator[tuple[str, list[str]]]:
    """Names of tables with their columns, in the order of creation: no row comes before one it refers to."""
    names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
    for table in (name for (name,) in connection.execute(names).fetchall() if name != CHECKSUMS):
        yield table, [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def _insert(table: str, columns: list[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def _continue_numbers(connection: PostgresDatabase, table: str, column: str) -> None:
    """Numbers given out from now on follow those that were copied."""
    sequence = connection.execute("SELECT pg_get_serial_sequence(?, ?)", (table, column)).fetchone()
    if sequence is not None and sequence[0] is not None:
        last = f"(SELECT coalesce(max({column}), 0) + 1 FROM {table})"
        connection.execute(f"SELECT setval(?, {last}, false)", (sequence[0],))
