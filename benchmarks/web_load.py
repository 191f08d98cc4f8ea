"""Load on the web app over loopback: new lists, pages of lists, many editors drawing at once; bounded in number.

    python benchmarks/web_load.py COLLECTION [--editors 50] [--draws 6] [--lists 40] [--pages 200]

Starts `evenrank serve` on the collection (which needs an index) with a store of its own, asks the questions of the
collection's topics, and prints what it measured beside what is wanted: processor time, which other work on the machine
hardly changes, and time on the clock, in milliseconds. Exit 1 when a request failed.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from evenrank.trec.collection import Collection

N_BROUGHT = 500
"""Articles of a list that people bring, as many as a category of a project has."""
PROCESS_CLOCK = 2
"""What Linux adds to the number of a process, inverted and shifted, to name the clock of all its threads: the macro
`MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED)`, which `clock_getcpuclockid` uses."""
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass
class Measured:
    """Times of one kind of request."""

    label: str
    wanted_ms: float
    """What 95 of 100 requests must stay under."""
    times_ms: list[float] = field(default_factory=list)
    n_failed: int = 0
    cpu_ms: float = 0.0
    """Processor time of the server, which other work on the machine does not change."""
    each_cpu_ms: list[float] = field(default_factory=list)
    """The same of each request, where one follows the other."""

    def row(self) -> str:
        ordered = sorted(self.times_ms)
        p95, cpu_p95 = at_95(ordered), at_95(sorted(self.each_cpu_ms)) if self.each_cpu_ms else float("nan")
        return (
            f"{self.label:34}{len(ordered):>7}{self.n_failed:>8}{self.cpu_ms / len(ordered):>9.1f}{cpu_p95:>9.1f}"
            f"{statistics.median(ordered):>9.1f}{p95:>9.1f}{ordered[-1]:>9.1f}{self.wanted_ms:>9.0f}"
        )


def at_95(ordered: list[float]) -> float:
    """What 95 of 100 values stay under."""
    return ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]


class Visitor:
    """One browser: a kept connection and a cookie."""

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        self.connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
        self.cookie = ""

    def ask(self, method: str, path: str, fields: dict[str, str] | None = None) -> tuple[int, str, bytes]:
        """Status, location and body of an answer."""
        headers = {**(FORM if method == "POST" else {}), **({"Cookie": self.cookie} if self.cookie else {})}
        self.connection.request(method, path, urlencode(fields or {}) if method == "POST" else None, headers)
        answer = self.connection.getresponse()
        body = answer.read()
        self.cookie = (answer.getheader("Set-Cookie") or self.cookie).partition(";")[0]
        return answer.status, answer.getheader("Location") or "", body

    def timed(
        self, measured: Measured, method: str, path: str, fields: dict[str, str] | None = None, server: int = 0
    ) -> str:
        """Ask and note the time, and the processor time of a server that answers nobody else; gives the location."""
        before, start = processor_ms(server) if server else 0.0, time.perf_counter()
        status, location, _ = self.ask(method, path, fields)
        if server:
            measured.each_cpu_ms.append(processor_ms(server) - before)
            measured.cpu_ms += measured.each_cpu_ms[-1]
        measured.times_ms.append(1000 * (time.perf_counter() - start))
        measured.n_failed += status not in (200, 303)
        return location


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection", type=Path)
    parser.add_argument("--editors", type=int, default=50)
    parser.add_argument("--draws", type=int, default=6, help="draws of each editor")
    parser.add_argument("--lists", type=int, default=40)
    parser.add_argument("--pages", type=int, default=200)
    options = parser.parse_args()
    questions = questions_of(Collection.open(options.collection))
    with serve(options.collection) as (address, server):
        results = [
            *measure_lists(Visitor(address), server, questions, options.lists, options.pages),
            *measure_draws(address, server, questions[0], options.editors, options.draws),
        ]
    print(f"processes waiting for {os.cpu_count()} cores, mean of the last minute: {os.getloadavg()[0]:.1f}")
    print(f"{'request':34}{'n':>7}{'failed':>8}{'cpu':>9}{'cpu p95':>9}{'median':>9}{'p95':>9}{'max':>9}{'wanted':>9}")
    for measured in results:
        print(measured.row())
    sys.exit(any(measured.n_failed for measured in results))


def processor_ms(server: int) -> float:
    """Processor time of the server, to the nanosecond; threads that have ended count, too."""
    return 1000.0 * time.clock_gettime(~server << 3 | PROCESS_CLOCK)


@contextmanager
def counting_cpu(server: int, *measured: Measured) -> Iterator[None]:
    """Notes how much processor time the server spends in the block, for one kind of request."""

    before = processor_ms(server)
    yield
    for one in measured:
        one.cpu_ms += processor_ms(server) - before


def questions_of(collection: Collection) -> list[dict[str, str]]:
    """The questions of the collection's topics."""
    return [
        {"title": topic.title, "keywords": ", ".join(topic.keywords), "scope": topic.scope, "fairness": "1"}
        for topic in collection.topics
    ]


