"""Backups are consistent while somebody writes, and only whole ones are put back."""

from __future__ import annotations

import sqlite3
import threading
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from evenrank.app.state import open_state
from evenrank.app.storage.backup import read_contents, restore_backup, write_backup
from evenrank.cli.main import cli
from evenrank.database.schema import Schema
from evenrank.database.sqlite import SqliteFile, open_file
from evenrank.errors import DamagedStoreError, InputError
from evenrank.trec.collection import Collection
from tests.app.conftest import UNLIMITED, client_of, posted
from tests.desk_collections import QUESTION

PAIRS = Schema("a file of pairs", 1, "CREATE TABLE pair (a INTEGER, b INTEGER);", "pair", "")


def counting_store(path: Path) -> SqliteFile:
    return open_file(SqliteFile(path), PAIRS, may_create=True)


def test_a_list_survives(generated: Collection, tmp_path: Path) -> None:
    from dataclasses import replace

    state = open_state(generated.path, replace(UNLIMITED, store=tmp_path / "desk.sqlite"))
    path = posted(client_of(state), "/lists", QUESTION)
    before = client_of(state).get(f"{path}.txt").text
    words = ["backup", str(tmp_path / "a.backup"), "--store", str(tmp_path / "desk.sqlite")]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    state.close()
    done = CliRunner().invoke(
        cli, ["restore", str(tmp_path / "a.backup"), "--store", str(tmp_path / "new" / "d.sqlite")]
    )
    assert done.exit_code == 0, done.output
    other = open_state(generated.path, replace(UNLIMITED, store=tmp_path / "new" / "d.sqlite"))
    assert client_of(other).get(f"{path}.txt").text == before
    other.close()


def test_a_backup_is_one_moment(tmp_path: Path) -> None:
    store = counting_store(tmp_path / "desk.sqlite")
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            with store.transaction() as connection:
                connection.execute("INSERT INTO pair VALUES (?, 0)", (number,))
                connection.execute("UPDATE pair SET b = a WHERE a = ?", (number,))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            write_backup(tmp_path / f"{number}.backup", {"store": tmp_path / "desk.sqlite"})
    finally:
        stop.set()
        writer.join()
    for number in range(5):
        restore_backup(tmp_path / f"{number}.backup", {"store": tmp_path / f"{number}.sqlite"})
        restored = sqlite3.connect(tmp_path / f"{number}.sqlite")
        n_rows, newest, n_torn = restored.execute("SELECT count(*), max(a), sum(a != b) FROM pair").fetchone()
        restored.close()
        assert n_rows == (newest or 0)
        assert not n_torn
    store.close()


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    counting_store(tmp_path / "desk.sqlite").close()
    write_backup(tmp_path / "a.backup", {"store": tmp_path / "desk.sqlite", "judgments": tmp_path / "desk.sqlite"})
    return tmp_path / "a.backup"


def test_only_its_owner_can_read_it(backup: Path) -> None:
    assert backup.stat().st_mode & 0o777 == 0o600
    assert [entry.kind for entry in read_contents(backup)] == ["store", "judgments"]


def test_files_that_are_there_or_in_use_are_kept(backup: Path, tmp_path: Path) -> None:
    target = tmp_path / "desk.sqlite"
    with pytest.raises(InputError, match="--force"):
        restore_backup(backup, {"store": target})
    using = counting_store(target)
    with using.transaction() as connection:
        connection.execute("INSERT INTO pair VALUES (1, 1)")
    with pytest.raises(InputError, match="stop the server"):
        restore_backup(backup, {"store": target}, replace=True)
    using.close()
    restore_backup(backup, {"store": target}, replace=True)
    assert sqlite3.connect(target).execute("SELECT count(*) FROM pair").fetchone() == (0,)


@pytest.mark.parametrize("damage", ["cut", "byte", "text", "swapped", "empty"])
def test_damaged_backups_change_nothing(backup: Path, tmp_path: Path, damage: str) -> None:
    content = bytearray(backup.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "byte":
        with zipfile.ZipFile(backup) as archive:
            at = archive.getinfo("store.sqlite").header_offset + 100
        content[at] ^= 0xFF
    elif damage == "text":
        content = bytearray(b"not a backup")
    elif damage == "empty":
        content = bytearray()
    backup.write_bytes(content)
    if damage == "swapped":
        with zipfile.ZipFile(backup) as archive:
            contents = archive.read("contents.json")
        with zipfile.ZipFile(backup, "w") as archive:
            archive.writestr("contents.json", contents)
            archive.writestr("store.sqlite", b"x" * 100)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(InputError):
        restore_backup(backup, {"store": tmp_path / "restored.sqlite"})
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_what_is_missing_is_said(backup: Path, tmp_path: Path) -> None:
    write_backup(tmp_path / "b.backup", {"store": tmp_path / "desk.sqlite"})
    with pytest.raises(InputError, match="no judgments"):
        restore_backup(tmp_path / "b.backup", {"judgments": tmp_path / "j.sqlite"})
    assert CliRunner().invoke(cli, ["backup", str(tmp_path / "c.backup")]).exit_code == 2
    shown = CliRunner().invoke(cli, ["restore", str(backup)]).output
    assert "store, " in shown
    assert "judgments, " in shown


def test_a_damaged_store_is_not_backed_up(tmp_path: Path) -> None:
    path = tmp_path / "desk.sqlite"
    with counting_store(path) as store, store.transaction() as connection:
        connection.executemany("INSERT INTO pair VALUES (?, ?)", [(1 << 40, number) for number in range(9)])
    content = path.read_bytes()
    path.write_bytes(content.replace((1 << 40).to_bytes(6), (1 << 41).to_bytes(6), 1))
    with pytest.raises(DamagedStoreError, match="rows of pair were changed outside Evenrank or are damaged"):
        write_backup(tmp_path / "a.backup", {"store": path})
    assert sorted(tmp_path.iterdir()) == [path]
