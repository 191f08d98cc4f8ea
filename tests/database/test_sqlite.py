"""SQLite files: connections end with their threads, a locked file is named as such, damage is never raw."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from evenrank.database import sqlite as module
from evenrank.database.schema import Schema
from evenrank.database.sqlite import SqliteFile, open_file
from evenrank.errors import DamagedStoreError, EvenrankError, InputError, StoreUnavailableError

SCHEMA = Schema("a test file", 1, "CREATE TABLE thing (name TEXT PRIMARY KEY, size INTEGER);", "thing", "name another")


def make(path: Path, wait_seconds: float = 1.0) -> SqliteFile:
    return open_file(SqliteFile(path, wait_seconds=wait_seconds), SCHEMA, may_create=True)


def n_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def burst(store: SqliteFile, n_threads: int) -> None:
    """Threads that all read at once, and then end."""
    together = threading.Barrier(n_threads)

    def read() -> None:
        together.wait()
        assert store.connection.execute("SELECT count(*) FROM thing").fetchone()[0] == 0
        together.wait()

    threads = [threading.Thread(target=read) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors in /proc")
def test_descriptors_stay_flat_over_bursts_of_threads(tmp_path: Path) -> None:
    with make(tmp_path / "file") as store:
        burst(store, 20)
        before = n_descriptors()
        for _ in range(10):
            burst(store, 20)
        assert n_descriptors() <= before
    assert n_descriptors() < before


def test_close_reaches_the_connections_of_other_threads(tmp_path: Path) -> None:
    store = make(tmp_path / "file")
    opened, may_end = threading.Event(), threading.Event()
    kept = []

    def hold() -> None:
        kept.append(store.connection)
        opened.set()
        may_end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    opened.wait()
    store.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        kept[0].execute("SELECT 1")
    may_end.set()
    thread.join()


def test_a_locked_file_is_unavailable_within_the_time_limit(tmp_path: Path) -> None:
    with make(tmp_path / "file", wait_seconds=0.5) as store:
        other = sqlite3.connect(tmp_path / "file", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        begin = time.monotonic()
        with pytest.raises(StoreUnavailableError, match="another process is writing"), store.transaction():
            pytest.fail("a transaction began beside another one")
        assert time.monotonic() - begin < 5.0
        other.execute("ROLLBACK")
        other.close()
        with store.transaction() as connection:
            connection.execute("INSERT INTO thing VALUES ('a', 1)")
        assert store.connection.execute("SELECT size FROM thing").fetchone()[0] == 1


def test_a_writer_waits_for_another_process_that_ends_in_time(tmp_path: Path) -> None:
    with make(tmp_path / "file", wait_seconds=60.0) as store:
        other = sqlite3.connect(tmp_path / "file", isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.5, lambda: other.execute("ROLLBACK"))
        timer.start()
        with store.transaction() as connection:
            connection.execute("INSERT INTO thing VALUES ('a', 1)")
        timer.join()
        other.close()
        assert store.connection.execute("SELECT count(*) FROM thing").fetchone()[0] == 1


def test_writers_of_one_process_wait_for_each_other_longer_than_for_another_process(tmp_path: Path) -> None:
    """On a slow disk, forty threads that each wrote for 0.1 s made the last ones give up."""
    with make(tmp_path / "file", wait_seconds=0.1) as store:
        is_writing, stored = threading.Event(), []

        def write() -> None:
            is_writing.wait()
            with store.transaction() as connection:
                connection.execute("INSERT INTO thing VALUES ('b', 2)")
            stored.append("b")

        thread = threading.Thread(target=write)
        thread.start()
        with store.transaction() as connection:
            is_writing.set()
            time.sleep(0.5)
            connection.execute("INSERT INTO thing VALUES ('a', 1)")
        thread.join()
        assert stored == ["b"]
        assert store.connection.execute("SELECT count(*) FROM thing").fetchone()[0] == 2


def test_writers_of_one_process_write_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    """Of forty editors on a busy machine, some waited for half a minute while others wrote hundreds of times."""
    n_written, passed = [0], []
    with make(tmp_path / "file") as store:

        def write() -> None:
            for _ in range(12):
                before = n_written[0]
                with store.transaction():
                    passed.append(n_written[0] - before)
                    time.sleep(0.003)
                    n_written[0] += 1

        threads = [threading.Thread(target=write) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert n_written == [96]
    assert max(passed) <= len(threads)


def test_a_writer_that_gives_up_leaves_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUEUE_SECONDS", 0.1)
    with make(tmp_path / "file") as store:

        def write() -> None:
            with store.transaction():
                pass

        with store.transaction(), ThreadPoolExecutor(4) as threads:
            waiting = [threads.submit(write) for _ in range(4)]
            assert {type(each.exception()) for each in waiting} == {StoreUnavailableError}
        with store.transaction() as connection:
            connection.execute("INSERT INTO thing VALUES ('a', 1)")
        assert store.connection.execute("SELECT size FROM thing").fetchone()[0] == 1


def test_writers_behind_a_stalled_one_give_up_together(tmp_path: Path) -> None:
    """Without this, the writers of a locked file wait one after the other, and take every thread of a server."""
    with make(tmp_path / "file", wait_seconds=2.5) as store:
        other = sqlite3.connect(tmp_path / "file", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        ended: list[str] = []

        def write() -> None:
            try:
                with store.transaction():
                    ended.append("stored")
            except StoreUnavailableError:
                ended.append("unavailable")

        threads = [threading.Thread(target=write) for _ in range(12)]
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        other.close()
        assert ended == ["unavailable"] * 12
        assert time.monotonic() - begin < 3 * 2.5, "they waited one after the other"


def test_a_full_disk_is_unavailable_and_the_file_stays_whole(tmp_path: Path) -> None:
    with make(tmp_path / "file") as store:
        store.connection.execute("PRAGMA max_page_count = 6")
        with pytest.raises(StoreUnavailableError, match="disk is full"), store.transaction() as connection:
            connection.executemany("INSERT INTO thing VALUES (?, ?)", [(f"{n:01000}", n) for n in range(100)])
        assert store.check() == []
        assert store.connection.execute("SELECT count(*) FROM thing").fetchone()[0] == 0


def test_damage_is_named_wherever_it_shows(tmp_path: Path) -> None:
    with make(tmp_path / "file") as store, store.transaction() as connection:
        connection.executemany("INSERT INTO thing VALUES (?, ?)", [(f"{n:0100}", n) for n in range(1000)])
    content = bytearray((tmp_path / "file").read_bytes())
    content[8192:40000] = bytes(40000 - 8192)
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DamagedStoreError, match="doctor"):
        open_file(SqliteFile(tmp_path / "file"), SCHEMA)
    with SqliteFile(tmp_path / "file") as store, pytest.raises(DamagedStoreError, match="doctor"):
        list(store.connection.execute("SELECT * FROM thing"))


@pytest.mark.parametrize("content", [b"\1", b"some text\n" * 400, bytes(4096)])
def test_files_of_another_kind_are_refused_and_stay_as_they_are(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError, match="a test file"):
        open_file(SqliteFile(path), SCHEMA, may_create=True)
    assert path.read_bytes() == content


@pytest.mark.parametrize("successor", [None, "empty", "another"])
def test_a_file_that_was_removed_or_replaced_takes_nothing_more(tmp_path: Path, successor: str | None) -> None:
    """Writes went to the file that nobody can open any more, and were acknowledged."""
    path, kept = tmp_path / "file", tmp_path / "kept"
    with make(path) as store:
        with store.transaction() as connection:
            connection.execute("INSERT INTO thing VALUES ('a', 1)")
        path.rename(kept)
        if successor == "empty":
            path.touch()
        elif successor:
            make(path).close()
        with pytest.raises(StoreUnavailableError, match="removed or replaced"), store.transaction():
            pytest.fail("begun")
        errors: list[str] = []

        def read() -> None:  # a thread that comes later would see another file than the others
            try:
                _ = store.connection
            except StoreUnavailableError as error:
                errors.append(str(error))

        reading = threading.Thread(target=read)
        reading.start()
        reading.join()
        assert len(errors) == 1
        if successor is None:
            kept.rename(path)
            with store.transaction() as connection:
                connection.execute("INSERT INTO thing VALUES ('b', 2)")


def test_an_upgrade_is_made_once_in_one_transaction(tmp_path: Path) -> None:
    make(tmp_path / "file").close()
    newer = Schema("a test file", 2, "", "thing", "", {2: "ALTER TABLE thing ADD COLUMN colour TEXT;"})
    for _ in range(2):
        with open_file(SqliteFile(tmp_path / "file"), newer) as store:
            columns = [row["name"] for row in store.connection.execute("PRAGMA table_info(thing)")]
            assert columns == ["name", "size", "colour"]
    broken = Schema("a test file", 3, "", "thing", "", {3: "ALTER TABLE thing ADD COLUMN a;\nALTER TABLE none ADD b;"})
    with pytest.raises(DamagedStoreError):
        open_file(SqliteFile(tmp_path / "file"), broken)
    open_file(SqliteFile(tmp_path / "file"), newer).close()


def _open_together(folder: Path, start: Barrier, faults: SimpleQueue[str]) -> None:
    for number in range(60):
        start.wait()
        try:
            make(folder / str(number), wait_seconds=30).close()
        except EvenrankError as error:
            faults.put(str(error))


def test_processes_that_make_one_file_together_all_open_it(tmp_path: Path) -> None:
    """SQLite refuses at once, without waiting, whoever turns the write-ahead log on while another one does."""
    context = get_context("fork")
    start, faults = context.Barrier(4), context.SimpleQueue()
    processes = [context.Process(target=_open_together, args=(tmp_path, start, faults)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert faults.empty(), faults.get()
    assert [process.exitcode for process in processes] == [0] * 4


@pytest.mark.skipif(os.name != "posix", reason="rights of files are those of POSIX")
def test_a_new_file_and_its_logs_can_be_read_by_their_owner_only(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with open_file(SqliteFile(tmp_path / "new" / "s.sqlite"), SCHEMA, may_create=True) as store:
            with store.transaction() as connection:
                connection.execute("CREATE TABLE more (x)")
            rights = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()}
    finally:
        os.umask(before)
    assert rights == dict.fromkeys(("s.sqlite", "s.sqlite-wal", "s.sqlite-shm"), 384)
