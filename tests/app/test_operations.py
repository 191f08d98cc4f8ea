"""What whoever runs the server relies on: path prefix, names, health, counts, shared limits, new data, workers."""

from __future__ import annotations

import errno
import gc
import json
import logging
import mmap
import os
import re
import shutil
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, cast

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from evenrank.app import app as app_module
from evenrank.app.app import make_app, reload
from evenrank.app.articles.article import open_facts, save_facts
from evenrank.app.exports.publishing import saved_listing
from evenrank.app.lists.work_list import load_list, versions_of
from evenrank.app.middleware.guards import host_name
from evenrank.app.middleware.limits import WINDOW, Buckets, RequestCounts, SharedTable
from evenrank.app.pages import monitoring
from evenrank.app.server import JSONFormatter, Supervisor, restart_seconds
from evenrank.app.state import AppState, open_state
from evenrank.database.database import Database
from evenrank.errors import EvenrankError, StoreUnavailableError
from evenrank.io import atomic
from evenrank.retrieval.engine.engines import open_index
from evenrank.retrieval.engine.indexing import build_index
from evenrank.retrieval.engine.protocol import Engine, EngineUnavailableError
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import ImportFiles, import_collection
from tests.app.conftest import UNLIMITED, client_of, posted
from tests.app.test_serve import ask, serving
from tests.desk_collections import QUESTION
from tests.robustness.server import get
from tests.robustness.server import serving as robust_serving

LINK = re.compile(r'(?:href|src|action|hx-get|hx-post)="([^"#][^"]*)"')


@pytest.fixture
def below(state: AppState) -> TestClient:
    """The app below a path, behind a proxy that leaves the path in place."""
    settings = replace(state.settings, public_url="https://x.example.org/evenrank")
    app = make_app(replace(state, settings=settings))
    return TestClient(app, base_url="https://x.example.org", follow_redirects=False)


def test_every_link_stays_below_the_prefix(below: TestClient) -> None:
    forms = ("/evenrank/lists", "/evenrank/searches")
    todo, seen = ["/evenrank/", *(posted(below, form, QUESTION) for form in forms)], set[str]()
    todo.append(posted(below, f"{todo[-1]}/draws"))
    while todo and len(seen) < 60:
        path = todo.pop()
        answer = below.get(path)
        assert answer.status_code in (200, 308), path
        seen.add(path)
        if "html" not in answer.headers["content-type"]:
            continue
        for found in LINK.findall(answer.text):
            if re.match("https?:", found):
                assert not found.startswith("https://x.example.org/") or "/evenrank/" in found
                continue
            assert found.startswith("/evenrank/"), (path, found)
            target = found.replace("&amp;", "&").partition("#")[0]
            if target not in seen and not re.search(f'(?:action|hx-post)="{re.escape(found)}"', answer.text):
                todo.append(target)
    assert len(seen) > 20


def test_a_proxy_may_remove_the_prefix(below: TestClient) -> None:
    assert below.get("/about").text == below.get("/evenrank/about").text
    assert below.get("/evenrank").headers["location"] == "/evenrank/"
    assert below.get("/evenrankabout").status_code == 404
    assert below.get("/evenrank/healthz").json() == below.get("/healthz").json()


def test_errors_of_the_interface_are_data_below_a_prefix(below: TestClient) -> None:
    answer = below.get("/evenrank/api/searches/AAAAAAAAAAAAAAAAAAAAAA")
    assert answer.status_code in (404, 405)
    assert answer.json()["error"]


def test_exports_have_whole_addresses(below: TestClient) -> None:
    path = posted(below, "/evenrank/lists", QUESTION)
    assert "[https://x.example.org/evenrank/lists/" in below.get(f"{path}.table.wiki").text


def test_readiness_says_when_the_store_is_gone_and_liveness_does_not(generated: Collection, tmp_path: Path) -> None:
    state = open_state(generated.path, replace(UNLIMITED, store=tmp_path / "desk.sqlite"))
    client = client_of(state)
    answer = client.get("/readyz")
    assert answer.status_code == 200
    known = {"articles": len(state.collection), "data": state.age.text}
    assert answer.json() == {"status": "ready", "store": "ok", "engine": "ok", "goals": "ok", **known}
    with state.store.transaction() as connection:
        connection.execute("DROP TABLE setting")
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"status": "not ready", "store": "away", "engine": "ok", "goals": "ok", **known}
    assert (client.get("/healthz").status_code, client.get("/healthz").json()) == (200, {"status": "ok"})
    state.close()


