"""Editors, assessors and slow clients on one server for a while: what was acknowledged is there, and nothing grows.

    python -m tests.robustness.soak --minutes 60 --refresh 5 --figure soak.svg

prints a table and draws descriptors and memory over time. With `--refresh`, the collection is imported and indexed
again after every so many minutes, while everybody works.
"""

from __future__ import annotations

import argparse
import http.client
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import orjson

from evenrank.core.records import Run
from evenrank.database.sqlite import SqliteFile
from evenrank.retrieval.engine.indexing import build_index
from evenrank.trec.assessment.assessors import Overlap, add_assessor, assign_pages, load_pool
from evenrank.trec.assessment.pool import build_pool, parse_tier
from evenrank.trec.assessment.votes import create_store, open_store
from evenrank.trec.import_files import import_collection
from tests.robustness.commands import PROGRAM
from tests.robustness.server import QUESTION, get, memory_mib, n_descriptors, open_files, post, raw, serving
from tests.robustness.small_files import small_files

FORM = "application/x-www-form-urlencoded"
N_ARTICLES, MORE_ARTICLES = 2000, 10
"""Articles at first, and how many more each time when there are new data."""
SETTLING_SECONDS = 90
"""Time in which connections and idle threads end after the load, and old data are closed (`LONG_REQUEST_SECONDS`)."""
MOST_OF_A_STORE = 59
"""Descriptors of one store that may stay open: one for each thread that there was at once, which are 40 for usual
requests, 10 for expensive ones, 8 for people who are signed in, and the main thread. While a connection of this process
is open, SQLite keeps the descriptor of one that is closed for the next one, because closing it would end the locks of
all (`pUnused` in its os_unix.c). Four bursts of a hundred visitors left 41 of each store every time, an hour 44."""
MOST_OTHERS = 6
"""Other descriptors beyond those before anybody came: those of the requests that look whether the load has ended."""
MOST_GROWTH_MIB = 16
"""Growth of memory from the second quarter to the last; what is remembered of lists and texts has its limits."""


@dataclass
class Soak:
    """What happens while the server runs."""

    port: int
    until: float
    pause: float
    n_requests: int = 0
    n_refused: int = 0
    """Answers 503 with the request to come back, and 429."""
    failures: list[str] = field(default_factory=list)
    """Answers of 500 and connections that broke, for those who behave."""
    draws: dict[str, int] = field(default_factory=dict)
    """Acknowledged draws by the token of their search."""
    votes: set[tuple[str, int, int]] = field(default_factory=set)
    """Acknowledged votes: assessor, topic, page."""
    curve: list[tuple[float, int, float]] = field(default_factory=list)
    """Seconds, descriptors, MiB."""
    n_refreshes: int = 0
    """New data that the server took over."""
    left_open: Counter[str] = field(default_factory=Counter)
    """Descriptors by file that are open when everybody has gone, beyond those before anybody came."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def goes_on(self) -> bool:
        return time.monotonic() < self.until

    def send(self, path: str, body: bytes, kind: str = "application/json") -> tuple[int, bytes]:
        """The answer to a request of somebody who behaves."""
        try:
            status, text = post(self.port, path, body, kind)
        except OSError as error:
            status, text = 0, str(error).encode()
        with self.lock:
            self.n_requests += 1
            if status in (429, 503):
                self.n_refused += 1
            elif status == 0 or status >= 500:
                self.failures.append(f"{path[:12]} {status} {text[:80]!r}")
        return status, text

    def edit(self, number: int) -> None:
        """An editor: a saved search of their own, then one draw after the other."""
        token = ""
        while self.goes_on():
            if not token:
                status, text = self.send("/api/searches", orjson.dumps({**QUESTION, "title": f"river {number}"}))
                token = orjson.loads(text)["token"] if status in (200, 201) else ""
            else:
                status, _ = self.send(f"/api/searches/{token}/draws", orjson.dumps({"editor": f"editor {number}"}))
                if status in (200, 201):
                    with self.lock:
                        self.draws[token] = self.draws.get(token, 0) + 1
                elif status == 409:
                    token = ""
            time.sleep(self.pause)

    def judge(self, name: str, secret: str, items: list[tuple[int, int]]) -> None:
        """An assessor: one page after the other, and over again."""
        at = 0
        while self.goes_on() and items:
            topic, page = items[at % len(items)]
            at += 1
            fields = {"answer": "1", "nonce": secrets.token_urlsafe(12), "seconds": "3"}
            status, _ = self.send(f"/judge/{secret}/{topic}/{page}", urlencode(fields).encode(), FORM)
            if status == 303:
                with self.lock:
                    self.votes.add((name, topic, page))
            time.sleep(self.pause)

    def dawdle(self) -> None:
        """A slow client: a head that never ends, dripped in."""
        while self.goes_on():
            try:
                opened = raw(self.port, b"POST /lists HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n")
                for _ in range(30):
                    opened.sendall(b"x")
                    time.sleep(1.0)
                    if not self.goes_on():
                        break
                opened.close()
            except OSError:
                time.sleep(0.5)

    def refresh(self, folder: Path, seconds: float) -> None:
        """Whoever runs the server: the collection again, with more articles each time, by the commands."""
        n_articles = N_ARTICLES
        while self.goes_on():
            time.sleep(min(seconds, max(0.0, self.until - time.monotonic())))
            if not self.goes_on():
                return
            n_articles += MORE_ARTICLES
            try:
                files = small_files(folder / f"files-{n_articles}", n_articles)
                words = ["--metadata", files.metadata, "--corpus", files.corpus, "--topics", files.topics]
                words += [word for path in files.eval_topics for word in ("--eval-topics", path)]
                import_words = ["collection", "import", folder / "c", *words]
                for command in (import_words, ["index", folder / "c"]):
                    subprocess.run([*PROGRAM, *map(str, command)], check=True, capture_output=True)
                self.n_refreshes += self._follows(n_articles)
            except subprocess.CalledProcessError as error:
                with self.lock:
                    self.failures.append(f"refresh: {error.stderr[-200:]!r}")

    def _follows(self, n_articles: int) -> bool:
        """Whether the server comes to serve so many articles."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            try:
                connection.request("GET", "/readyz")
                if orjson.loads(connection.getresponse().read())["articles"] == n_articles:
                    return True
            finally:
                connection.close()
            time.sleep(0.5)
        with self.lock:
            self.failures.append(f"refresh: the server does not serve {n_articles} articles")
        return False

    def watch(self, process: int) -> None:
        begin = time.monotonic()
        while self.goes_on():
            self.curve.append((time.monotonic() - begin, n_descriptors(process), memory_mib(process)))
            time.sleep(1.0)


