"""Many assessors judging at once over loopback: how long "judge and next" takes; bounded in number.

    python benchmarks/assess_load.py COLLECTION [--assessors 50] [--answers 12] [--think 4] [--pages 300]

Starts `evenrank serve` on the collection (which needs an index) with a judgments file of its own. Each assessor has a
topic with its own pages, reads for an exponential time with mean THINK seconds, posts an answer and fetches the article
that comes next; both together are one measurement. A static file over the same kept connections is the floor to compare
with. Prints the machine's load, because other work slows everything. Exit 1 when a request failed or p95 is too high.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from evenrank.core.rng import derive
from evenrank.trec.assessment.assessors import Overlap, add_assessor, assign_pages, load_pool
from evenrank.trec.assessment.pool import Pool, PooledPage
from evenrank.trec.assessment.votes import create_store
from evenrank.trec.collection import Collection

WANTED_MS = 100.0
"""What 95 of 100 must stay under."""
KEPT_SECONDS = 4.0
"""Browsers open a new connection after a while; the server closes idle ones after 5 seconds."""
NONCE = re.compile(r'class="answers".*?name="nonce" value="([^"]+)"', re.S)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass
class Measured:
    """Times of one kind of request."""

    label: str
    times_ms: list[float] = field(default_factory=list)
    n_failed: int = 0

    def percentile(self, share: float) -> float:
        ordered = sorted(self.times_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def row(self, floor: float) -> str:
        numbers = [statistics.median(self.times_ms), self.percentile(0.95), self.percentile(0.99), max(self.times_ms)]
        cells = "".join(f"{number:>9.1f}" for number in numbers)
        return f"{self.label:<28}{len(self.times_ms):>7}{self.n_failed:>8}{cells}{numbers[0] / floor:>9.1f}"


class Browser:
    """A kept connection."""

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        self.connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
        self.used = time.monotonic()

    def ask(self, method: str, path: str, fields: dict[str, str] | None = None) -> tuple[int, str, str]:
        """Status, location and text of an answer; a connection that the server closed meanwhile is opened again."""
        if time.monotonic() - self.used > KEPT_SECONDS:
            self.connection.close()
        self.connection.request(method, path, urlencode(fields) if fields else None, FORM if fields else {})
        answer = self.connection.getresponse()
        text = answer.read().decode()
        self.used = time.monotonic()
        return answer.status, answer.getheader("Location") or "", text


def make_work(path: Path, collection: Collection, n_assessors: int, n_pages: int) -> list[str]:
    """A judgments file with a topic for each assessor; the secrets of their links."""
    rng = derive(1, "load")
    n_pages = min(n_pages, len(collection))
    topics = [topic.id for topic in collection.topics]
    ids = [*topics, *range(max(topics) + 1, max(topics) + 1 + n_assessors)][:n_assessors]
    pages = [
        PooledPage(topic, 1, int(page), ())
        for topic in ids
        for page in rng.choice(collection.page_ids, n_pages, replace=False)
    ]
    names = [f"assessor {number:03}" for number in range(n_assessors)]
    with create_store(path, seed=1) as store:
        load_pool(store, Pool(pages=tuple(sorted(pages))), {})
        secrets = [add_assessor(store, name) for name in names]
        assign_pages(store, names, Overlap(0.0))
    return secrets


@contextmanager
def serving(collection: Path, judgments: Path) -> Iterator[str]:
    """The address of a server in a process of its own."""
    command = [sys.executable, "-c", "from evenrank.cli.main import main; main()", "serve", str(collection)]
    options = ["--port", "0", "--rate", "1000000", "--judgments", str(judgments)]
    options += ["--store", str(judgments.with_name("desk.sqlite"))]
    with judgments.with_name("log").open("w") as log:
        server = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert server.stdout is not None
            yield server.stdout.readline().split(": ", 1)[1].split(" ")[0].rstrip("/")
        finally:
            server.terminate()
            server.wait()


def judge(address: str, secret: str, arguments: argparse.Namespace, kinds: dict[str, Measured], seed: int) -> None:
    """One assessor at work."""
    rng = random.Random(seed)
    browser = Browser(address)
    time.sleep(rng.uniform(0, arguments.think))
    _, path, _ = browser.ask("GET", f"/judge/{secret}/next")
    _, _, text = browser.ask("GET", path)
    for _ in range(arguments.answers):
        time.sleep(rng.expovariate(1 / arguments.think) if arguments.think else 0)
        found = NONCE.search(text)
        fields = {"answer": rng.choice("1110xs"), "nonce": found[1] if found else "", "seconds": "20"}
        start = time.perf_counter()
        posted, following, _ = browser.ask("POST", path, fields)
        middle = time.perf_counter()
        shown, _, text = browser.ask("GET", following)
        end = time.perf_counter()
        path = following
        for name, seconds in (("answer", middle - start), ("next", end - middle), ("both", end - start)):
            kinds[name].times_ms.append(1000 * seconds)
        kinds["both"].n_failed += (posted, shown) != (303, 200)
        start = time.perf_counter()
        browser.ask("GET", "/static/icon.svg")
        kinds["floor"].times_ms.append(1000 * (time.perf_counter() - start))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--assessors", type=int, default=50)
    parser.add_argument("--answers", type=int, default=12, help="of each assessor")
    parser.add_argument("--think", type=float, default=4.0, help="mean seconds between answers; 0 for none")
    parser.add_argument("--pages", type=int, default=300, help="articles in a topic")
    arguments = parser.parse_args()
    labels = {"answer": "answer stored", "next": "next article shown", "both": "judge and next"}
    kinds = {name: Measured(label) for name, label in labels.items()} | {"floor": Measured("static file (floor)")}
    with tempfile.TemporaryDirectory() as folder:
        judgments = Path(folder) / "judgments.sqlite"
        secrets = make_work(judgments, Collection.open(arguments.collection), arguments.assessors, arguments.pages)
        with serving(arguments.collection, judgments) as address:
            load = os.getloadavg()[0]
            start = time.perf_counter()
            with ThreadPoolExecutor(len(secrets)) as threads:
                work = [threads.submit(judge, address, secret, arguments, kinds, n) for n, secret in enumerate(secrets)]
            for assessor in work:
                assessor.result()
            seconds = time.perf_counter() - start
    both = kinds["both"]
    print(f"{arguments.assessors} assessors, {arguments.think:g} s between answers, {arguments.pages} articles each,")
    print(f"{len(both.times_ms) / seconds:.1f} answers/s over {seconds:.0f} s, {os.cpu_count()} cores,", end=" ")
    print(f"load average {load:.1f} before and {os.getloadavg()[0]:.1f} after; times in ms")
    print(f"{'':<28}{'number':>7}{'failed':>8}{'median':>9}{'p95':>9}{'p99':>9}{'longest':>9}{'ratio':>9}")
    for measured in kinds.values():
        print(measured.row(statistics.median(kinds["floor"].times_ms)))
    print(f"wanted: p95 of judge and next under {WANTED_MS:.0f} ms")
    return int(both.n_failed > 0 or both.percentile(0.95) >= WANTED_MS)


if __name__ == "__main__":
    sys.exit(main())