class AwayStore:
    """A store whose errors name what only the operator may know."""

    path = "postgresql://operator@db.internal/lists"

    @property
    def connection(self) -> NoReturn:
        raise StoreUnavailableError(self.path, 'connection to "db.internal" failed for user "operator"')


def test_neither_health_nor_readiness_tells_where_the_store_is(
    state: AppState, caplog: pytest.LogCaptureFixture
) -> None:
    client = client_of(replace(state, store=cast(Database, AwayStore())))
    for path, status in (("/healthz", 200), ("/readyz", 503)):
        answer = client.get(path)
        assert answer.status_code == status
        assert not [word for word in ("operator", "db.internal", "postgresql") if word in answer.text]
    assert "db.internal" in caplog.text


def test_readiness_asks_a_part_that_hangs_only_once(state: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, release = [], threading.Event()

    def hang(_: AppState) -> None:
        asked.append(1)
        release.wait(30)

    monkeypatch.setattr(monitoring, "PARTS", {**monitoring.PARTS, "engine": hang})
    monkeypatch.setattr(monitoring, "READY_SECONDS", 0.2)
    with client_of(state) as client:
        found = [client.get("/readyz") for _ in range(3)]
        assert [(answer.status_code, answer.json()["engine"]) for answer in found] == [(503, "away")] * 3
        assert len(asked) == 1
        release.set()


def numbers_of(client: TestClient) -> dict[tuple[str, ...], float]:
    """What a server tells Prometheus, as its own reader understands it: by name and labels."""
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = text_string_to_metric_families(answer.text)
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


def test_requests_are_counted_by_route_and_never_by_address(state: AppState) -> None:
    client = client_of(state)
    client.get("/about")
    client.get("/about?secret-word")
    client.get("/secret-path")
    client.request("SECRET", "/about")
    numbers = numbers_of(client)
    assert numbers["evenrank_requests_total", "GET", "about", "200"] == 2
    assert any(key[:2] == ("evenrank_requests_total", "OTHER") for key in numbers)
    assert numbers["evenrank_request_seconds_total", "GET", "about", "200"] > 0
    assert numbers["evenrank_request_duration_seconds_count", "about"] >= 2
    assert numbers["evenrank_articles",] == len(state.collection)
    assert "secret" not in client.get("/metrics").text.lower()


def test_durations_are_a_histogram_by_route() -> None:
    counts = RequestCounts()
    for route, seconds in (("about", 0.004), ("about", 0.005), ("about", 0.3), ("about", 99.0), ("home", 1.0)):
        counts.add("GET", route, 200, seconds)
    found = {route: (dict(n_up_to), seconds) for route, n_up_to, seconds in counts.histograms()}
    about, seconds = found["about"]
    assert list(about.values()) == [2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4]
    assert (about["0.005"], about["0.5"], about["+Inf"]) == (2, 3, 4)
    assert seconds == pytest.approx(99.309)
    home, _ = found["home"]
    assert (home["1.0"], home["0.5"]) == (1, 0)


def test_metrics_say_how_old_the_data_are_and_what_readiness_found(
    generated: Collection, state: AppState, monkeypatch: pytest.MonkeyPatch
) -> None:
    dated = replace(generated, manifest=replace(generated.manifest, data_date="2021-10"))
    client = client_of(replace(state, collection=dated))
    assert "_up " not in client.get("/metrics").text
    client.get("/readyz")
    numbers = numbers_of(client)
    assert numbers["evenrank_data_timestamp_seconds",] == 1633046400  # 1 October 2021 in UTC
    assert (numbers["evenrank_store_up",], numbers["evenrank_engine_up",]) == (1, 1)
    monkeypatch.setattr(monitoring, "answers", lambda name, state: name == "store")
    client.get("/readyz")
    assert numbers_of(client)["evenrank_engine_up",] == 0


def test_a_log_in_json_has_a_value_for_each_part(capsys: pytest.CaptureFixture[str]) -> None:
    record = logging.LogRecord("evenrank.app", logging.INFO, __file__, 1, "GET %s 200", ("about\n\x1b[1m",), None)
    record.fields = {"method": "GET", "route": "about", "status": 200, "milliseconds": 1.5}
    line = JSONFormatter().format(record)
    found = json.loads(line)
    assert found["message"] == "GET about\n\x1b[1m 200"
    assert "\n" not in line
    assert "\x1b" not in line
    assert (found["level"], found["status"], found["milliseconds"]) == ("INFO", 200, 1.5)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found["time"])
    try:
        raise ValueError("postgresql://user:secret@host/name is away")
    except ValueError:
        failed = logging.LogRecord("evenrank.app", logging.ERROR, __file__, 1, "failed", (), sys.exc_info())
    traceback = json.loads(JSONFormatter().format(failed))["traceback"]
    assert "ValueError" in traceback
    assert "secret" not in traceback


