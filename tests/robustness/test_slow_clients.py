"""Clients that send slowly, do not read, or come in numbers: others are still served."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
import pytest

pytest.importorskip("uvicorn", reason="needs the extra web")

from evenrank.app.server import BoundedLog, make_room
from evenrank.retrieval.engine.indexing import build_index
from evenrank.trec.import_files import import_collection
from tests.robustness.server import QUESTION, get, is_closed, n_descriptors, open_files, post, raw, serving
from tests.robustness.small_files import small_files
from tests.robustness.soak import leaks, left_open

HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
BODY = b"POST /lists HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slow")
    build_index(import_collection(folder / "c", small_files(folder / "files", 200))).close()
    return folder / "c"


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[tuple[int, int]]:
    with serving(folder, n_files=600, log=folder / "log") as started:
        yield started


def test_unfinished_requests_are_let_go_and_others_are_served(folder: Path, server: tuple[int, int]) -> None:
    process, port = server
    slow = [raw(port, HEAD) for _ in range(300)]
    slow += [raw(port, BODY + b"Content-Length: 5000\r\n\r\ntitle=") for _ in range(300)]
    slow += [raw(port, b"") for _ in range(100)]
    with ThreadPoolExecutor(100) as visitors:
        statuses = list(visitors.map(lambda _: get(port, "/")[0], range(100)))
    assert statuses == [200] * 100
    assert n_descriptors(process) < 600
    assert all(is_closed(opened, 40) for opened in slow)
    for opened in slow:
        opened.close()
    assert (folder / "log").stat().st_size < 1_000_000


def test_a_client_that_leaves_is_no_failure_of_the_server(folder: Path, server: tuple[int, int]) -> None:
    """Its request was counted as answered with 500, so that anybody could raise alarms."""
    _, port = server
    for _ in range(3):
        unfinished = raw(port, b"POST /lists/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx")
        time.sleep(0.2)
        unfinished.close()
    deadline = time.monotonic() + 20
    while 'route="check_list",status="499"} 3' not in (counts := counts_of(port)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert 'route="check_list",status="499"} 3' in counts
    assert 'status="500"' not in counts


def counts_of(port: int) -> str:
    with raw(port, b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n") as opened:
        return b"".join(iter(lambda: opened.recv(65536), b"")).decode()


def test_dripping_bytes_buy_no_time(server: tuple[int, int]) -> None:
    opened = raw(server[1], HEAD)
    begin = time.monotonic()
    while time.monotonic() - begin < 40:
        try:
            opened.sendall(b"X-A: b\r\n")
        except OSError:
            break
        time.sleep(0.5)
    assert time.monotonic() - begin < 40
    opened.close()


def test_bursts_of_visitors_leave_no_descriptors_behind(server: tuple[int, int]) -> None:
    """One connection to the store for every thread that ever lived: eight bursts used up 1,024 descriptors."""
    process, port = server

    def burst() -> None:
        with ThreadPoolExecutor(60) as visitors:
            assert list(visitors.map(lambda _: get(port, "/")[0], range(60))) == [200] * 60

    assert get(port, "/")[0] == 200
    idle = open_files(process)
    for _ in range(3):
        burst()
        time.sleep(11.5)  # idle threads of the server end after ten seconds
    assert leaks(left_open(process, port, idle)) == {}


def stored(port: int, path: str, content: dict[str, object]) -> bytes:
    """The answer when something is stored; a visitor comes back as often as a slow machine asks for it with a 503."""
    for _ in range(60):
        status, text = post(port, path, orjson.dumps(content), timeout=300)
        if status != 503:
            break
        time.sleep(5)
    assert status in (200, 201), (status, text)
    return text


@pytest.mark.long
@pytest.mark.timeout(2400)  # twenty pauses take four minutes; a busy machine may take far longer for the bursts
def test_twenty_bursts_leave_no_more_than_three(folder: Path, tmp_path: Path) -> None:
    """A closed connection leaves its descriptor to the next one, so their number is that of the busiest moment.

    All threads of the server are busy in each of the first three bursts, so no later moment is busier. Draws are
    stored, because a visitor keeps up to 1,000 searches.
    """
    with serving(folder, "--store", tmp_path / "desk.sqlite") as (process, port):
        counts = []
        for number in range(20):
            token = orjson.loads(stored(port, "/api/searches", QUESTION))["token"]
            with ThreadPoolExecutor(80) as visitors:
                draws = f"/api/searches/{token}/draws"
                n_draws = 240 if number < 3 else 80
                list(
                    visitors.map(lambda at, path=draws: stored(port, path, {"editor": f"editor {at}"}), range(n_draws))
                )
            time.sleep(11.5)  # idle threads of the server end after ten seconds
            assert get(port, "/", timeout=300)[0] == 200
            counts.append(open_files(process))
    print([sum(found.values()) for found in counts], counts[2], counts[-1])
    for name in counts[-1]:
        assert counts[-1][name] <= max(found[name] for found in counts[:3]) + 2, name


def test_a_locked_store_is_answered_with_503_and_pages_still_come(folder: Path, server: tuple[int, int]) -> None:
    _, port = server
    body = orjson.dumps(QUESTION)
    assert post(port, "/api/searches", body)[0] in (200, 201)
    other = sqlite3.connect(folder / "desk.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answers: list[tuple[int, bytes]] = []
    writers = [threading.Thread(target=lambda: answers.append(post(port, "/api/searches", body))) for _ in range(30)]
    for writer in writers:
        writer.start()
    time.sleep(1.0)
    assert get(port, "/", timeout=20)[0] == 200
    for writer in writers:
        writer.join()
    other.execute("ROLLBACK")
    other.close()
    assert {status for status, _ in answers} == {503}
    assert not any(str(folder).encode() in text for _, text in answers)
    assert post(port, "/api/searches", body)[0] in (200, 201)


@pytest.mark.parametrize("number", ["9" * 19, "9" * 30, "9" * 5000])
def test_huge_numbers_in_links_are_not_found(server: tuple[int, int], number: str) -> None:
    status, text = post(server[1], "/api/searches", orjson.dumps(QUESTION))
    assert status in (200, 201)
    token = orjson.loads(text)["token"]
    for path in (f"/searches/{token}/draws/{number}", f"/api/searches/{token}/draws/{number}", f"/?page={number}"):
        assert get(server[1], path)[0] < 500, path


class Waiting:
    """A connection as `make_room` sees it."""

    def __init__(self, phase: str, since: float) -> None:
        self.phase, self.waiting_since, self.is_open = phase, since, True

    def abort(self) -> None:
        self.is_open = False


def test_those_who_waited_longest_make_room_and_those_being_answered_stay() -> None:
    answered, early, late = Waiting("", 0.0), Waiting("head", 1.0), Waiting("body", 2.0)
    connections = {answered, early, late}
    make_room(connections, 2)
    assert (answered.is_open, early.is_open, late.is_open) == (True, False, True)
    make_room(connections, 0)
    assert connections == {answered}


def test_the_log_is_bounded_and_says_so() -> None:
    log = BoundedLog(lines_per_second=0.001, burst=10)
    record = logging.LogRecord("x", logging.INFO, "", 0, "a line %d", (1,), None)
    assert sum(log.filter(record) for _ in range(100)) == 10
    log.room = 5.0
    assert log.filter(record)
    assert "90 lines were left out" in record.getMessage()
