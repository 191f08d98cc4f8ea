"""What happens to an index on OpenSearch when nodes, or the process that builds it, are killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tools.fleet.processes import Server

from evenrank.retrieval.engine import opensearch_index
from evenrank.retrieval.engine.engines import engine_kind
from evenrank.retrieval.engine.opensearch_engine import OpenSearchEngine
from evenrank.retrieval.engine.protocol import EngineUnavailableError, IndexLayout, IndexPage, WeightedTerm
from tests.retrieval.conftest import page
from tests.retrieval.engine.cluster import opensearch_address

pytestmark = [pytest.mark.xdist_group("opensearch"), pytest.mark.slow]
LAYOUT = IndexLayout()
HORSE = [WeightedTerm("title", ("hors",))]
PATIENCE = 200
"""Seconds within which a cluster recovers."""


@pytest.fixture
def cluster() -> Iterator[str]:
    """A cluster that is whole again after the test."""
    address = opensearch_address()
    yield address
    from tools.fleet import opensearch

    opensearch.start()
    opensearch.wait_for_nodes(opensearch.N_NODES)


def pages(first: int, last: int) -> list[IndexPage]:
    return [page(number, f"Horse {number}", "a horse") for number in range(first, last)]


def made(address: str, folder: Path, name: str, n_pages: int) -> OpenSearchEngine:
    place = f"{address}/faults-{name}?shards=3"
    engine = engine_kind(place).create(place, folder, LAYOUT, 1)
    assert isinstance(engine, OpenSearchEngine)
    client = engine._client
    client.indices.put_settings(index=engine.index, body={"index.unassigned.node_left.delayed_timeout": "0"})
    client.cluster.health(index=engine.index, wait_for_status="green")
    engine.add(pages(1, n_pages + 1))
    engine.commit("made")
    return engine


def patiently(call):
    """The result of a call, asked again while the engine is away."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return call()
        except EngineUnavailableError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


@pytest.mark.parametrize("role", ["cluster manager", pytest.param("another node", marks=pytest.mark.long)])
def test_loading_and_searching_go_on_when_a_node_dies(role: str, cluster: str, tmp_path: Path) -> None:
    """No acknowledged page is lost, and another index gives the same answers, while a node is away."""
    from tools.fleet import opensearch

    loaded, searched = made(cluster, tmp_path / "a", "loading", 10), made(cluster, tmp_path / "b", "searching", 900)
    before = searched.search(HORSE, 300)
    manager = cluster_manager(loaded)
    others = [node for node in opensearch.NODES if node != manager]
    killer = threading.Timer(0.5, (manager if role == "cluster manager" else others[0]).kill)
    killer.start()
    for first in range(11, 6011, 500):
        loaded.add(pages(first, first + 500))  # waits by itself
        after = patiently(lambda: searched.search(HORSE, 300))
        assert after.page_ids.tolist() == before.page_ids.tolist()
        assert after.scores.tolist() == before.scores.tolist()
    killer.join()
    loaded.commit("loaded")
    assert patiently(loaded.page_ids).tolist() == list(range(1, 6011))
    assert patiently(loaded.mark) == "loaded"


