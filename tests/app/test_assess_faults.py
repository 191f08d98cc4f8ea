"""The server killed in the middle of 1,000 judgments: every answered one is there, none twice."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from evenrank.trec.assessment.assessors import Overlap, add_assessor, assign_pages, load_pool
from evenrank.trec.assessment.pool import Pool, PooledPage
from evenrank.trec.assessment.queues import queue
from evenrank.trec.assessment.votes import all_votes, create_store, current_votes, open_store
from evenrank.trec.collection import Collection

N_CLIENTS, N_EACH = 8, 125
KILL_AFTER = (200, 600)
"""The server is killed once this many judgments were answered, twice over."""
ANSWERS = "10xs"


@dataclass
class Tally:
    """What clients were told."""

    answered: Counter[tuple[str, int, int]] = field(default_factory=Counter)
    """Judgments with an answer: assessor, topic, page."""
    n_broken: int = 0
    """Requests that ended without an answer."""
    changed: threading.Condition = field(default_factory=threading.Condition)

    def add(self, judgment: tuple[str, int, int] | None) -> None:
        with self.changed:
            if judgment is None:
                self.n_broken += 1
            else:
                self.answered[judgment] += 1
            self.changed.notify_all()

    def wait_for(self, n_answered: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.answered.total() >= n_answered, timeout=120)


def start_server(collection: Path, judgments: Path, port: int) -> subprocess.Popen[str]:
    """A server in a process of its own, ready to answer."""
    command = [sys.executable, "-c", "from evenrank.cli.main import main; main()", "serve", str(collection)]
    options = ["--judgments", str(judgments), "--port", str(port), "--rate", "1000000"]
    options += ["--store", str(judgments.with_name("desk.sqlite"))]
    log = judgments.with_name("server.log").open("a")
    server = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=log, text=True)
    assert server.stdout is not None
    assert "http://" in server.stdout.readline()
    return server


def judge_all(port: int, secret: str, name: str, items: list[tuple[int, int]], tally: Tally) -> None:
    """One client: posts each judgment until it is answered, with the same token however often that takes."""
    for number, (topic, page) in enumerate(items):
        fields = {"answer": ANSWERS[number % 4], "nonce": f"{name}-{topic}-{page}-token", "comment": f"no. {number}"}
        while not is_answered(port, f"/judge/{secret}/{topic}/{page}", urlencode(fields)):
            tally.add(None)
            time.sleep(0.05)
        tally.add((name, topic, page))


def is_answered(port: int, path: str, body: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("POST", path, body, {"Content-Type": "application/x-www-form-urlencoded"})
        return connection.getresponse().status == 303
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def make_work(path: Path, collection: Collection) -> tuple[dict[str, str], dict[str, list[tuple[int, int]]]]:
    """A judgments file with a topic for each client; secrets and work by name."""
    names = [f"client{number}" for number in range(N_CLIENTS)]
    pages = collection.page_ids[:N_EACH].tolist()
    pool = Pool(pages=tuple(PooledPage(201 + n, 1, page, ()) for n in range(N_CLIENTS) for page in pages))
    with create_store(path, seed=1) as store:
        load_pool(store, pool, {})
        secrets = {name: add_assessor(store, name) for name in names}
        assign_pages(store, names, Overlap(0.0))
        work = {name: [(item.topic, item.page) for item in queue(store, name)] for name in names}
    return secrets, work


def test_a_server_killed_in_the_middle_of_1000_judgments(generated: Collection, tmp_path: Path) -> None:
    path = tmp_path / "judgments.sqlite"
    secrets, work = make_work(path, generated)
    assert sum(map(len, work.values())) == N_CLIENTS * N_EACH
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = start_server(generated.path, path, port)
    tally = Tally()
    with ThreadPoolExecutor(N_CLIENTS) as clients:
        running = [clients.submit(judge_all, port, secrets[name], name, work[name], tally) for name in work]
        for n_answered in KILL_AFTER:
            tally.wait_for(n_answered)
            server.send_signal(signal.SIGKILL)
            server.wait()
            with tally.changed:
                answered = set(tally.answered)
            stored = stored_votes(path)
            assert answered <= set(stored), "an answered judgment is lost"
            assert set(stored.values()) == {1}, "a judgment is stored twice"
            server = start_server(generated.path, path, port)
        for client in running:
            client.result()
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    assert tally.n_broken >= N_CLIENTS  # the kills did hit requests
    wanted = {(name, topic, page): 1 for name, items in work.items() for topic, page in items}
    assert stored_votes(path) == tally.answered == Counter(wanted)
    with open_store(path) as store:
        assert len(list(current_votes(store))) == len(wanted)
        assert Counter(vote.outcome for vote in current_votes(store))["graded"] == N_CLIENTS * (2 * (N_EACH // 4) + 1)
        assert store.connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert not re.search("Traceback", (tmp_path / "server.log").read_text())


def stored_votes(path: Path) -> Counter[tuple[str, int, int]]:
    """How often each judgment is in the file."""
    with open_store(path) as store:
        return Counter((vote.assessor, vote.topic, vote.page) for vote in all_votes(store))
