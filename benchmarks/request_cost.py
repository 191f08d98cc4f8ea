"""Processor time of the most expensive request of every route of the web app, most expensive first.

    python -m benchmarks.request_cost COLLECTION [--limit 1.0]

runs from the root of the repository, on a collection with an index, with a store of its own. Exit 1 when a request
takes more than `--limit` seconds of processor time, or fails. Linear algebra has one thread, as `evenrank serve` gives
it: threads that wait for each other count as work. Beside each time is its ratio to that of a usual new
list (a question of one of the collection's topics), measured in the same run.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from starlette.testclient import TestClient
from tests.judging_files import make_judging
from tests.robustness.worst_requests import WorstRequest, worst_question, worst_requests

from evenrank.app.app import make_app
from evenrank.app.settings import WebSettings
from evenrank.app.state import open_state
from evenrank.app.storage.administration import admin_key
from evenrank.cli.main import ONE_THREAD, add_on_one_thread
from evenrank.trec.collection import Collection

UNLIMITED = WebSettings(reads_per_second=1e6, writes_per_second=1e6, bytes_per_hour=1e12, has_admin_link=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection", type=Path)
    parser.add_argument("--limit", type=float, default=1.0, help="seconds of processor time (1.0)")
    options = parser.parse_args()
    if not all(name in os.environ for name in ONE_THREAD):  # they are read when numpy is loaded
        add_on_one_thread()
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.request_cost", *sys.argv[1:]])
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Collection.open(options.collection), Path(folder))
    usual = next(seconds for seconds, name, _ in rows if name == USUAL)
    print(f"{'seconds':>8}{'ratio':>8}  status  request")
    for seconds, name, status in sorted(rows, reverse=True):
        print(f"{seconds:8.3f}{seconds / usual:8.1f}  {status:>6}  {name}")
    sys.exit(any(seconds > options.limit or status >= 500 for seconds, _, status in rows))


USUAL = "POST /lists (a usual question)"


def measure(collection: Collection, folder: Path) -> list[tuple[float, str, int]]:
    """Seconds, method and route, and status of the most expensive request of every route."""
    judging = make_judging(folder, collection)
    settings = judging.settings(replace(UNLIMITED, store=folder / "desk.sqlite"))
    state = open_state(collection.path, settings)
    rows = []
    with TestClient(make_app(state), base_url="http://localhost", follow_redirects=False) as client:
        client.get("/")  # what is computed once
        client.get(f"/admin/{admin_key(state.store)}")
        topic = collection.topics[0]
        usual = {"title": topic.title, "keywords": ", ".join(topic.keywords), "fairness": "1"}
        client.post("/lists", data={**usual, "title": "first", "text-1": "First"})
        rows.append(timed(client, WorstRequest("POST", "/lists (a usual question)", "/lists", usual)))
        question = worst_question(collection)
        made = {area: client.post(f"/{area}", data=question).headers["location"] for area in ("lists", "searches")}
        client.post(f"{made['searches']}/draws")
        links = {area: address.rpartition("/")[2] for area, address in made.items()}
        secrets = {"assessor": judging.secrets["Ada"], "organiser": judging.secrets["Olga"]}
        secrets["administrator"] = admin_key(state.store)
        page = int(client.get(f"{made['lists']}.json").json()["articles"][0]["page_id"])
        worst = worst_requests(collection, links, secrets, judging.topics[0], page)
        rows += [timed(client, request) for request in worst]
    return rows


def timed(client: TestClient, request: WorstRequest) -> tuple[float, str, int]:
    """Processor time of all threads during one request."""
    start = time.process_time()
    status = client.request(request.method, request.path, **request.sent()).status_code
    return time.process_time() - start, f"{request.method} {request.route}", status


if __name__ == "__main__":
    main()
