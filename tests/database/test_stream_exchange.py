"""Servers that exchange their sums through PostgreSQL, and over HTTP, as the examples show it."""

from __future__ import annotations

import http.client
import importlib.util
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tools.fleet.postgres import PostgresServer

from evenrank import Stream

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load_example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rank_some(stream: Stream, seed: int, n_requests: int = 20) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(n_requests):
        stream.rank("q", {f"i{item}": float(rng.random()) for item in rng.choice(20, 5, replace=False)})


def test_four_servers_agree_through_postgresql(postgres: PostgresServer) -> None:
    psycopg = pytest.importorskip("psycopg", reason="needs the extra postgres")
    example = load_example("stream_postgres")
    servers = [Stream("fairco", str, server=f"server-{number}") for number in range(4)]
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS stream_sums")
        example.create_table(connection)
        for round_ in range(3):
            for number, stream in enumerate(servers):
                rank_some(stream, 10 * round_ + number)
                example.exchange(connection, stream)
        for stream in servers:
            example.exchange(connection, stream)
        states = {stream.state.to_bytes() for stream in servers}
        assert len(states) == 1
        newest = connection.execute("SELECT version FROM stream_sums WHERE server = 'server-0'").fetchone()
        old = Stream("fairco", str, server="server-0")
        example.exchange(connection, old)
        assert connection.execute("SELECT version FROM stream_sums WHERE server = 'server-0'").fetchone() == newest
        connection.execute("DROP TABLE stream_sums")


@contextmanager
def serving(groups: Path, log: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, str(EXAMPLES / "stream_server.py"), log.stem, str(groups), str(log), "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"port (\d+)", process.stdout.readline())
        assert found is not None
        yield process, int(found[1])
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


def ask(port: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, None if body is None else json.dumps(body))
    answer = connection.getresponse()
    document = json.loads(answer.read())
    connection.close()
    return answer.status, document


def test_the_http_server_survives_a_kill_and_exchanges_states(tmp_path: Path) -> None:
    groups = tmp_path / "groups.csv"
    groups.write_text("item,group\na,x\nb,y\n")
    question = {"query": "q", "items": {"a": 0.9, "b": 0.8}}
    with serving(groups, tmp_path / "one.log") as (_, port):
        for number in range(1, 6):
            status, answer = ask(port, "POST", "/rank", question)
            assert (status, answer["number"], sorted(answer["ranking"])) == (200, number, ["a", "b"])
        for body in ({"query": "q"}, {"query": "q", "items": {"a": "x"}}, [], "nonsense"):
            status, answer = ask(port, "POST", "/rank", body)
            assert status == 400
            assert answer["error"]
        assert [ask(port, method, "/nowhere", question)[0] for method in ("GET", "POST")] == [404, 404]
        before = ask(port, "GET", "/shares")
    with serving(groups, tmp_path / "one.log") as (_, one), serving(groups, tmp_path / "two.log") as (_, two):
        assert ask(one, "GET", "/shares") == before
        ask(two, "POST", "/rank", question)
        for source, target in ((one, two), (two, one)):
            assert ask(target, "POST", "/absorb", ask(source, "GET", "/state")[1])[0] == 200
        assert ask(one, "GET", "/state") == ask(two, "GET", "/state")