def test_serve_logs_json(generated: Collection, tmp_path: Path) -> None:
    with serving(generated.path, tmp_path / "desk.sqlite", "--log-json") as (connection, process):
        ask(connection, "GET", "/about")
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert [line["status"] for line in lines if line.get("route") == "about"] == [200]


def test_robots_and_icon(client: TestClient) -> None:
    assert client.get("/robots.txt").text == "User-agent: *\nDisallow: /\n"
    icon = client.get("/favicon.ico", follow_redirects=True)
    assert icon.headers["content-type"] == "image/svg+xml"


@pytest.mark.parametrize(
    "header, name",
    [
        ("a.org", "a.org"),
        ("A.org:80", "a.org"),
        ("[::1]:8000", "::1"),
        ("[::1]", "::1"),
        ("", ""),
        ("a.org:x", "a.org:x"),
    ],
)
def test_names_in_headers(header: str, name: str) -> None:
    assert host_name(header) == name


def test_a_server_on_all_addresses_knows_numbers_and_its_own_names(state: AppState) -> None:
    settings = replace(state.settings, allowed_hosts=("desk.lan",), allows_addresses=True)
    client = client_of(replace(state, settings=settings))
    for host, status in (
        ("192.168.1.5:8000", 200),
        ("[fe80::1]", 200),
        ("desk.lan", 200),
        ("evil.example", 400),
        ("192.168.1.5.evil.example", 400),
        ("", 400),
    ):
        assert client.get("/about", headers={"Host": host}).status_code == status, host


def test_processes_share_one_bucket() -> None:
    buckets = Buckets(10.0, clock=lambda: 100.0)  # a burst of 50 in all
    children = []
    for _ in range(4):
        reader, writer = os.pipe()
        if not (pid := os.fork()):
            passed = sum(buckets.wait_seconds("203.0.113.7") == 0.0 for _ in range(40))
            os.write(writer, bytes([passed]))
            os._exit(0)
        children.append((pid, reader))
    passed = sum(os.read(reader, 1)[0] for _, reader in children)
    for pid, reader in children:
        os.waitpid(pid, 0)
        os.close(reader)
    assert passed == 50


def test_a_worker_that_is_killed_leaves_no_lock_behind() -> None:
    table = SharedTable(64)
    if not (pid := os.fork()):
        with table._locked():
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    assert table.update("a", lambda pair: (1.0, 2.0), lambda pair: 0.0) == (1.0, 2.0)


def test_a_worker_that_is_stopped_with_the_lock_does_not_stop_the_others() -> None:
    table, (reader, writer) = SharedTable(64), os.pipe()
    if not (pid := os.fork()):
        with table._locked():
            os.write(writer, b"x")
            signal.pause()
    os.read(reader, 1)
    os.kill(pid, signal.SIGSTOP)
    updating = threading.Thread(target=lambda: [table.update("a", lambda pair: (1.0, 2.0), sum) for _ in range(100)])
    updating.daemon = True
    updating.start()
    updating.join(30)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(reader)
    os.close(writer)
    assert not updating.is_alive()
    assert dict(table.items()) == {"a": (1.0, 2.0)}


