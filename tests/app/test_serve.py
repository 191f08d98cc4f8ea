"""`evenrank serve` as a process: it says where it listens, keeps what was saved, and explains what it lacks."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from click.testing import CliRunner

from evenrank.app.server import listen
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
