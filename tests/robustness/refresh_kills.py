"""Refreshes of a served collection, killed at random moments: readers see one whole edition or the next.

    python -m tests.robustness.refresh_kills --kills 300 [--engine opensearch://HOST:PORT] [--dense] [--workers 2]

Editions of a small collection are imported and indexed, again and again, while visitors use a server on it. Every
command is killed after a random time. At any moment another process can open the collection, its data and its index
are of the same edition, and no request fails. With several workers, these are killed too, one at a time: only requests
that were under way then may break, and the other workers stay. Prints a table.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from evenrank.io.atomic import atomic_file
from evenrank.retrieval.engine.engines import open_index
from evenrank.trec.collection import Collection
from tests.robustness.commands import run, start
from tests.robustness.server import QUESTION, get, post, serving
from tests.robustness.small_files import article, small_files

N_EDITIONS = 5
SETTLED_SECONDS = 10.0
"""A worker that has lived this long serves; the next is killed only when all have."""


def edition_words(folder: Path, sources: Path, number: int) -> list[object]:
    """The import of an edition, whose size and titles say which one it is."""
    n_pages = 30 + number % N_EDITIONS
    files = small_files(sources, n_pages)
    assert files.corpus is not None
    with atomic_file(sources / f"corpus-{number}.json") as file:
        for page_id in range(1, n_pages + 1):
            changed = {"title": f"Edition {number}"} if page_id == 1 else {}
            file.write(orjson.dumps({**article(page_id), **changed}) + b"\n")
    return [
        *("collection", "import", folder, "--metadata", files.metadata, "--topics", files.topics),
        *("--corpus", sources / f"corpus-{number}.json"),
    ]


def opened_edition(folder: Path) -> int:
    """The edition that a process which opens the collection now sees; AssertionError unless it is whole."""
    collection = Collection.open(folder)
    engine = open_index(collection)
    try:
        (stored,) = engine.stored([1])
        assert collection.titles is not None
        assert stored is not None
        assert collection.titles[0] == stored.title, (collection.manifest, collection.titles[0], stored.title)
        number = int(stored.title.removeprefix("Edition "))
        sizes = len(collection), engine.statistics().n_pages
        assert sizes == (30 + number % N_EDITIONS,) * 2, (collection.manifest, number, sizes)
    finally:
        engine.close()
    return number


@dataclass
class Refreshes:
    """What happened."""

    n_kills: int = 0
    n_finished: int = 0
    """Commands that ended before they were to be killed, or ran undisturbed."""
    n_opened: int = 0
    n_requests: int = 0
    n_broken: int = 0
    """Requests that were under way when a worker was killed, and broke."""
    worker_kills: list[float] = field(default_factory=list)
    """When workers of the server were killed."""
    edition: int = 0
    failures: list[str] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    def open_again_and_again(self, folder: Path) -> None:
        """What any new process does, at any moment; editions never go back."""
        last = 0
        while not self.is_over.is_set():
            try:
                number = opened_edition(folder)
                assert number >= last, f"edition {number} after {last}"
                last, self.n_opened = number, self.n_opened + 1
            except Exception as error:
                self.failures.append(f"open: {error!r}")
            self.is_over.wait(0.02)

    def visit(self, port: int, seed: int) -> None:
        """A visitor who looks at articles and draws from a search."""
        rng = random.Random(seed)
        status, text = post(port, "/api/searches", orjson.dumps(QUESTION))
        assert status in (200, 201), text
        draws = f"/api/searches/{orjson.loads(text)['token']}/draws"
        while not self.is_over.is_set():
            began = time.monotonic()
            try:
                if rng.random() < 0.5:
                    status = post(port, draws, orjson.dumps({"editor": f"e{rng.random()}"}))[0]
                else:
                    status = get(port, f"/lists/preview?title=x{rng.random()}&keywords=river+temple")[0]
                if status >= 400:
                    self.failures.append(f"request: {status}")
            except (OSError, http.client.HTTPException) as error:
                if any(began <= killed <= time.monotonic() for killed in self.worker_kills):
                    self.n_broken += 1
                else:
                    self.failures.append(f"request: {error!r}")
            self.n_requests += 1
            self.is_over.wait(0.05)

    def kill_workers(self, supervisor: int, n_workers: int, seed: int) -> None:
        """Kill a worker now and then, when all serve; one that ends without being killed is a failure."""
        rng, since = random.Random(seed), dict.fromkeys(workers_of(supervisor), time.monotonic())
        due = time.monotonic() + SETTLED_SECONDS
        killed = 0
        while not self.is_over.wait(0.05):
            now, running = time.monotonic(), set(workers_of(supervisor))
            if gone := since.keys() - running - {killed}:
                self.failures.append(f"workers: {len(gone)} ended that nobody killed")
            since = {process: since.get(process, now) for process in running}
            if now < due or len(since) < n_workers or now - max(since.values()) < SETTLED_SECONDS:
                continue
            killed = rng.choice(sorted(running))
            self.worker_kills.append(time.monotonic())
            os.kill(killed, signal.SIGKILL)
            due = now + rng.uniform(0, SETTLED_SECONDS)


def workers_of(supervisor: int) -> list[int]:
    """The processes of the workers of a server, which are forks of it."""
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    command = Path(f"/proc/{supervisor}/cmdline").read_bytes()
    found = []
    for child in children:
        with suppress(OSError):  # ended meanwhile
            if Path(f"/proc/{child}/cmdline").read_bytes() == command:
                found.append(int(child))
    return found


def refresh(words: list[object], rng: random.Random, seconds: dict[object, float], state: Refreshes) -> bool:
    """Run a command and kill it at some moment; whether it came to its end.

    `seconds` are those that commands take, as far as is known: longer after a kill, shorter after an end, so that kills
    are spread over all of the work whatever else the machine does.
    """
    process = start(words)
    try:
        process.wait(rng.uniform(0.3, 1.0) * seconds[words[0]])
        seconds[words[0]] *= 0.8
    except subprocess.TimeoutExpired:
        process.kill()
        seconds[words[0]] *= 1.1
        state.n_kills += 1
    said = process.communicate()[1]
    if process.returncode not in (0, -9):
        state.failures.append(f"{words[0]}: {process.returncode}: {said[-500:]}")
    state.n_finished += process.returncode == 0
    return process.returncode == 0


def kill_refreshes(
    place: Path,
    n_kills: int,
    seed: int = 0,
    *,
    engine: str | None = None,
    is_dense: bool = False,
    n_visitors: int = 2,
    n_workers: int = 1,
    minutes: float = float("inf"),
) -> Refreshes:
    """Kill so many commands of refreshes, or as many as the time allows, and workers where there are several; without
    visitors there is no server."""
    until = time.monotonic() + 60 * minutes
    rng, folder, state = random.Random(seed), place / "c", Refreshes()
    index: list[object] = [
        "index",
        folder,
        *(["--engine", engine] if engine else []),
        *(["--dense"] if is_dense else []),
    ]
    seconds: dict[object, float] = {}
    for words in (edition_words(folder, place / "sources", 0), index):
        started = time.monotonic()
        ended = run(words)
        assert ended.returncode == 0, ended.stderr
        seconds[words[0]] = time.monotonic() - started
    with ExitStack() as stack:
        work = [threading.Thread(target=state.open_again_and_again, args=(folder,))]
        if n_visitors:
            options = ("--store", place / "desk.sqlite", "--workers", n_workers)
            process, port = stack.enter_context(serving(folder, *options, log=place / "log"))
            if n_workers > 1:
                work.append(threading.Thread(target=state.kill_workers, args=(process, n_workers, seed)))
            work += [threading.Thread(target=state.visit, args=(port, number)) for number in range(n_visitors)]
        for thread in work:
            thread.start()
        try:
            while state.n_kills < n_kills and time.monotonic() < until:
                state.edition += 1
                imports = edition_words(folder, place / "sources", state.edition)
                while not refresh(imports, rng, seconds, state) and rng.random() < 0.8:
                    pass
                while not refresh(index, rng, seconds, state) and rng.random() < 0.8:
                    pass
            state.edition += 1
            for words in (edition_words(folder, place / "sources", state.edition), index):
                ended = run(words)
                assert ended.returncode == 0, ended.stderr
                state.n_finished += 1
        finally:
            state.is_over.set()
            for thread in work:
                thread.join()
    if (found := opened_edition(folder)) != state.edition:
        state.failures.append(f"the last edition is {found}, not {state.edition}")
    return state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine")
    parser.add_argument("--dense", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        started = time.monotonic()
        how = {"engine": asked.engine, "is_dense": asked.dense, "n_workers": asked.workers, "minutes": asked.minutes}
        state = kill_refreshes(Path(place), asked.kills, asked.seed, **how)
        left = sorted(path.name for path in (Path(place) / "c").iterdir())
    print(f"engine                 {asked.engine or 'tantivy'}{', with vectors' if asked.dense else ''}")
    print(f"kills                  {state.n_kills:,} in {time.monotonic() - started:,.0f} s")
    print(f"commands that ended    {state.n_finished:,}")
    print(f"openings meanwhile     {state.n_opened:,}")
    print(f"requests meanwhile     {state.n_requests:,}")
    print(f"workers killed         {len(state.worker_kills):,}; requests that broke with them: {state.n_broken:,}")
    print(f"failures               {len(state.failures):,}")
    print(f"left in the folder     {', '.join(left)}")
    for failure in state.failures[:20]:
        print(f"  {failure}")
    raise SystemExit(1 if state.failures else 0)


if __name__ == "__main__":
    main()
