"""Strangers flood a server with its most expensive requests; whoever runs it and an editor notice little.

    python -m tests.robustness.flood [COLLECTION] --minutes 5 --connections 200

Each connection comes from a network of its own, as a proxy would tell the server, and sends the ten most expensive
requests that anybody may send, one after the other. Meanwhile `/readyz`, a static file and the draw of an editor who is
signed in are asked for again and again. Prints the times of these, what the flood was answered, memory and disk.
Exit 1 when one of the three takes more than a second at the 99th percentile, or fails.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import orjson

from evenrank.app.storage.sessions import OAuthTokens, start_session
from evenrank.app.storage.store import open_app_store
from evenrank.retrieval.engine.indexing import build_index
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import import_collection
from tests.robustness.server import memory_mib, serving
from tests.robustness.small_files import small_files
from tests.robustness.worst_requests import WorstRequest, worst_requests

MOST_SECONDS = 1.0
EDITOR_ADDRESS = "192.0.2.1"
SIGN_IN = """\
rest = "https://wiki.example/rest.php"
client_id = "id"
client_secret = "secret"
contact = "operator@example.org"
"""
EXPENSIVE = (
    ("POST", "/searches"),
    ("POST", "/api/searches"),
    ("POST", "/lists"),
    ("POST", "/api/lists"),
    ("POST", "/lists/check"),
    ("POST", "/searches/check"),
    ("GET", "/lists/new"),
    ("GET", "/searches/new"),
    ("POST", "/lists/goal"),
    ("POST", "/searches/goal"),
)
"""Those of all routes that cost most and that anybody may ask, by `benchmarks/request_cost.py`."""


@dataclass
class Flood:
    """What happens while it lasts."""

    port: int
    until: float
    statuses: Counter[int] = field(default_factory=Counter)
    """Answers to the flood; 0 for a connection that broke."""
    seconds: dict[str, list[float]] = field(default_factory=dict)
    """Times of those who behave, by what they ask for."""
    failures: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    """MiB of the server, over time."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def goes_on(self) -> bool:
        return time.monotonic() < self.until

    def pour(self, requests: list[tuple[str, str, bytes | None, dict[str, str]]], number: int) -> None:
        """One connection of the flood, which is opened again when it breaks."""
        address = f"10.{number >> 8}.{number & 255}.1"
        for method, path, body, headers in itertools.islice(itertools.cycle(requests), number % len(requests), None):
            if not self.goes_on():
                return
            status, _, _ = ask(self.port, method, path, body, {**headers, "X-Forwarded-For": address})
            with self.lock:
                self.statuses[status] += 1
            if status in (0, 429):
                time.sleep(0.2)

    def behave(self, name: str, request: Callable[[], tuple[int, str, float]], expected: int) -> None:
        """Somebody who asks for one thing again and again."""
        while self.goes_on():
            status, text, seconds = request()
            with self.lock:
                self.seconds.setdefault(name, []).append(seconds)
                if status != expected:
                    self.failures.append(f"{name}: {status} {text[:100]}")
            time.sleep(0.25)

    def watch(self, process: int) -> None:
        while self.goes_on():
            self.memory.append(memory_mib(process))
            time.sleep(0.5)


def ask(
    port: int, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, str, float]:
    """Status, text and seconds of an answer, on a connection of its own; status 0 when it broke."""
    start = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace"), time.monotonic() - start
    except OSError as error:
        return 0, str(error), time.monotonic() - start
    except http.client.HTTPException as error:
        return 0, repr(error), time.monotonic() - start
    finally:
        connection.close()


def encoded(request: WorstRequest) -> tuple[str, str, bytes | None, dict[str, str]]:
    """Method, path, body and headers."""
    if request.record is not None:
        return request.method, request.path, orjson.dumps(request.record), {"Content-Type": "application/json"}
    if request.method == "GET":
        return request.method, f"{request.path}?{urlencode(request.fields)}", None, {}
    kind = "application/x-www-form-urlencoded"
    return request.method, request.path, urlencode(request.fields).encode(), {"Content-Type": kind}


