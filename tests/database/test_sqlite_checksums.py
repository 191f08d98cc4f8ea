"""Checksums of SQLite files: right after every change, wrong after every damage."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenrank.database.schema import Schema
from evenrank.database.sqlite import SqliteFile, open_file
from evenrank.database.sqlite_connection import APPLICATION_ID, find_damage, row_checksum
from evenrank.errors import DamagedStoreError, InputError

SCHEMA = Schema(
    "a test file",
    2,
    """
CREATE TABLE thing (name TEXT PRIMARY KEY, size REAL, content BLOB) WITHOUT ROWID;
CREATE TABLE part (number INTEGER PRIMARY KEY, thing TEXT REFERENCES thing ON DELETE CASCADE, kind TEXT DEFAULT 'x');
CREATE INDEX part_kind ON part (kind);
""",
    "thing",
    "name another",
    {2: "ALTER TABLE part ADD COLUMN kind TEXT DEFAULT 'x';\nCREATE INDEX part_kind ON part (kind);"},
)
VERSION_1 = """
CREATE TABLE thing (name TEXT PRIMARY KEY, size REAL, content BLOB) WITHOUT ROWID;
CREATE TABLE part (number INTEGER PRIMARY KEY, thing TEXT REFERENCES thing ON DELETE CASCADE);
PRAGMA user_version = 1;
INSERT INTO thing VALUES ('a', 1, x'00ff');
"""
NAMES = st.sampled_from(["", "a", "b", "ß", "\u0378", "👩‍🔬", "'", "\x00"])
VALUES = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.text(max_size=4), st.binary(max_size=9)
)
STATEMENTS = st.one_of(
    st.tuples(st.just("INSERT OR IGNORE INTO thing VALUES (?, ?, ?)"), st.tuples(NAMES, VALUES, VALUES)),
    st.tuples(st.just("INSERT OR REPLACE INTO thing VALUES (?, ?, ?)"), st.tuples(NAMES, VALUES, VALUES)),
    st.tuples(
        st.just("INSERT INTO thing VALUES (?, ?, 1) ON CONFLICT (name) DO UPDATE SET size = size + 1, content = NULL"),
        st.tuples(NAMES, VALUES),
    ),
    st.tuples(st.just("UPDATE OR IGNORE thing SET content = ? WHERE name = ?"), st.tuples(VALUES, NAMES)),
    st.tuples(st.just("INSERT INTO part (thing) SELECT name FROM thing WHERE name <> ?"), st.tuples(NAMES)),
    st.tuples(st.just("DELETE FROM thing WHERE name = ?"), st.tuples(NAMES)),
)


def make(path: Path) -> SqliteFile:
    return open_file(SqliteFile(path), SCHEMA, may_create=True)


@given(st.lists(STATEMENTS, max_size=20))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_checksums_follow_every_change(tmp_path: Path, statements: list[tuple[str, tuple[object, ...]]]) -> None:
    with make(tmp_path / "file") as store:
        with store.transaction() as connection:
            for sql, values in statements:
                connection.execute(sql, values)
        assert find_damage(store.connection) == []


def test_a_transaction_that_is_undone_changes_no_checksum(tmp_path: Path) -> None:
    with make(tmp_path / "file") as store:
        with pytest.raises(ZeroDivisionError), store.transaction() as connection:
            connection.execute("INSERT INTO thing VALUES ('a', 1, NULL)")
            raise ZeroDivisionError
        assert store.check() == []
        assert store.connection.execute("SELECT value FROM row_checksum WHERE name = 'thing'").fetchone()[0] == 0


def test_a_checksum_distinguishes_types_and_places() -> None:
    rows = [("1", 2), (1, 2), (1.0, 2), (b"1", 2), (12,), (1, 2, None), (2, 1), ("1, 2",), (b"1", b"2"), (b"12", b"")]
    assert len({row_checksum(*row) for row in rows}) == len(rows)
    assert row_checksum("\u0378", 1.5, None, b"ab") == 3594586349, "files made elsewhere must stay valid"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE thing SET size = 2",
        "DELETE FROM thing",
        "INSERT INTO thing VALUES ('b', 1, NULL)",
        "UPDATE row_checksum SET value = value + 1 WHERE name = 'part'",
        "DELETE FROM row_checksum",
        "DROP TABLE row_checksum",
        "PRAGMA application_id = 0",
        "PRAGMA user_version = 1",
        "DROP INDEX part_kind",
        "CREATE TABLE other (x)",
    ],
)
def test_a_change_past_the_triggers_is_refused(tmp_path: Path, change: str) -> None:
    with make(tmp_path / "file") as store, store.transaction() as connection:
        connection.execute("INSERT INTO thing VALUES ('a', 1, x'00')")
    foreign = sqlite3.connect(tmp_path / "file", isolation_level=None)
    foreign.create_function("row_checksum", -1, lambda *values: 0)
    foreign.execute(change)
    foreign.close()
    before = (tmp_path / "file").read_bytes()
    with pytest.raises((DamagedStoreError, InputError)):
        make(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == before


def test_other_programs_cannot_change_rows_by_accident(tmp_path: Path) -> None:
    make(tmp_path / "file").close()
    foreign = sqlite3.connect(tmp_path / "file")
    with pytest.raises(sqlite3.OperationalError, match="no such function: row_checksum"):
        foreign.execute("INSERT INTO thing VALUES ('a', 1, NULL)")
    foreign.close()


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_made_before_checksums_gets_them(tmp_path: Path, version: int) -> None:
    foreign = sqlite3.connect(tmp_path / "file")
    foreign.executescript(VERSION_1)
    if version == 2:
        foreign.executescript(f"{SCHEMA.upgrades[2]}\nPRAGMA user_version = 2;")
    foreign.close()
    for _ in range(2):
        with make(tmp_path / "file") as store:
            assert store.connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
            assert store.check() == []
            assert [tuple(row) for row in store.connection.execute("SELECT * FROM thing")] == [("a", 1.0, b"\x00\xff")]
            with store.transaction() as connection:
                connection.execute("INSERT INTO part (thing) VALUES ('a')")


def test_an_upgrade_renews_the_checksums(tmp_path: Path) -> None:
    first = Schema("a test file", 1, VERSION_1.partition("PRAGMA")[0], "thing", "")
    with open_file(SqliteFile(tmp_path / "file"), first, may_create=True) as store, store.transaction() as connection:
        connection.execute("INSERT INTO thing VALUES ('a', 1, NULL)")
        connection.execute("INSERT INTO part VALUES (7, 'a')")
    with make(tmp_path / "file") as store:
        assert store.check() == []
        assert tuple(store.connection.execute("SELECT * FROM part").fetchone()) == (7, "a", "x")
