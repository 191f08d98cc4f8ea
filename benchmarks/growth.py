"""What grows with the size of a collection: a new list, the start of a server, the first look-up of a title.

    python -m benchmarks.update --folder FOLDER     # makes the collections, a quarter of an hour for the largest
    python -m benchmarks.growth measure FOLDER [--topics 57]

Each step is a process of its own; what is given is its processor time, of all its threads. The costs at 6.4 million
articles are those of the straight lines through the measured ones (least squares).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import orjson
from benchmarks.update import GOAL


def open_app(collection: Path, store: Path):
    """The state of the app, as a worker of a server opens it."""
    from evenrank.app.settings import WebSettings
    from evenrank.app.state import open_state

    return open_state(collection, WebSettings(store=store, facts_folder=store.parent))


def step_start(collection: Path, store: Path, n_topics: int) -> dict[str, float]:
    """Seconds until a worker can answer, and until it can make lists; the second time, what the first one learned is
    there."""
    from evenrank.app import state  # noqa: F401  (modules are loaded before the clock starts)

    begin = time.process_time()
    opened = open_app(collection, store)
    answers = time.process_time() - begin
    opened.learned()
    lists = time.process_time() - begin
    opened.close()
    return {"s": answers, "s to lists": lists}


def step_titles(collection: Path, store: Path, n_topics: int) -> dict[str, float]:
    """Seconds of the first look-up of a title, and microseconds of others."""
    state = open_app(collection, store)
    titles = [state.collection.titles[row] for row in range(0, len(state.collection), 997)]
    begin = time.process_time()
    index = state.title_index
    assert index.find(titles[0]) is not None
    first = time.process_time() - begin
    begin = time.process_time()
    assert all(index.find(title) is not None for title in titles)
    return {"s": first, "us each": 1e6 * (time.process_time() - begin) / len(titles)}


def step_lists(collection: Path, store: Path, n_topics: int) -> dict[str, float]:
    """Milliseconds of processor time of new lists, one for each topic, over the app's own HTTP interface."""
    from starlette.testclient import TestClient

    from evenrank.app.app import make_app
    from evenrank.app.pages.home import example_of

    state = open_app(collection, store)
    topics = state.collection.topics[:n_topics]
    example_of(state)  # what is otherwise computed in the background
    assert state.title_index is not None
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    times = []
    with TestClient(make_app(state), base_url="http://localhost") as client:
        for topic in topics:
            fields = {"title": topic.title, "keywords": ", ".join(topic.keywords), "scope": topic.scope}
            begin = time.process_time()
            answer = client.post("/lists", data={**fields, "fairness": "1"}, headers=form, follow_redirects=True)
            times.append(1000 * (time.process_time() - begin))
            assert answer.status_code == 200, (answer.status_code, topic.title)
    return {"ms": statistics.mean(times), "median ms": statistics.median(times), "most ms": max(times)}


STEPS = {"first start": step_start, "start": step_start, "titles": step_titles, "new list": step_lists}


def measure(folder: Path, n_topics: int) -> None:
    sizes, found = [], {}
    places = sorted((path for path in folder.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    for place in places:
        collection = place / "collection"
        n_pages = orjson.loads((collection / "manifest.json").read_bytes())["counts"]["pages"]
        sizes.append(n_pages)
        with tempfile.TemporaryDirectory() as store:
            for name in STEPS:
                command = [sys.executable, "-m", "benchmarks.growth", "step", str(collection)]
                more = ["--step", name, "--store", f"{store}/desk.sqlite", "--topics", str(n_topics)]
                facts = orjson.loads(subprocess.check_output([*command, *more]).splitlines()[-1])
                for unit, value in facts.items():
                    found.setdefault((name, unit), []).append(value)
                print(
                    f"{n_pages:,}  {name}: {', '.join(f'{value:.4g} {unit}' for unit, value in facts.items())}",
                    flush=True,
                )
    if len(sizes) > 1:
        for (name, unit), values in found.items():
            if unit == "us each":
                continue
            line = np.polyfit(sizes, values, 1)
            print(f"{GOAL:,} (extrapolated)  {name}: {np.polyval(line, GOAL):.4g} {unit}")
    print(f"processes waiting for {os.cpu_count()} cores, mean of the last minute: {os.getloadavg()[0]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["measure", "step"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--topics", type=int, default=57)
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--store", type=Path)
    chosen = parser.parse_args()
    if chosen.what == "measure":
        measure(chosen.folder, chosen.topics)
    else:
        print(orjson.dumps(STEPS[chosen.step](chosen.folder, chosen.store, chosen.topics)).decode())


if __name__ == "__main__":
    main()