def expensive_requests(collection: Collection) -> list[tuple[str, str, bytes | None, dict[str, str]]]:
    """The requests of the flood."""
    links = {"lists": "x" * 22, "searches": "x" * 22}
    known = {(request.method, request.route): request for request in worst_requests(collection, links, {}, 1, 1)}
    return [encoded(known[key]) for key in EXPENSIVE]


def flood(collection: Collection, folder: Path, seconds: float, n_connections: int, n_workers: int = 2) -> Flood:
    """Run it; gives what happened."""
    sign_in, store = folder / "sign-in.toml", folder / "desk.sqlite"
    sign_in.write_text(SIGN_IN)
    sign_in.chmod(0o600)
    with open_app_store(store) as opened:
        session = start_session(opened, "Edith", OAuthTokens("token"), "x" * 22)
    options = ("--store", store, "--sign-in", sign_in, "--proxy", "127.0.0.1", "--rate", 10, "--workers", n_workers)
    requests = expensive_requests(collection)
    with serving(collection.path, *options, log=folder / "log") as (process, port):
        editor = {"Cookie": f"session={session}", "X-Forwarded-For": EDITOR_ADDRESS, "Content-Type": "application/json"}
        question = orjson.dumps({"title": "river", "keywords": ["river", "history"]})
        status, text, _ = ask(port, "POST", "/api/searches", question, editor)
        assert status == 201, text
        draws = f"/api/searches/{orjson.loads(text)['token']}/draws"
        state = Flood(port, time.monotonic() + seconds)
        behaved: dict[str, tuple[Callable[[], tuple[int, str, float]], int]] = {
            "/readyz": (lambda: ask(port, "GET", "/readyz"), 200),
            "/healthz": (lambda: ask(port, "GET", "/healthz"), 200),
            "a static file": (lambda: ask(port, "GET", "/static/style.css"), 200),
            "an editor's draw": (lambda: ask(port, "POST", draws, b"{}", editor), 201),
        }
        threads = [threading.Thread(target=state.behave, args=(name, *how)) for name, how in behaved.items()]
        threads += [threading.Thread(target=state.pour, args=(requests, number)) for number in range(n_connections)]
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        threads += [threading.Thread(target=state.watch, args=(int(child),)) for child in children]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return state


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection", type=Path, nargs="?", help="with an index; by default a small one is made")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        collection = Collection.open(chosen.collection) if chosen.collection else small_collection(folder)
        state = flood(collection, folder, 60 * chosen.minutes, chosen.connections, chosen.workers)
        stored = sum(path.stat().st_size for path in folder.glob("desk.sqlite*")) / 2**20
    print(f"{'seconds':20}{'n':>7}{'median':>9}{'p99':>9}{'max':>9}")
    for what, seconds in state.seconds.items():
        median, p99 = np.percentile(seconds, (50, 99))
        print(f"{what:20}{len(seconds):>7}{median:>9.3f}{p99:>9.3f}{max(seconds):>9.3f}")
    print("answers to the flood:", ", ".join(f"{status} {n:,}" for status, n in sorted(state.statuses.items())))
    print(f"memory of a worker: up to {max(state.memory):.0f} MiB; the store has {stored:.0f} MiB")
    for text in state.failures[:10]:
        print("failed:", text)
    slow = [what for what, seconds in state.seconds.items() if np.percentile(seconds, 99) > MOST_SECONDS]
    return int(bool(slow or state.failures))


def small_collection(folder: Path) -> Collection:
    """A collection of 2,000 articles with an index."""
    collection = import_collection(folder / "c", small_files(folder / "files", 2000))
    build_index(collection).close()
    return collection


if __name__ == "__main__":
    sys.exit(main())