def make_files(folder: Path, n_assessors: int) -> tuple[dict[str, str], dict[str, list[tuple[int, int]]]]:
    """A collection with an index, and a judgments file; gives the secret and the pages of each assessor."""
    collection = import_collection(folder / "c", small_files(folder / "files", N_ARTICLES))
    build_index(collection).close()
    topic = next(topic for topic in collection.topics if topic.split == "eval")
    run = Run.from_rankings("run", 1, iter([(topic.id, 1, np.asarray(collection.page_ids[:600]))]))
    names = [f"assessor {number}" for number in range(n_assessors)]
    with create_store(folder / "judgments.sqlite") as store:
        load_pool(store, build_pool([run], (parse_tier("1:600"),)), {topic.id: topic.title})
        links = {name: add_assessor(store, name) for name in names}
        assign_pages(store, names, Overlap(0.1, 2))
        rows = store.connection.execute("SELECT assessor, topic, page FROM assignment").fetchall()
    items: dict[str, list[tuple[int, int]]] = {name: [] for name in names}
    for assessor, of_topic, page in rows:
        items[assessor].append((of_topic, page))
    return links, items


def soak(folder: Path, minutes: float, n_each: int = 50, pause: float = 1.0, refresh: float = 0.0) -> Soak:
    """Run it; gives what happened. `n_each` editors, assessors and slow clients pause between requests; there are new
    data every `refresh` minutes, 0 for never."""
    links, items = make_files(folder, n_each)
    log = folder / "log"
    with serving(folder / "c", "--judgments", folder / "judgments.sqlite", log=log) as (process, port):
        assert get(port, "/")[0] == 200
        idle = open_files(process)
        state = Soak(port, time.monotonic() + 60 * minutes, pause)
        threads = [threading.Thread(target=state.watch, args=(process,))]
        threads += [threading.Thread(target=state.edit, args=(number,)) for number in range(n_each)]
        threads += [threading.Thread(target=state.judge, args=(name, links[name], items[name])) for name in links]
        threads += [threading.Thread(target=state.dawdle) for _ in range(n_each)]
        if refresh:
            threads.append(threading.Thread(target=state.refresh, args=(folder, 60 * refresh)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        state.left_open = left_open(process, port, idle)
    return state


def left_open(process: int, port: int, idle: Counter[str]) -> Counter[str]:
    """Descriptors beyond those of the idle server when everybody has left.

    Idle threads end after ten seconds, when a request comes; so a request comes now and then.
    """
    deadline = time.monotonic() + SETTLING_SECONDS
    while True:
        assert get(port, "/")[0] == 200
        left = unversioned(open_files(process)) - unversioned(idle)
        if not leaks(left) or time.monotonic() > deadline:
            return left
        time.sleep(2.0)


def unversioned(names: Counter[str]) -> Counter[str]:
    """Descriptors by the names of files without the number of their version, as `data-12` and `index-12` have it."""
    found: Counter[str] = Counter()
    for name, number in names.items():
        found[re.sub(r"(-[0-9a-f]*\d[0-9a-f]*)+(?=$|\.npy$)", "", name)] += number
    return found


def leaks(left: Counter[str]) -> dict[str, int]:
    """Those of the descriptors left open that nothing explains."""
    others = {name: number for name, number in left.items() if not name.endswith(".sqlite")}
    stores = {name: number for name, number in left.items() if name not in others and number > MOST_OF_A_STORE}
    return stores | (others if sum(others.values()) > MOST_OTHERS else {})


def lost(folder: Path, state: Soak) -> tuple[int, int]:
    """Acknowledged draws and votes that are not in the files."""
    with SqliteFile(folder / "c" / "desk.sqlite") as saved:
        kept = dict(map(tuple, saved.connection.execute("SELECT token, n_draws FROM saved_search").fetchall()))
    with open_store(folder / "judgments.sqlite") as store:
        rows = store.connection.execute("SELECT DISTINCT assessor, topic, page FROM vote").fetchall()
        votes = {tuple(row) for row in rows}
    n_draws = sum(max(0, number - int(kept.get(token, 0))) for token, number in state.draws.items())
    return n_draws, len(state.votes - votes)


def growth(curve: list[tuple[float, int, float]]) -> tuple[float, float]:
    """How much descriptors and memory (MiB) grew from the second quarter to the last, by their medians."""
    quarter = max(1, len(curve) // 4)
    early, late = curve[quarter : 2 * quarter], curve[-quarter:]
    both = [float(np.median([point[at] for point in late]) - np.median([p[at] for p in early])) for at in (1, 2)]
    return both[0], both[1]


def draw(curve: list[tuple[float, int, float]], path: Path) -> None:
    """Both curves over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3))
    left = figure.add_subplot()
    right = left.twinx()
    minutes = [point[0] / 60 for point in curve]
    left.plot(minutes, [point[1] for point in curve], color="#1f77b4")
    right.plot(minutes, [point[2] for point in curve], color="#d62728")
    left.set(xlabel="minutes", ylabel="open descriptors (blue)", ylim=(0, None))
    right.set(ylabel="memory in MiB (red)", ylim=(0, None))
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--each", type=int, default=50, help="editors, assessors and slow clients")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between two requests of one person")
    parser.add_argument("--refresh", type=float, default=0.0, help="minutes between new data; 0 for never")
    parser.add_argument("--figure", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        state = soak(Path(name), chosen.minutes, chosen.each, chosen.pause, chosen.refresh)
        n_draws, n_votes = lost(Path(name), state)
    descriptors, memory = growth(state.curve)
    print(f"requests {state.n_requests:,}  refused with 429 or 503 {state.n_refused:,}  failed {len(state.failures):,}")
    print(f"draws {sum(state.draws.values()):,}, lost {n_draws}   votes {len(state.votes):,}, lost {n_votes}")
    if chosen.refresh:
        print(f"new data taken over {state.n_refreshes} times")
    print(f"growth: descriptors {descriptors:+.0f}, memory {memory:+.1f} MiB")
    by_file = ", ".join(f"{name} {number:+d}" for name, number in sorted(state.left_open.items()))
    print(f"descriptors left open when everybody had gone: {by_file or 'none'}")
    for text in state.failures[:10]:
        print("failed:", text)
    if chosen.figure:
        draw(state.curve, chosen.figure)
    is_refused = bool(state.failures or state.n_refused)
    return int(bool(n_draws or n_votes or is_refused or leaks(state.left_open) or memory > MOST_GROWTH_MIB))


if __name__ == "__main__":
    sys.exit(main())