@contextmanager
def serve(collection: Path) -> Iterator[tuple[str, int]]:
    """The address and the number of a server process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "evenrank.cli.main", "serve", str(collection), "--port", "0", "--rate", "1e6"]
        store = Path(folder) / "desk.sqlite"
        with subprocess.Popen([*command, "--store", str(store)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True) as process:  # fmt: skip
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            if found is None:
                sys.exit("the server did not start; run `evenrank serve` to see why")
            try:
                yield found[0], process.pid
            finally:
                process.terminate()


def measure_lists(
    visitor: Visitor, server: int, questions: list[dict[str, str]], n_lists: int, n_pages: int
) -> list[Measured]:
    """One visitor previews and makes lists, reads pages of them, and saves searches."""
    preview, made = Measured("live preview", 100), Measured("new list", 300)
    brought, traded = Measured(f"new list of {N_BROUGHT} brought", 1500), Measured("trade-off", 600)
    read, saved = Measured("a page of a list", 50), Measured("new saved search", 300)
    visitor.ask("GET", "/")
    asked = [questions[number % len(questions)] for number in range(n_lists)]
    for question in asked:
        visitor.timed(preview, "GET", f"/lists/preview?{urlencode(question)}", server=server)
    paths = [visitor.timed(made, "POST", "/lists", question, server) for question in asked]
    titles = "\n".join(
        title for path in paths[:5] for title in visitor.ask("GET", f"{path}.txt")[2].decode().splitlines()[:N_BROUGHT]
    )
    for number, question in enumerate(asked):
        chosen = "\n".join(titles.splitlines()[number * 7 :][:N_BROUGHT])
        visitor.timed(brought, "POST", "/lists", {**question, "text-1": chosen, "best": "FA"}, server)
    for path in paths:
        visitor.timed(traded, "GET", f"{path}/trade-off", server=server)
    for number in range(n_pages):
        visitor.timed(read, "GET", f"{paths[number % len(paths)]}?page={number % 10 + 1}", server=server)
    for question in asked:
        visitor.timed(saved, "POST", "/searches", question, server)
    return [preview, made, brought, traded, read, saved]


def measure_draws(address: str, server: int, question: dict[str, str], n_editors: int, n_draws: int) -> list[Measured]:
    """Editors draw from one search, all at once, without a pause between draws; then they read them."""
    path = Visitor(address).timed(Measured("", 1), "POST", "/searches", question)
    drawn = Measured(f"a draw, {n_editors} editors at once", 500)
    shown = Measured(f"its page, {n_editors} editors at once", 500)
    locations: list[list[str]] = [[] for _ in range(n_editors)]
    visitors = [Visitor(address) for _ in range(n_editors)]
    lock = threading.Lock()

    def draw(editor: int) -> None:
        part = Measured("", 1)
        locations[editor] = [visitors[editor].timed(part, "POST", f"{path}/draws") for _ in range(n_draws)]
        with lock:
            drawn.times_ms += part.times_ms
            drawn.n_failed += part.n_failed

    def show(editor: int) -> None:
        part = Measured("", 1)
        for location in locations[editor][:3]:
            visitors[editor].timed(part, "GET", location)
        with lock:
            shown.times_ms += part.times_ms
            shown.n_failed += part.n_failed

    with counting_cpu(server, drawn):
        together(draw, n_editors)
    with counting_cpu(server, shown):
        together(show, n_editors)
    numbers = sorted(int(location.rsplit("/", 1)[1]) for part in locations for location in part)
    drawn.n_failed += numbers != list(range(1, n_editors * n_draws + 1))
    return [drawn, shown]


def together(task: Callable[[int], None], n: int) -> None:
    """Run a task n times at once."""
    threads = [threading.Thread(target=task, args=(number,)) for number in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
