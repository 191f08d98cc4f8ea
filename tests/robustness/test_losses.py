"""A search node and PostgreSQL are killed under load, in the middle of an update: what was acknowledged stays."""

from __future__ import annotations

import html
import http.client
import random
import secrets
import signal
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest

from evenrank.app.storage.store import app_schema
from evenrank.database.database import open_database
from evenrank.retrieval.engine.opensearch_engine import OpenSearchEngine
from evenrank.retrieval.update import update_collection
from tests.postgres_server import running_postgres
from tests.retrieval.engine.cluster import opensearch_address
from tests.robustness.commands import run
from tests.robustness.refresh_kills import N_EDITIONS, edition_words, opened_edition
from tests.robustness.server import QUESTION, serving
from tests.robustness.test_updates_served import changes_to

pytestmark = [pytest.mark.xdist_group("opensearch"), pytest.mark.slow]
N_VISITORS = 3
MOST_MARKS = 5
"""Of a visitor, who would otherwise have done all articles."""
NUMBER = 1
"""Of the edition to which the collection is updated."""


@dataclass
class Visits:
    """What visitors were told."""

    drawn: dict[str, list[int]] = field(default_factory=dict)
    """Numbers of acknowledged draws by search."""
    marked: dict[tuple[str, int], str] = field(default_factory=dict)
    """Acknowledged marks by search and page."""
    away: dict[str, int] = field(default_factory=dict)
    """How often each text came with status 503."""
    failures: list[str] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    def visit(self, port: int, seed: int) -> None:
        """Draw and mark, again and again; whatever is not acknowledged is 503 with the time to try again."""
        rng, search = random.Random(seed), ""
        while not self.is_over.is_set():
            if not search:
                search = (self.told(port, "/api/searches", QUESTION) or {}).get("token", "")
                continue
            told = self.told(port, f"/api/searches/{search}/draws", {"editor": f"e{rng.random()}"})
            if told:
                self.drawn.setdefault(search, []).append(told["number"])
                page, kind = rng.choice(told["articles"])["page_id"], rng.choice(["done", "off-topic"])
                n_marked = sum(marked == search for marked, _ in self.marked)
                if n_marked < MOST_MARKS and self.told(
                    port, f"/api/searches/{search}/marks", {"page_id": page, "mark": kind}
                ):
                    self.marked[search, page] = kind
            self.is_over.wait(0.05)

    def told(self, port: int, path: str, record: object) -> dict | None:
        """The answer to a change that was acknowledged."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        try:
            connection.request("POST", path, orjson.dumps(record), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.failures.append(f"{path}: {error!r}")
            return None
        finally:
            connection.close()
        if answer.status < 300:
            return orjson.loads(body)
        if answer.status == 503 and answer.getheader("Retry-After"):
            text = orjson.loads(body)["detail"]
            self.away[text] = self.away.get(text, 0) + 1
        elif answer.status != 409:  # every article is done
            self.failures.append(f"{path}: {answer.status} {body[:300]!r}")
        return None


def page_of(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, html.unescape(answer.read().decode())
    finally:
        connection.close()


def wait_until(what: str, is_so, seconds: float = 200) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.3)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_node_and_the_database_die_in_an_update_and_nothing_acknowledged_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("uvicorn", reason="needs the extra web")
    from tools.fleet import opensearch

    address, folder, visits = opensearch_address(), tmp_path / "c", Visits()
    engine = f"{address}/losses-{secrets.token_hex(4)}?shards=3"
    for words in (edition_words(folder, tmp_path / "sources", 0), ["index", folder, "--engine", engine]):
        ended = run(words)
        assert ended.returncode == 0, ended.stderr
    is_adding, are_killed = threading.Event(), threading.Event()
    add = OpenSearchEngine.add

    def add_after_the_loss(self: OpenSearchEngine, pages) -> None:
        is_adding.set()
        assert are_killed.wait(120)
        add(self, pages)

    try:
        with (
            running_postgres() as postgres,
            serving(folder, "--store", postgres.url, log=tmp_path / "log") as (_, port),
        ):
            work = [threading.Thread(target=visits.visit, args=(port, seed)) for seed in range(N_VISITORS)]
            updated: list[object] = []

            def update() -> None:
                updated.append(update_collection(folder, changes_to(tmp_path / "changes.jsonl", NUMBER)))

            updating = threading.Thread(target=update)
            for thread in work:
                thread.start()
            wait_until("nobody draws", lambda: len(visits.drawn) == N_VISITORS)
            monkeypatch.setattr(OpenSearchEngine, "add", add_after_the_loss)
            updating.start()
            assert is_adding.wait(120), "the update does not add pages"
            opensearch.NODES[0].kill()
            postgres.stop(signal.SIGKILL)
            n_before = sum(map(len, visits.drawn.values()))
            are_killed.set()
            search = next(iter(visits.drawn))
            status, text = page_of(port, f"/searches/{search}")
            assert status == 503
            assert "database of this server does not answer" in text
            assert page_of(port, "/healthz")[0] == 200
            wait_until("no visitor was told", lambda: any("database" in text for text in visits.away))
            postgres.start()
            wait_until("nobody draws again", lambda: sum(map(len, visits.drawn.values())) > n_before + 3)
            updating.join(600)
            assert updated, "the update did not end"
            n_articles = f'"articles":{30 + NUMBER % N_EDITIONS},'
            wait_until("the server does not follow", lambda: n_articles in page_of(port, "/readyz")[1])
            wait_until("the server is not ready", lambda: page_of(port, "/readyz")[0] == 200)
            assert page_of(port, f"/searches/{search}")[0] == 200
            visits.is_over.set()
            for thread in work:
                thread.join()
            with open_database(postgres.url, app_schema()) as store:
                rows = store.connection.execute(
                    "SELECT token, d.number AS number FROM draw d JOIN saved_search s ON s.number = d.search"
                ).fetchall()
                marks = store.connection.execute(
                    "SELECT token, page_id, kind FROM mark m JOIN saved_search s ON s.number = m.search"
                ).fetchall()
    finally:
        visits.is_over.set()
        are_killed.set()
        opensearch.start()
        opensearch.wait_for_nodes(opensearch.N_NODES)
    assert visits.failures == []
    for search, numbers in visits.drawn.items():
        stored = [row["number"] for row in rows if row["token"] == search]
        assert len(set(numbers)) == len(numbers)
        assert set(numbers) <= set(stored)
        assert sorted(stored) == list(range(1, len(stored) + 1))
    assert {(row["token"], row["page_id"]): row["kind"] for row in marks}.items() >= visits.marked.items()
    assert opened_edition(folder) == NUMBER
    print(f"{sum(map(len, visits.drawn.values()))} draws, {len(visits.marked)} marks; told: {visits.away}")