def test_loading_waits_while_the_cluster_is_short_of_memory(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real cluster that lets no request of more than 2 kB in, as one that is short of memory does."""
    engine = made(cluster, tmp_path, "busy", 10)
    client = engine._client

    def limit(size: str | None) -> None:
        client.cluster.put_settings(body={"transient": {"network.breaker.inflight_requests.limit": size}})

    limit("2kb")
    try:
        monkeypatch.setattr(opensearch_index, "PATIENCE_SECONDS", 0.0)
        with pytest.raises(EngineUnavailableError, match="circuit_breaking_exception"):
            engine.add(pages(11, 511))
        monkeypatch.setattr(opensearch_index, "PATIENCE_SECONDS", 300.0)
        relief = threading.Timer(2.0, limit, [None])
        relief.start()
        engine.add(pages(11, 511))
        relief.join()
    finally:
        limit(None)
    engine.commit("made")
    assert engine.page_ids().tolist() == list(range(1, 511))


def cluster_manager(engine: OpenSearchEngine) -> Server:
    """The node that manages the cluster."""
    from tools.fleet import opensearch

    (row,) = engine._client.cat.cluster_manager(format="json")
    return opensearch.NODES[int(str(row["node"]).rpartition("-")[2]) - 1]


BUILD_AND_DIE = """
import os, signal, sys
from evenrank.retrieval.engine.indexing import build_index

n_commits = 0

def die_at_the_second(n_added):
    global n_commits
    n_commits += 1
    if n_commits == 2:
        os.kill(os.getpid(), signal.SIGKILL)

build_index(sys.argv[1], engine=sys.argv[2], n_threads=1, commit_every=200, on_commit=die_at_the_second)
"""


def test_a_killed_build_resumes_and_searches_like_tantivy(cluster: str, tmp_path: Path) -> None:
    from evenrank import generate_collection
    from evenrank.retrieval.engine.engines import open_index
    from evenrank.retrieval.engine.indexing import build_index
    from evenrank.trec.collection import Collection

    folder = tmp_path / "wiki"
    generate_collection(folder, n_pages=900, n_topics=4)
    expected = build_index(folder)
    terms = [WeightedTerm("text", (word,)) for word in expected.analyse("text", "history of the river harvest")]
    ours = expected.search(terms, 200)
    assert len(ours.page_ids) > 50
    place = f"{cluster}/faults-build"
    expected.close()
    died = subprocess.run([sys.executable, "-c", BUILD_AND_DIE, str(folder), place], timeout=300, check=False)
    assert died.returncode == -signal.SIGKILL
    reached: list[int] = []
    build_index(folder, engine=place, n_threads=1, commit_every=200, on_commit=reached.append)
    assert reached[0] > 400
    theirs = open_index(Collection.open(folder)).search(terms, 200)
    assert theirs.page_ids.tolist() == ours.page_ids.tolist()
    assert theirs.scores == pytest.approx(ours.scores, rel=1e-4)


def test_all_nodes_die_and_nothing_acknowledged_is_lost(cluster: str, tmp_path: Path) -> None:
    """The web app answers 503 meanwhile, and recovers by itself."""
    pytest.importorskip("starlette", reason="needs the extra web")
    from starlette.testclient import TestClient
    from tools.fleet import opensearch

    from evenrank import generate_collection
    from evenrank.app.app import make_app
    from evenrank.app.settings import WebSettings
    from evenrank.app.state import open_state
    from evenrank.retrieval.engine.indexing import build_index
    from tests.desk_collections import QUESTION

    engine = made(cluster, tmp_path / "all", "all", 10)
    folder = tmp_path / "wiki"
    generate_collection(folder, n_pages=300, n_topics=2)
    build_index(folder, engine=f"{cluster}/faults-desk")
    state = open_state(folder, WebSettings(reads_per_second=1e6, writes_per_second=1e6, store=tmp_path / "desk.sqlite"))
    client = TestClient(make_app(state), base_url="http://127.0.0.1")
    question = {"title": QUESTION["title"], "keywords": QUESTION["keywords"]}
    assert client.get("/lists/preview", params=question).status_code == 200
    engine.add(pages(11, 2011))
    for node in opensearch.NODES:
        node.kill()
    with pytest.raises(EngineUnavailableError):
        engine.search(HORSE, 5)
    away = client.get("/lists/preview", params=question)
    assert away.status_code == 503
    assert away.headers["Retry-After"]
    opensearch.start()
    engine.commit("again")
    assert patiently(engine.page_ids).tolist() == list(range(1, 2011))
    deadline = time.monotonic() + PATIENCE
    while client.get("/lists/preview", params=question).status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    state.close()


def test_an_index_whose_shards_are_not_back_yet_is_away(cluster: str, tmp_path: Path) -> None:
    """A cluster that has just started answers before its shards do: statistics then raised KeyError (500 at `/readyz`),
    and pages seemed not to be there.

    The index is created again with allocation switched off: a cluster allocates *existing* primaries whatever that
    setting says, so that closing and opening the index leaves it without shards for a fraction of a second only."""
    engine = made(cluster, tmp_path, "shardless", 20)
    client, index = engine._client, engine.index
    client.indices.delete(index=index)
    settings = opensearch_index.index_settings(3)
    settings["index"]["routing.allocation.enable"] = "none"
    body = {"settings": settings, "mappings": opensearch_index.mapping_of(LAYOUT)}
    client.indices.create(index=index, body=body, params={"wait_for_active_shards": "0"})
    asked: list[Callable[[], object]] = [
        lambda: engine.statistics().n_pages,
        lambda: sum(found is not None for found in engine.stored(range(1, 21))),
        lambda: len(engine.search(HORSE, 30).page_ids),
        lambda: engine.document_frequencies("title", ["hors"])[0],
    ]
    for ask in asked:
        with pytest.raises(EngineUnavailableError):
            ask()
    client.indices.put_settings(index=index, body={"index.routing.allocation.enable": "all"})
    client.cluster.health(index=index, wait_for_status="green")
    engine.add(pages(1, 21))
    engine.commit("made")
    for ask in asked:
        assert patiently(ask) == 20
