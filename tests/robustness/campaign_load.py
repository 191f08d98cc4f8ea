"""Assessors and organisers on one server that is killed again and again: nothing is lost or doubled, the log is whole.

    python -m tests.robustness.campaign_load --assessors 50 --organisers 5 --kills 10

Everybody sends an answer again, as browsers do, until it is acknowledged.
"""

from __future__ import annotations

import argparse
import secrets
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlencode

from evenrank.trec.assessment.assessors import add_assessor
from evenrank.trec.assessment.log import check_log, log_entries
from evenrank.trec.assessment.votes import ADJUDICATION, all_votes, open_store
from tests.robustness.commands import PROGRAM
from tests.robustness.server import post, wait_until_ready
from tests.robustness.soak import FORM, make_files

PATIENCE_SECONDS = 120.0
"""After so long without an acknowledgment, somebody gives up, and the load fails."""


@dataclass
class Load:
    """What was acknowledged while the server was killed."""

    port: int
    votes: Counter[tuple[str, int, int]] = field(default_factory=Counter)
    """Acknowledged answers by assessor, topic and page."""
    rulings: Counter[tuple[str, int, int]] = field(default_factory=Counter)
    """Acknowledged rulings by organiser, topic and page."""
    changes: Counter[str] = field(default_factory=Counter)
    """Acknowledged changes of organisers that must be in the log, by action."""
    n_conflicts: int = 0
    """Rulings refused because another organiser was first."""
    n_kills: int = 0
    n_retries: int = 0
    failures: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, path: str, fields: dict[str, str]) -> int:
        """The status of a form, sent until the server answers."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                status, text = post(self.port, path, urlencode(fields).encode(), FORM)
                if status < 500:
                    return status
                if status != 503:
                    with self.lock:
                        self.failures.append(f"{path[:10]} {status} {text[:80]!r}")
                    return status
            except (OSError, HTTPException):
                pass
            with self.lock:
                self.n_retries += 1
            time.sleep(0.2)
        with self.lock:
            self.failures.append(f"{path[:10]} was not answered")
        return 0

    def judge(self, name: str, secret: str, items: list[tuple[int, int]]) -> None:
        """An assessor answers every page once."""
        for topic, page in items:
            fields = {"answer": "01"[page % 2], "nonce": secrets.token_urlsafe(12), "seconds": "3"}
            if self.send(f"/judge/{secret}/{topic}/{page}", fields) == 303:
                with self.lock:
                    self.votes[name, topic, page] += 1

    def organise(self, name: str, secret: str, items: list[tuple[int, int]], goes_on: Callable[[], bool]) -> None:
        """An organiser rules on pages, each once, and adds people, as long as others judge."""
        for number, (topic, page) in enumerate(items):
            if not goes_on():
                return
            fields = {"answer": "1", "nonce": secrets.token_urlsafe(12)}
            status = self.send(f"/organise/{secret}/settle/{topic}/{page}", fields)
            with self.lock:
                self.rulings[name, topic, page] += status == 303
                self.n_conflicts += status == 409
            if number % 5 == 0:
                person = f"{name} brings {number}"
                if self.send(f"/organise/{secret}/people/add", {"name": person, "role": "assessor"}) == 200:
                    with self.lock:
                        self.changes["add-person"] += 1
            time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def start_server(folder: Path, port: int) -> subprocess.Popen[bytes]:
    """`evenrank serve` on the collection of the load, once it answers."""
    words = ["serve", folder / "c", "--port", port, "--rate", 100000, "--judgments", folder / "judgments.sqlite"]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen([*PROGRAM, *map(str, words)], stdout=subprocess.DEVNULL, stderr=log)
    try:
        wait_until_ready(port, process)
    except AssertionError:
        print((folder / "log").read_text("utf-8")[-2000:])
        raise
    return process


def campaign_load(folder: Path, n_assessors: int, n_organisers: int, n_kills: int, n_answers: int) -> Load:
    """Run it: every assessor answers `n_answers` pages; the server is killed `n_kills` times meanwhile."""
    links, items = make_files(folder, n_assessors)
    pages = sorted({page for mine in items.values() for page in mine})
    work = {
        name: sorted({pages[(7 * number + step) % len(pages)] for step in range(n_answers)})
        for number, name in enumerate(sorted(links))
    }
    with open_store(folder / "judgments.sqlite") as store:
        with store.transaction() as connection:
            connection.executemany(
                "INSERT INTO assignment VALUES (?, ?, ?, 'overlap', 0.5) ON CONFLICT DO NOTHING",
                [(name, topic, page) for name, mine in work.items() for topic, page in mine],
            )
        chiefs = {f"organiser {n}": add_assessor(store, f"organiser {n}", "organiser") for n in range(n_organisers)}
    load = Load(free_port())
    process = start_server(folder, load.port)
    judging = [threading.Thread(target=load.judge, args=(name, links[name], work[name])) for name in links]

    def goes_on() -> bool:
        return any(thread.is_alive() for thread in judging)

    organising = [
        threading.Thread(target=load.organise, args=(name, secret, pages, goes_on)) for name, secret in chiefs.items()
    ]
    try:
        for thread in (*judging, *organising):
            thread.start()
        while goes_on() and load.n_kills < n_kills:
            time.sleep(0.7)
            process.send_signal(signal.SIGKILL)
            process.wait()
            load.n_kills += 1
            process = start_server(folder, load.port)
        for thread in (*judging, *organising):
            thread.join()
    finally:
        process.terminate()
        process.wait(30)
    return load


def faults_of(folder: Path, load: Load) -> list[str]:
    """What was lost or doubled, and where the log is broken; empty when all is well."""
    with open_store(folder / "judgments.sqlite") as store:
        votes = list(all_votes(store))
        logged = Counter(entry.action for entry in log_entries(store))
        faults = [*load.failures, *check_log(store)]
    own = Counter((v.assessor, v.topic, v.page) for v in votes if v.method != ADJUDICATION)
    ruled = Counter((v.assessor, v.topic, v.page) for v in votes if v.method == ADJUDICATION)
    faults += [f"answer lost: {key}" for key in load.votes if not own[key]]
    faults += [f"ruling lost: {key}" for key, n in load.rulings.items() if n > ruled[key]]
    faults += [f"doubled: {key}, {n} times" for key, n in (own + ruled).items() if n > 1]
    if logged["rule"] != ruled.total():
        faults.append(f"{ruled.total()} rulings, but {logged['rule']} in the log")
    for action, n in load.changes.items():
        if logged[action] < n:
            faults.append(f"{action}: {n} were acknowledged, {logged[action]} are in the log")
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assessors", type=int, default=50)
    parser.add_argument("--organisers", type=int, default=5)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--answers", type=int, default=100, help="pages for each assessor")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        load = campaign_load(Path(folder), options.assessors, options.organisers, options.kills, options.answers)
        faults = faults_of(Path(folder), load)
    print(f"{options.assessors} assessors, {options.organisers} organisers, {time.monotonic() - begin:.0f} s")
    print(f"{load.votes.total():,} answers, {load.rulings.total():,} rulings, {load.n_conflicts:,} refused as second")
    print(f"{load.n_kills} kills, {load.n_retries:,} requests sent again, {len(faults)} faults")
    for fault in faults[:20]:
        print(fault)
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
