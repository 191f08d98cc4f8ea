"""The administration page: only for whoever runs the server; it removes, limits, and never shows private things."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest
from starlette.testclient import TestClient

from evenrank.app.pages import admin as admin_page
from evenrank.app.state import AppState, open_state
from evenrank.app.storage.administration import (
    admin_key,
    entries,
    find_expired,
    remove_expired,
    renew_admin_link,
    set_limits,
)
from evenrank.app.storage.sessions import OAuthTokens, find_person, start_session
from evenrank.app.storage.store import limit_of
from evenrank.io.work_report import read_work, reported
from evenrank.progress import track
from evenrank.trec.collection import Collection
from tests.app.conftest import UNLIMITED, client_of, posted
from tests.app.test_ownership import person_client
from tests.desk_collections import QUESTION
from tests.robustness.server import get, serving


@pytest.fixture
def own_state(generated: Collection, tmp_path: Path) -> Iterator[AppState]:
    settings = replace(UNLIMITED, store=tmp_path / "desk.sqlite", admins=("Keeper",), has_admin_link=True)
    state = open_state(generated.path, settings)
    yield state
    state.close()


@pytest.fixture
def admin(own_state: AppState) -> TestClient:
    """A browser that opened the secret link."""
    client = client_of(own_state)
    answer = client.get(f"/admin/{admin_key(own_state.store)}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/admin")
    return client


def test_nobody_else_learns_that_there_is_such_a_page(own_state: AppState, client: TestClient) -> None:
    visitor = client_of(own_state)
    assert visitor.get("/admin").status_code == 404
    assert visitor.get(f"/admin/{'x' * 32}").status_code == 404
    assert visitor.post("/admin", data={"action": "expire", "sure": "yes"}).status_code == 404
    assert person_client(own_state, "Somebody").get("/admin").status_code == 404
    assert person_client(own_state, "Keeper").get("/admin").status_code == 200
    assert client.get("/admin").status_code == 404  # a server that names nobody


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded", b"action=%ff"),
        ("application/x-www-form-urlencoded", b"action=a%00b"),
        ("application/x-www-form-urlencoded", b"&".join(b"a%d=1" % number for number in range(500))),
        ("multipart/form-data; boundary=b", b"no parts"),
        ("multipart/form-data", b""),
    ],
)
def test_a_malformed_form_tells_strangers_no_more(
    own_state: AppState, admin: TestClient, kind: str, body: bytes
) -> None:
    visitor = client_of(own_state)
    sent = {"content": body, "headers": {"Content-Type": kind}}
    assert visitor.post("/admin", **sent).status_code == visitor.post("/no-such-page", **sent).status_code == 404
    assert admin.post("/admin", **sent).status_code == 400


def test_a_new_link_ends_the_old_one_and_its_browsers(own_state: AppState, admin: TestClient) -> None:
    before = admin_key(own_state.store)
    path = posted(client_of(own_state), "/searches", QUESTION)
    renew_admin_link(own_state.store)
    after = admin_key(own_state.store)
    assert before != after
    assert admin.get("/admin").status_code == 404
    assert admin.get(f"/admin/{before}").status_code == 404
    assert admin.get(f"/admin/{after}").status_code == 303
    assert admin.get("/admin").status_code == 200
    assert client_of(own_state).get(path).status_code == 200


def test_the_command_prints_a_new_link_each_time(generated: Collection, tmp_path: Path) -> None:
    links = []
    for option in ("--admin-link", "--new-admin-link", "--admin-link"):
        log = tmp_path / option
        with serving(generated.path, "--store", tmp_path / "desk.sqlite", option, log=log) as (_, port):
            found = re.findall(r"administration: http://[^/]+(/admin/\S+)", log.read_text())
            links += found
            assert get(port, found[0])[0] == 303
            assert option != "--new-admin-link" or get(port, links[0])[0] == 404
    assert links[0] != links[1] == links[2]


def test_the_link_needs_the_option(generated: Collection, tmp_path: Path) -> None:
    state = open_state(generated.path, replace(UNLIMITED, store=tmp_path / "desk.sqlite"))
    visitor = client_of(state)
    assert visitor.get(f"/admin/{admin_key(state.store)}").status_code == 404
    visitor.cookies.set("admin", admin_key(state.store))
    assert visitor.get("/admin").status_code == 404
    state.close()


def test_what_is_private_has_no_title_and_no_link(own_state: AppState, admin: TestClient) -> None:
    visitor = client_of(own_state)
    shown = posted(visitor, "/lists", {**QUESTION, "title": "Open chess"})
    hidden = posted(visitor, "/lists", {**QUESTION, "title": "Secret chess"})
    visitor.post(f"{hidden}/manage", data={"action": "private"})
    html = admin.get("/admin").text
    assert "Open chess" in html
    assert "Secret chess" not in html
    assert shown.rpartition("/")[2] not in html  # the link that can only read is shown
    assert admin.get("/admin?q=secret").text.count("Secret chess") == 0
    assert [entry.title for entry in entries(own_state.store)[0]] == ["", "Open chess"]


def test_removing_needs_the_box(own_state: AppState, admin: TestClient) -> None:
    visitor = client_of(own_state)
    path = posted(visitor, "/searches", QUESTION)
    posted(visitor, f"{path}/draws")
    [entry], n_entries = entries(own_state.store)
    assert n_entries == 1
    fields = {"action": "remove", "thing": entry.thing, "number": str(entry.number)}
    assert admin.post("/admin", data=fields).status_code == 400
    assert visitor.get(path).status_code == 200
    assert admin.post("/admin", data={**fields, "sure": "yes"}).status_code == 303
    assert visitor.get(path).status_code == 404
    assert own_state.store.connection.execute("SELECT count(*) FROM draw").fetchone()[0] == 0


def test_an_account_goes_with_what_it_owns_and_its_name(own_state: AppState, admin: TestClient) -> None:
    cookie = start_session(own_state.store, "Ada", OAuthTokens("token"), "x" * 22)
    ada, other = person_client(own_state, "Ada"), client_of(own_state)
    own, others = posted(ada, "/lists", QUESTION), posted(other, "/lists", QUESTION)
    page_id = other.get(f"{others}.json").json()["articles"][0]["page_id"]
    ada.post(f"{others}/marks", data={"page_id": str(page_id), "mark": "done"})
    assert "Ada" in admin.get("/admin").text
    admin.post("/admin", data={"action": "sign-out", "person": "Ada"})
    assert find_person(own_state.store, cookie) is None
    assert admin.post("/admin", data={"action": "remove-person", "person": "Ada", "sure": "yes"}).status_code == 303
    assert other.get(own).status_code == 404
    html = other.get(others).text
    assert "Ada" not in html
    assert "marked-done" in html
    held = own_state.store.connection.execute("SELECT editor FROM list_mark").fetchall()
    assert all("Ada" not in row["editor"] for row in held)


def test_limits_hold_at_once_and_are_checked(own_state: AppState, admin: TestClient) -> None:
    limits = {"max_kept": "1", "max_draws": "1", "browser_days": "0", "archive_days": "0"}
    assert admin.post("/admin", data={"action": "limits", **limits, "max_kept": "0"}).status_code == 400
    assert limit_of(own_state.store, "max_kept") == 1000
    assert admin.post("/admin", data={"action": "limits", **limits}).status_code == 303
    visitor = client_of(own_state)
    path = posted(visitor, "/searches", QUESTION)
    assert visitor.post("/searches", data=QUESTION).status_code == 400
    posted(visitor, f"{path}/draws")
    assert visitor.post(f"{path}/draws").status_code == 400
    assert visitor.post(f"/api{path}/draws", json={}).status_code == 409


def test_retention_spares_accounts_and_what_was_used(own_state: AppState) -> None:
    store, browser, ada = own_state.store, client_of(own_state), person_client(own_state, "Ada")
    used, unused, owned = (posted(who, "/lists", QUESTION) for who in (browser, browser, ada))
    archived = posted(ada, "/searches", QUESTION)
    ada.post(f"{archived}/manage", data={"action": "archive"})
    later = datetime.now(UTC) + timedelta(days=31)
    assert find_expired(store, later) == []
    set_limits(store, {"browser_days": 30, "archive_days": 30})
    assert len(find_expired(store, later)) == 3
    assert find_expired(store) == []
    page_id = browser.get(f"{used}.json").json()["articles"][0]["page_id"]
    browser.post(f"{used}/marks", data={"page_id": str(page_id), "mark": "done"})
    with store.transaction() as connection:
        connection.execute("UPDATE list_mark SET created = ?", (later.strftime("%Y-%m-%d %H:%M:%S"),))
    assert remove_expired(store, later) == 2
    assert [who.get(path).status_code for who, path in ((browser, used), (browser, unused))] == [200, 404]
    assert [ada.get(path).status_code for path in (owned, archived)] == [200, 404]


@pytest.fixture
def own_data(generated: Collection, tmp_path: Path) -> Iterator[tuple[TestClient, Path]]:
    """The administrator of a server on data that may be written."""
    folder = tmp_path / "c"
    shutil.copytree(generated.path, folder)
    settings = replace(UNLIMITED, store=tmp_path / "desk.sqlite", has_admin_link=True)
    state = open_state(folder, settings)
    client = client_of(state)
    client.get(f"/admin/{admin_key(state.store)}")
    yield client, folder
    state.close()


def test_a_command_is_started_and_its_end_is_seen(own_data: tuple[TestClient, Path]) -> None:
    client, folder = own_data
    page = client.get("/admin").text
    assert "No command has reported work on the data yet." in page
    assert 'value="index"' in page
    assert 'value="sync"' not in page  # the server knows no wiki
    assert client.post("/admin", data={"action": "job", "job": "format"}).status_code == 400
    answer = client.post("/admin", data={"action": "job", "job": "index"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/admin?done=job")
    assert client.get("/admin?done=job").headers["refresh"]
    (process,) = admin_page.STARTED
    assert process.wait(120) == 0
    work = read_work(folder)
    assert work is not None
    assert (work.command, work.error, work.is_running) == ("index", "", False)
    page = client.get("/admin")
    assert re.search(r"<code>index</code> ended at", page.text)
    assert "refresh" not in page.headers


def test_progress_of_a_command_is_shown_and_no_other_is_started(own_data: tuple[TestClient, Path]) -> None:
    client, folder = own_data
    with reported(folder, "collection update"):
        for n in track(range(8), "articles", 8):
            if n == 2:  # a report was written when the second one was done
                break
        page = client.get("/admin")
        assert "<code>collection update</code> is at work since" in page.text
        assert "<bdi>articles</bdi>: 12" in page.text
        assert 'value="0.125"' in page.text
        assert page.headers["refresh"] == "5"
        assert 'value="index"' not in page.text
        refused = client.post("/admin", data={"action": "job", "job": "index"})
        assert refused.status_code == 400
        assert "Wait until it has ended" in refused.text
    work = read_work(folder)
    assert work is not None
    (folder / "work.json").write_bytes(orjson.dumps({**asdict(work), "ended": "", "process": 2**22 + 1}))
    assert "was stopped before its end" in client.get("/admin").text
    (folder / "work.json").write_bytes(orjson.dumps({**asdict(work), "error": "<no> space left"}))
    assert "&lt;no&gt; space left" in client.get("/admin").text


def test_data_that_cannot_be_written_have_no_commands(own_data: tuple[TestClient, Path]) -> None:
    client, folder = own_data
    (folder / "release-1.json").touch()
    assert 'value="index"' not in client.get("/admin").text
    assert client.post("/admin", data={"action": "job", "job": "index"}).status_code == 400
