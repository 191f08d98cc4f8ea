"""Work in progress on disk: rows read from the dumps, and how far reading has come, in one SQLite file.

Rows and position are committed together, so that a process killed at any moment leaves a store from which the same
command resumes. Memory stays small whatever the size of the dumps, and the join of pages to items is left to SQL.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evenrank.database.sqlite import SqliteFile
from evenrank.errors import DamagedStoreError, EvenrankError, StoreUnavailableError
from evenrank.io.content import START, Position

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages (page_id INTEGER PRIMARY KEY, title TEXT, n_bytes INTEGER, n_media INTEGER,
    n_headings INTEGER, n_references INTEGER, n_short_footnotes INTEGER, n_links INTEGER, n_categories INTEGER);
CREATE TABLE IF NOT EXISTS redirects (title TEXT PRIMARY KEY, target TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS items (item INTEGER PRIMARY KEY, title TEXT, is_redirect INTEGER, facts BLOB);
CREATE TABLE IF NOT EXISTS wiki_items (wiki TEXT, item INTEGER, title TEXT, is_redirect INTEGER, facts BLOB,
    PRIMARY KEY (wiki, item)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS place_countries (place INTEGER, country INTEGER, PRIMARY KEY (place, country)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS superclasses (item INTEGER, superclass INTEGER,
    PRIMARY KEY (item, superclass)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS page_props (page_id INTEGER PRIMARY KEY, item INTEGER);
CREATE TABLE IF NOT EXISTS subjects (item INTEGER PRIMARY KEY, label TEXT, description TEXT, n_wikis INTEGER);
CREATE TABLE IF NOT EXISTS creation_dates (page_id INTEGER PRIMARY KEY, date TEXT);
CREATE TABLE IF NOT EXISTS item_of_page (page_id INTEGER PRIMARY KEY, item INTEGER);
"""

Rows = Mapping[str, Sequence[Sequence[Any]]]
"""Rows by table; a row whose key is there already is left out, so that the first one counts."""


class WorkStore:
    """The rows of one run of the labeller."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._clear_errors():
            self._file = SqliteFile(path, is_durable=False)
            for statement in filter(str.strip, SCHEMA.split(";")):
                self._file.connection.execute(statement)

    def close(self) -> None:
        self._file.close()

    def get(self, name: str) -> Any:
        """A value kept by `put`, or None."""
        row = self.query("SELECT value FROM meta WHERE name = ?", [name]).fetchone()
        return json.loads(row[0]) if row else None

    def put(self, name: str, value: Any) -> None:
        self.query("INSERT OR REPLACE INTO meta VALUES (?, ?)", [name, json.dumps(value)])

    def position(self, stage: str) -> Position | None:
        """Where reading resumes; None when the stage is finished."""
        kept = self.get(f"position of {stage}")
        return START if kept is None else None if kept == "end" else Position(*kept)

    def add(self, stage: str, rows: Rows, position: Position | None, tally: Mapping[str, Any]) -> None:
        """Keep rows, the position after them (None at the end) and the stage's tally so far, all or nothing."""
        with self.transaction():
            for table, values in rows.items():
                if values:
                    marks = ", ".join("?" * len(values[0]))
                    sql = f"INSERT OR IGNORE INTO {table} VALUES ({marks})"
                    self._file.connection.executemany(sql, values)
            self.put(f"position of {stage}", "end" if position is None else position)
            self.put(f"tally of {stage}", tally)

    def copy_entities(self, source: WorkStore, wiki: str, stage: str) -> None:
        """Take over what another store has read of Wikidata for the pages of a wiki; the stage is finished then."""
        if self.position(stage) is None:
            return
        self.query("ATTACH DATABASE ? AS source", [str(source.path)])
        try:
            with self.transaction():
                taken = "SELECT item, title, is_redirect, facts FROM source.wiki_items WHERE wiki = ?"
                self.query(f"INSERT INTO items {taken}", [wiki])
                for table in ("place_countries", "superclasses"):
                    self.query(f"INSERT INTO {table} SELECT * FROM source.{table}")
                self.put(f"position of {stage}", "end")
                self.put(f"tally of {stage}", source.tally(stage))
        finally:
            self.query("DETACH DATABASE source")

    def tally(self, stage: str) -> dict[str, Any]:
        """What a stage has counted so far."""
        return self.get(f"tally of {stage}") or {}

    def stages(self) -> list[str]:
        """Names of the stages that have rows here, sorted."""
        kept = self.query("SELECT name FROM meta WHERE name LIKE 'tally of %' ORDER BY name")
        return [name.removeprefix("tally of ") for (name,) in kept]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A block whose rows are kept together or not at all."""
        with self._clear_errors(), self._file.transaction():
            yield

    def query(self, sql: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        """The rows that a statement gives."""
        with self._clear_errors():
            return self._file.connection.execute(sql, tuple(values))

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except DamagedStoreError as error:
            raise EvenrankError(f"{self.path}: the unfinished work is damaged: start over with --fresh") from error
        except StoreUnavailableError as error:
            kept = "finished parts are kept: make room and run the same command again, or start over with --fresh"
            raise EvenrankError(f"{self.path}: could not be written: {error.reason} ({kept})") from error