def test_a_full_table_forgets_what_matters_least() -> None:
    table = SharedTable(WINDOW)
    for number in range(WINDOW):
        table.update(str(number), lambda pair, number=number: (float(number), 0.0), lambda pair: pair[0])
    table.update("new", lambda pair: (99.0, 0.0), lambda pair: pair[0])
    assert {key for key, _ in table.items()} == {*map(str, range(1, WINDOW)), "new"}


def test_nothing_is_written_beside_the_collection(generated: Collection, tmp_path: Path) -> None:
    folder = tmp_path / "collection"
    shutil.copytree(generated.path, folder, ignore=shutil.ignore_patterns("desk*"))
    before = listing(folder)
    with serving(folder, tmp_path / "elsewhere" / "desk.sqlite") as (connection, process):
        ask(connection, "POST", "/lists", QUESTION)
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    assert listing(folder) == before
    assert list((tmp_path / "elsewhere").glob("desk-facts-*.npy"))


def listing(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[tuple[AppState, Path]]:
    """A desk on a collection that tests import anew."""
    write_collection(tmp_path, 30)
    state = open_state(tmp_path / "collection", replace(UNLIMITED, store=tmp_path / "desk.sqlite", reload_seconds=0.05))
    yield state, tmp_path
    state.close()


def write_collection(folder: Path, n_pages: int) -> None:
    pages = range(1, n_pages + 1)
    texts = [{"id": page, "title": f"River {page}", "url": "", "text": f"River {page} flows."} for page in pages]
    facts = [
        {"page_id": page, "quality_score": 0.5, "quality_score_disc": "Stub", "geographic_locations": ["Africa"]}
        for page in pages
    ]
    for name, records in (("corpus", texts), ("metadata", facts)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    files = ImportFiles(metadata=folder / "metadata.jsonl", corpus=folder / "corpus.jsonl")
    collection = import_collection(folder / "collection", files)
    build_index(collection)
    save_facts(collection, 1000, n_workers=1)


def test_a_running_server_notices_a_new_import(growing: tuple[AppState, Path]) -> None:
    state, folder = growing
    with client_of(state) as client:
        assert client.get("/readyz").json()["articles"] == 30
        before = posted(client, "/lists", {"title": "River", "keywords": "river"})
        write_collection(folder, 45)
        deadline = time.monotonic() + 30
        while client.get("/readyz").json()["articles"] != 45 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert client.get("/readyz").json()["articles"] == 45
        titles = client.get(f"{posted(client, '/lists', {'title': 'River', 'keywords': 'river'})}.txt").text
        assert "River 45\n" in titles
        assert len(client.get(f"{before}.txt").text.splitlines()) == 30


def test_old_data_that_a_request_still_used_are_closed_later(
    growing: tuple[AppState, Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Under load, descriptors and memory of the data before stayed until the next refresh."""
    state, folder = growing
    monkeypatch.setattr(app_module, "LONG_REQUEST_SECONDS", 2.0)
    caplog.set_level(logging.INFO, "evenrank.app")
    app = make_app(state)
    with TestClient(app, base_url="http://localhost"):
        used: list[object] = []
        for n_pages in (45, 60):
            if n_pages == 60:
                gc.disable()  # the collector would find it at some time
                used += [used, app.state.current]  # in a circle, as an error and its frames are
                of_request = weakref.ref(app.state.current)
            write_collection(folder, n_pages)
            wait_until(lambda n_pages=n_pages: f"now serving {n_pages} articles" in caplog.text)
        try:
            assert of_request() is not None
            del used
            wait_until(lambda: of_request() is None)
        finally:
            gc.enable()


def wait_until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_new_data_that_cannot_be_opened_yet_are_tried_again(
    growing: tuple[AppState, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster that was away for the moment of a refresh: the server stayed with the earlier data for good."""
    state, folder = growing
    n_tries = 0

    def away_twice(collection: Collection) -> Engine:
        nonlocal n_tries
        n_tries += 1
        if n_tries <= 2:
            raise EngineUnavailableError("the cluster does not answer")
        return open_index(collection)

    monkeypatch.setattr(app_module, "open_index", away_twice)
    with client_of(state) as client:
        write_collection(folder, 45)
        deadline = time.monotonic() + 60
        while client.get("/readyz").json()["articles"] != 45 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert client.get("/readyz").json()["articles"] == 45
    assert n_tries == 3


@pytest.mark.parametrize("was_searched", [True, False])
def test_an_index_that_is_removed_while_it_is_served_is_told(
    growing: tuple[AppState, Path], caplog: pytest.LogCaptureFixture, was_searched: bool
) -> None:
    state, folder = growing
    client = client_of(state)
    if was_searched:
        posted(client, "/lists", {"title": "River", "keywords": "flows"})
    shutil.rmtree(folder / "collection" / "index-1")
    answer = client.post("/lists", data={"title": "River", "keywords": "river"})
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "5"
    assert "the index is gone" in caplog.text
    assert str(folder) not in answer.text
    assert "Traceback" not in caplog.text
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["store"], answer.json()["engine"]) == (503, "ok", "away")


def test_a_store_that_is_replaced_while_it_is_served_is_away(growing: tuple[AppState, Path]) -> None:
    """Draws went on into the removed file, and were acknowledged; with a backup in its place, they were lost."""
    state, folder = growing
    with client_of(state) as client:
        path = posted(client, "/searches", {"title": "River", "keywords": "river"})
        assert client.get("/readyz").status_code == 200
        shutil.copyfile(folder / "desk.sqlite", folder / "restored")
        (folder / "restored").replace(folder / "desk.sqlite")
        assert client.post(f"/api{path}/draws", json={}).status_code == 503
        assert (client.get("/readyz").json()["store"], client.get("/healthz").status_code) == ("away", 200)


def test_a_store_with_lists_of_another_collection_is_refused(
    growing: tuple[AppState, Path], hostile: Collection
) -> None:
    state, folder = growing
    settings = state.settings
    open_state(hostile.path, settings).close()  # no list yet: any collection will do
    open_state(state.collection.path, settings).close()
    posted(client_of(state), "/lists", {"title": "River", "keywords": "river"})
    with pytest.raises(EvenrankError, match="its lists are of another collection"):
        open_state(hostile.path, settings)
    write_collection(folder, 45)  # a newer import has the same pages, and more
    open_state(state.collection.path, settings).close()
    write_collection(folder, 20)
    open_state(state.collection.path, settings).close()


def test_of_two_servers_with_two_collections_one_store_takes_lists_of_one(
    growing: tuple[AppState, Path], hostile: Collection, caplog: pytest.LogCaptureFixture
) -> None:
    """Both started on an empty store, and both stored lists in it."""
    first, _ = growing
    second = open_state(hostile.path, first.settings)
    question = {"title": "River", "keywords": ["river"]}
    refused, taken = client_of(first), client_of(second)
    for area in ("lists", "searches"):
        assert refused.post(f"/api/{area}", json=question).status_code == 503
        assert taken.post(f"/api/{area}", json=question).status_code == 201
    assert refused.post("/lists", data={"title": "River", "keywords": "river"}).status_code == 503
    assert "a server of another collection" in caplog.text
    assert (refused.get("/readyz").json()["store"], taken.get("/readyz").json()["store"]) == ("away", "ok")
    second.close()
    with pytest.raises(EvenrankError, match="its lists are of another collection"):
        open_state(first.collection.path, first.settings)


def test_a_collection_that_can_only_be_read_is_served_without_counts(
    growing: tuple[AppState, Path], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> NoReturn:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    state, _ = growing
    for path in state.collection.path.glob("desk-facts*"):
        path.unlink()
    monkeypatch.setattr(atomic, "remove_stale", refuse)
    save_facts(state.collection, 1000, n_workers=1)
    assert "Read-only file system" in caplog.text
    assert open_facts(state.collection, None) is None


def test_publishing_makes_a_list_again_from_newer_data(growing: tuple[AppState, Path]) -> None:
    state, folder = growing
    token = posted(client_of(state), "/lists", {"title": "River", "keywords": "river"}).rpartition("/")[2]
    first = load_list(state.store, token)
    assert first is not None
    path, settings = folder / "collection", state.settings
    assert len(saved_listing(path, settings, token, may_save=True).articles) == 30
    assert len(versions_of(state.store, first, 9)) == 1
    write_collection(folder, 45)
    assert len(saved_listing(path, settings, token, may_save=False).articles) == 45
    assert len(versions_of(state.store, first, 9)) == 1
    listing = saved_listing(path, replace(settings, public_url="https://x.example.org"), token, may_save=True)
    newest = versions_of(state.store, first, 9)[1]
    assert len(listing.articles) == len(newest.page_ids) == 45
    assert listing.address == f"https://x.example.org/lists/{newest.reader}/refresh"
    assert newest.token not in listing.address + listing.edit_address


def test_a_collection_that_cannot_be_opened_leaves_the_old_one(growing: tuple[AppState, Path]) -> None:
    state, folder = growing
    app = make_app(state)
    (folder / "collection" / "manifest.json").write_text("{}")
    with pytest.raises(Exception, match="manifest"):
        reload(app)
    assert app.state.current is state


def test_workers_answer_together_and_one_that_dies_is_replaced(generated: Collection, tmp_path: Path) -> None:
    store = tmp_path / "desk.sqlite"
    with serving(generated.path, store, "--workers", "2", "--rate", "1000") as (connection, process):
        path = ask(connection, "POST", "/lists", QUESTION)
        workers = workers_of(process.pid)
        assert len(workers) == 2
        os.kill(workers[0], signal.SIGKILL)
        for _ in range(10):
            connection.close()
            assert "<h1" in ask(connection, "GET", path)
        for _ in range(20):
            connection.close()
            ask(connection, "GET", "/about")
        connection.close()
        counts = ask(connection, "GET", "/metrics")
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
    assert 'evenrank_requests_total{method="GET",route="about",status="200"} 20' in counts
    assert f"worker {workers[0]} ended (signal 9); another takes its place" in log
    assert re.search(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \d+ INFO GET about 200", log, re.M)
    assert "ready after" in log
    assert process.returncode == 0
    for pid in workers:
        assert not Path(f"/proc/{pid}").exists()


def test_workers_that_cannot_start_end_the_server(golden_collection: Collection, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from evenrank.cli.serve import command

    words = [str(golden_collection.path), "--port", "0", "--workers", "2", "--store", str(tmp_path / "desk.sqlite")]
    result = CliRunner().invoke(command, words)
    assert "could not start" in str(result.exception)


def test_a_worker_that_cannot_start_again_leaves_the_others_at_work(generated: Collection, tmp_path: Path) -> None:
    folder, log = tmp_path / "collection", tmp_path / "log"
    shutil.copytree(generated.path, folder, ignore=shutil.ignore_patterns("desk*"))
    with robust_serving(folder, "--workers", 3, "--store", tmp_path / "desk.sqlite", log=log) as (process, port):
        wait_for(lambda: log.read_text().count("ready after") == 3)
        [index] = (path for path in folder.glob("index*") if path.is_dir())
        index.rename(folder / "away")
        os.kill(workers_of(process)[0], signal.SIGKILL)
        os.kill(workers_of(process)[1], signal.SIGKILL)
        wait_for(lambda: log.read_text().count("no index") >= 5)  # tried again and again, later each time
        assert [get(port, path)[0] for path in ("/about", "/healthz", "/") * 10] == [200] * 30
        (folder / "away").rename(index)
        wait_for(lambda: log.read_text().count("ready after") == 5)
        assert len(workers_of(process)) == 3
    assert "another takes its place in 2 s" in log.read_text()


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def workers_of(process: int) -> list[int]:
    """Processes that answer, of a server with several."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(pid) for pid in children if b"--workers" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_workers_wait_for_a_store_that_is_away_when_the_server_starts() -> None:
    attempts = mmap.mmap(-1, 1)

    def work(tell_ready: Callable[[], None]) -> None:
        attempts[0] += 1
        if attempts[0] < 3:
            raise StoreUnavailableError("postgresql://db", "no route")
        tell_ready()
        os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(30)

    Supervisor(1, work).run()
    assert attempts[0] == 3


def test_waits_before_restarts_double_and_have_a_limit() -> None:
    assert [restart_seconds(n) for n in range(5)] == [0.0, 0.0, 1.0, 2.0, 4.0]
    assert restart_seconds(1000) == 30.0
