"""Editors and assessors at work on one server at once, over loopback: nothing may fail; bounded in number.

    python benchmarks/shared_load.py COLLECTION [--editors 50] [--assessors 50] [--rounds 8] [--think 4]

Starts `evenrank serve` on the collection (which needs an index) with a store and a judgments file of its own. In each
round an editor draws from one saved search that all share, reads the draw, and marks an article of it as not theirs; an
assessor answers and reads the next article. Everybody thinks for an exponential time with mean THINK seconds. Beside
the times it is checked that draws have the numbers 1, 2, … once each, and that every answer and mark was kept. Exit 1
when a request failed or something was lost.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from assess_load import KEPT_SECONDS, Measured, judge, make_work, serving
from evenrank.trec.collection import Collection
from web_load import Visitor, questions_of

PAGE_ID = re.compile(r'id="page-(\d+)"')
LABELS = {"draw": "a draw", "read": "its page", "mark": "a mark", "answer": "an answer stored",
          "next": "the next article", "both": "judge and next", "floor": "static file (floor)"}  # fmt: skip


class Editor:
    """Somebody who draws, reads and marks."""

    def __init__(self, address: str, path: str, seed: int, kinds: dict[str, Measured], lock: threading.Lock) -> None:
        self.visitor, self.path, self.rng = Visitor(address), path, random.Random(seed)
        self.used = time.monotonic()
        self.kinds, self.lock = kinds, lock
        self.draws: list[int] = []
        self.marked: set[int] = set()

    def timed(self, kind: str, method: str, path: str, fields: dict[str, str] | None = None) -> tuple[str, str]:
        """Location and text of an answer, with its time noted."""
        if time.monotonic() - self.used > KEPT_SECONDS:
            self.visitor.connection.close()  # as browsers do; it is opened again by itself
        start = time.perf_counter()
        status, location, body = self.visitor.ask(method, path, fields)
        self.used = time.monotonic()
        with self.lock:
            self.kinds[kind].times_ms.append(1000 * (time.perf_counter() - start))
            self.kinds[kind].n_failed += status not in (200, 303)
        return location, body.decode()

    def work(self, n_rounds: int, think: float) -> None:
        """Some rounds."""
        time.sleep(self.rng.uniform(0, think))
        for _ in range(n_rounds):
            location, _ = self.timed("draw", "POST", f"{self.path}/draws")
            self.draws.append(int(location.rsplit("/", 1)[1]))
            _, text = self.timed("read", "GET", location)
            time.sleep(self.rng.expovariate(1 / think) if think else 0)
            page_id = self.rng.choice(PAGE_ID.findall(text))
            self.timed("mark", "POST", f"{self.path}/marks",
                       {"page_id": page_id, "draw": str(self.draws[-1]), "mark": "not-for-me"})  # fmt: skip
            self.marked.add(int(page_id))


def lost(folder: Path, editors: list[Editor], n_answers: int) -> list[str]:
    """What was not kept as it should be, in words."""
    with sqlite3.connect(folder / "desk.sqlite") as state, sqlite3.connect(folder / "judgments.sqlite") as judgments:
        (n_votes,) = judgments.execute("SELECT count(*) FROM vote").fetchone()
        (n_marks,) = state.execute("SELECT count(*) FROM mark").fetchone()
    numbers = sorted(number for editor in editors for number in editor.draws)
    n_made = sum(len(editor.marked) for editor in editors)
    found = []
    if numbers != list(range(1, len(numbers) + 1)):
        found.append("draws do not have the numbers 1, 2, … once each")
    if n_marks != n_made:
        found.append(f"{n_marks} marks were kept of {n_made}")
    if n_votes != n_answers:
        found.append(f"{n_votes} answers were kept of {n_answers}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--editors", type=int, default=50)
    parser.add_argument("--assessors", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=8, help="of each person")
    parser.add_argument("--think", type=float, default=4.0, help="mean seconds of each round; 0 for none")
    parser.add_argument("--pages", type=int, default=300, help="articles in an assessor's topic")
    options = parser.parse_args()
    options.answers = options.rounds
    collection = Collection.open(options.collection)
    kinds = {name: Measured(label) for name, label in LABELS.items()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        secrets = make_work(folder / "judgments.sqlite", collection, options.assessors, options.pages)
        with serving(options.collection, folder / "judgments.sqlite") as address:
            status, path, _ = Visitor(address).ask("POST", "/searches", questions_of(collection)[0])
            assert status == 303, "the search could not be saved"
            lock = threading.Lock()
            editors = [Editor(address, path, seed, kinds, lock) for seed in range(options.editors)]
            load, start = os.getloadavg()[0], time.perf_counter()
            with ThreadPoolExecutor(options.editors + options.assessors) as threads:
                work = [threads.submit(editor.work, options.rounds, options.think) for editor in editors]
                work += [threads.submit(judge, address, secret, options, kinds, n) for n, secret in enumerate(secrets)]
            for person in work:
                person.result()
            seconds = time.perf_counter() - start
        missing = lost(folder, editors, options.assessors * options.answers)
    print(
        f"{options.editors} editors and {options.assessors} assessors at once, {options.rounds} rounds each,", end=" "
    )
    print(f"{options.think:g} s of thinking a round; {seconds:.0f} s on {os.cpu_count()} cores,", end=" ")
    print(f"load average {load:.1f} before and {os.getloadavg()[0]:.1f} after; times in ms")
    print(f"{'':<28}{'number':>7}{'failed':>8}{'median':>9}{'p95':>9}{'p99':>9}{'longest':>9}{'ratio':>9}")
    for measured in kinds.values():
        print(measured.row(statistics.median(kinds["floor"].times_ms)))
    n_failed = sum(measured.n_failed for measured in kinds.values())
    print(f"{n_failed} requests failed; lost: {'; '.join(missing) or 'nothing'}")
    return int(n_failed > 0 or bool(missing))


if __name__ == "__main__":
    sys.exit(main())
