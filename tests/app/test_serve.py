"""`evenrank serve` as a process: it says where it listens, keeps what was saved, and explains what it lacks."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from evenrank.app import server
from evenrank.app.server import listen, make_server
from evenrank.cli.serve import command
from evenrank.errors import EvenrankError
from evenrank.trec.collection import Collection
from tests.desk_collections import QUESTION


@contextmanager
def serving(
    collection: Path, store: Path | str, *options: str
) -> Iterator[tuple[http.client.HTTPConnection, subprocess.Popen[str]]]:
    words = ["-m", "evenrank.cli.main", "serve", str(collection), "--port", "0", "--store", str(store), *options]
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r"http://\S+/", process.stdout.readline())
    assert found is not None
    place = urlsplit(found[0])
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    try:
        yield connection, process
    finally:
        connection.close()
        if process.poll() is None:
            process.kill()
        print(process.communicate()[1])  # shown when a test fails


def ask(connection: http.client.HTTPConnection, method: str, path: str, fields: dict[str, str] | None = None) -> str:
    """The location that an answer leads to, else its body."""
    connection.request(method, path, urlencode(fields) if fields else None)
    answer = connection.getresponse()
    body = answer.read().decode()
    assert answer.status in (200, 303), body
    return answer.getheader("Location") or body


def test_draws_survive_kill_9(generated: Collection, tmp_path: Path) -> None:
    store = tmp_path / "desk.sqlite"
    with serving(generated.path, store) as (connection, process):
        search = ask(connection, "POST", "/searches", QUESTION)
        draws = [ask(connection, "POST", f"{search}/draws") for _ in range(3)]
        before = [ask(connection, "GET", f"{draw}.txt") for draw in draws]
        process.send_signal(signal.SIGKILL)
        process.wait()
    with serving(generated.path, store) as (connection, process):
        assert [ask(connection, "GET", f"{draw}.txt") for draw in draws] == before
        assert ask(connection, "POST", f"{search}/draws") == f"{search}/draws/4"
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=30)
    assert "POST create_draw 303" in log
    assert search.rsplit("/", 1)[1] not in log
    assert "Traceback" not in log


def test_without_an_index_it_says_what_to_run(golden_collection: Collection) -> None:
    result = CliRunner().invoke(command, [str(golden_collection.path), "--port", "0"])
    assert isinstance(result.exception, EvenrankError)
    assert "evenrank index" in str(result.exception)


def test_a_port_that_is_taken_is_told() -> None:
    with listen("127.0.0.1", 0) as taken, pytest.raises(EvenrankError, match="another --port"):
        listen("127.0.0.1", taken.getsockname()[1])


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    """A server of this package in a thread, with one route that says how much it was sent."""

    async def count(request: Request) -> Response:
        return PlainTextResponse(str(len(await request.body())))

    served = make_server(Starlette(routes=[Route("/", count, methods=["POST"])]))
    with closing(listen("127.0.0.1", 0)) as opened:
        thread = threading.Thread(target=served.run, kwargs={"sockets": [opened]})
        thread.start()
        yield opened.getsockname()
        served.should_exit = True
        thread.join(30)


def exchanged(address: tuple[str, int], request: bytes) -> bytes:
    """Everything that the server says until it closes the connection."""
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_request_that_has_two_lengths_is_refused_and_the_connection_closed(
    address: tuple[str, int], is_reversed: bool
) -> None:
    lengths = ("Content-Length: 4", "Transfer-Encoding: chunked")
    head = "\r\n".join(("POST / HTTP/1.1", "Host: localhost", *(reversed(lengths) if is_reversed else lengths)))
    smuggled = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    answer = exchanged(address, head.encode() + b"\r\n\r\n0\r\n\r\n" + smuggled)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


def test_a_request_with_one_length_is_read(address: tuple[str, int]) -> None:
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    assert exchanged(address, head + b"Content-Length: 4\r\n\r\nabcd").endswith(b"\r\n\r\n4")
    chunks = b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    assert exchanged(address, head + chunks).endswith(b"\r\n\r\n3")


CHUNKED = b" / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(("n_chunks", "n_bytes", "status"), [(6, 1, 400), (6, 63, 400), (5, 1, 200), (6, 64, 200)])
def test_a_body_in_very_short_chunks_is_refused(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch, n_chunks: int, n_bytes: int, status: int
) -> None:
    """A megabyte of chunks of one byte kept the event loop busy for a second: nobody was answered meanwhile."""
    monkeypatch.setattr(server, "MANY_CHUNKS", 5)
    body = (b"%x\r\n%s\r\n" % (n_bytes, b"x" * n_bytes)) * n_chunks + b"0\r\n\r\n"
    answer = exchanged(address, b"POST" + CHUNKED + body)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert status == 400 or answer.endswith(b"\r\n%d" % (n_chunks * n_bytes))


def test_chunks_are_counted_for_each_request(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MANY_CHUNKS", 5)
    body = b"1\r\nx\r\n" * 4 + b"0\r\n\r\n"
    first = b"POST" + CHUNKED.replace(b"Connection: close\r\n", b"") + body
    assert exchanged(address, first + b"POST" + CHUNKED + body).count(b"HTTP/1.1 200 ") == 2


def test_a_fault_after_the_answer_closes_the_connection(
    address: tuple[str, int], caplog: pytest.LogCaptureFixture
) -> None:
    """The server tried to answer once more, and the log had a traceback for every such request."""
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(b"GET" + CHUNKED.replace(b"Connection: close\r\n", b""))
        assert connection.recv(65536).startswith(b"HTTP/1.1 405 ")
        connection.sendall(b"no length\r\n")
        with suppress(ConnectionResetError):
            assert b"HTTP/1.1" not in b"".join(iter(lambda: connection.recv(65536), b""))
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
