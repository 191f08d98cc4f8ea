"""Guards: headers on every answer, foreign forms refused, limits, secrets that stay secret."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from evenrank.app.app import make_app
from evenrank.app.middleware.guards import HEADERS
from evenrank.app.middleware.limits import BURST_SECONDS, MAX_ADDRESSES, Buckets
from evenrank.app.state import AppState
from evenrank.app.storage.store import new_token, open_app_store, server_secret
from evenrank.errors import InputError
from evenrank.trec.assessment.votes import create_store
from tests.app.conftest import client_of, posted
from tests.desk_collections import QUESTION


def pages_of(client: TestClient, list_path: str, search_path: str) -> list[str]:
    draw = posted(client, f"{search_path}/draws")
    return ["/", "/about", "/api", "/lists/new", "/searches/new", "/nowhere", list_path, f"{list_path}/fairness",
            f"{list_path}/trade-off", f"{list_path}.csv", search_path, draw, f"{draw}.json", "/static/style.css",
            "/api/openapi.json", "/api/nowhere"]  # fmt: skip


def test_every_answer_has_the_security_headers(client: TestClient, list_path: str, search_path: str) -> None:
    for path in pages_of(client, list_path, search_path):
        answer = client.get(path)
        for name, value in HEADERS.items():
            assert answer.headers[name] == value, (path, name)
        assert "cache-control" in answer.headers
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


class Inline(HTMLParser):
    """Collects what the content policy would block: inline scripts, handlers and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        if tag == "style" or (tag == "script" and "src" not in names):
            self.found.append(tag)
        self.found += [name for name in names if name.startswith(("on", "hx-on", "style"))]
        self.found += [str(v) for k, v in attrs if k in ("src", "href", "action") and str(v).startswith("javascript")]


def test_pages_have_nothing_that_the_policy_would_block(client: TestClient, list_path: str, search_path: str) -> None:
    for path in pages_of(client, list_path, search_path):
        parser = Inline()
        parser.feed(client.get(path).text)
        assert parser.found == [], path


def test_a_failure_is_a_page_with_headers_and_no_traceback(state: AppState) -> None:
    def fail(_: Request) -> Response:
        raise RuntimeError("secret detail")

    app = make_app(state)
    app.router.routes.insert(0, Route("/fail", fail))
    answer = TestClient(app, base_url="http://localhost").get("/fail")
    assert answer.status_code == 500
    assert "secret detail" not in answer.text
    assert answer.headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost.evil.example"},
        {"Origin": "http://localhost:81"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
    ],
)
def test_requests_of_other_sites_change_nothing(state: AppState, search_path: str, headers: dict[str, str]) -> None:
    client = client_of(state)
    before = state.store.connection.total_changes
    for path in ("/lists", "/searches", f"{search_path}/draws", f"{search_path}/marks", "/api/lists"):
        assert client.post(path, data=QUESTION, headers=headers).status_code == 403
    assert state.store.connection.total_changes == before


@pytest.mark.parametrize(
    "headers",
    [{}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"Origin": "http://localhost"}],
)
def test_own_requests_pass(client: TestClient, headers: dict[str, str]) -> None:
    assert client.post("/searches", data=QUESTION, headers=headers).status_code == 303


def test_the_public_address_is_an_own_origin(state: AppState) -> None:
    public = replace(state, settings=replace(state.settings, public_url="https://desk.example.org"))
    client = TestClient(make_app(public), base_url="http://localhost", follow_redirects=False)
    headers = {"Origin": "https://desk.example.org"}
    answer = client.post("/lists", data=QUESTION, headers=headers)
    assert answer.status_code == 303
    text = client.get(f"{answer.headers['location']}.table.wiki", headers={"Host": "desk.example.org"}).text
    assert "[https://desk.example.org/lists/" in text


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example"])
def test_foreign_host_names_are_refused(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        "/static/", "/static", "/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/schema.sql",
        "/static/....//app.py", "/static//etc/passwd", "/lists/short/", "/lists/../../etc/passwd", "/searches/short/",
        "/lists/' OR 1=1 --", "/lists/%27%20OR%201%3D1%20--", "/lists/AAAAAAAAAAAAAAAAAAAAAA",
        "/searches/AAAAAAAAAAAAAAAAAAAAAA/draws/1", "/desk.sqlite", "/.git/config",
    ],
)  # fmt: skip
def test_nothing_is_found_where_nothing_is(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code in (404, 405)
    assert "htmx" not in answer.text.lower() or "<html" in answer.text


@pytest.mark.parametrize("text", ["'; DROP TABLE work_list; --", '" OR ""="', "\x00\x1b[31m", "％s%n", "\ud800x"])
def test_words_never_reach_sql(client: TestClient, state: AppState, list_path: str, text: str) -> None:
    fields = {"title": f"Chess {text}", "keywords": text, "scope": text}
    encoded = {name: value.encode("utf-8", "replace").decode() for name, value in fields.items()}
    assert client.post("/lists", data=encoded).status_code in (303, 400)
    assert client.get(list_path, params={"q": encoded["scope"], "class": encoded["scope"]}).status_code == 200
    assert state.store.connection.execute("SELECT count(*) FROM work_list").fetchone()[0] > 0


def test_long_bodies_are_refused_announced_or_not(client: TestClient, state: AppState) -> None:
    too_long = b"title=" + b"x" * state.settings.max_body_bytes
    assert client.post("/lists", content=too_long).status_code == 413
    assert client.post("/lists", content=iter([too_long[:100_000]] * 30)).status_code == 413
    assert client.post("/lists", content=b"", headers={"Content-Length": "-1"}).status_code == 413


def test_broken_forms_are_refused(client: TestClient) -> None:
    many = "&".join(f"f{number}=1" for number in range(200))
    for body in (b"\xff\xfe", many.encode(), b"title=%ff"):
        assert client.post("/lists", content=body).status_code == 400


def test_an_address_that_asks_too_often_must_wait(state: AppState) -> None:
    strict = replace(state, settings=replace(state.settings, reads_per_second=2.0, writes_per_second=0.4))
    client = client_of(strict)
    codes = [client.get("/about").status_code for _ in range(15)]
    assert codes[:10] == [200] * 10
    assert 429 in codes
    posts = [client.post("/searches", data={}) for _ in range(5)]
    assert posts[-1].status_code == 429
    assert int(posts[-1].headers["Retry-After"]) >= 1


def test_buckets_fill_again_and_forget() -> None:
    time = [0.0]
    buckets = Buckets(2.0, clock=lambda: time[0])
    n_burst = int(2.0 * BURST_SECONDS)
    assert [buckets.wait_seconds("a") for _ in range(n_burst)] == [0.0] * n_burst
    assert buckets.wait_seconds("a") == pytest.approx(0.5)
    assert buckets.wait_seconds("b") == 0.0
    time[0] = 0.5
    assert buckets.wait_seconds("a") == 0.0
    for number in range(2 * MAX_ADDRESSES):
        buckets.wait_seconds(str(number))
    assert len(list(buckets.table.items())) <= MAX_ADDRESSES
    assert buckets.wait_seconds("a") > 0.0


def test_links_are_unguessable_and_all_different() -> None:
    tokens = {new_token() for _ in range(1000)}
    assert len(tokens) == 1000
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22}", token) for token in tokens)


def test_links_and_words_are_not_logged(state: AppState, caplog: pytest.LogCaptureFixture) -> None:
    client = client_of(state)
    with caplog.at_level(logging.DEBUG, "evenrank.app"):
        search = posted(client, "/searches", {**QUESTION, "scope": "unmistakable"})
        draw = posted(client, f"{search}/draws")
        client.get(f"{draw}?q=unmistakable")
        client.get("/lists/preview?title=unmistakable")
        client.get(f"{search}x")
    lines = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("POST create_draw 303") for line in lines)
    assert search.rsplit("/", 1)[1] not in "\n".join(lines)
    assert "unmistakable" not in "\n".join(lines)


def test_the_secret_is_in_no_answer(client: TestClient, state: AppState, list_path: str, search_path: str) -> None:
    secret = server_secret(state.store)
    assert len(secret) == 64
    for path in pages_of(client, list_path, search_path):
        assert secret not in client.get(path).text


def test_the_cookie_is_out_of_reach_of_scripts(client: TestClient) -> None:
    cookie = client.post("/searches", data=QUESTION).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie


@pytest.mark.parametrize("cookie", ["", "x", "a" * 5000, "../../etc", "'; DROP TABLE mark; --"])
def test_a_forged_cookie_is_replaced(state: AppState, cookie: str) -> None:
    client = client_of(state)
    answer = client.post("/searches", data=QUESTION, headers={"Cookie": f"desk={cookie}"})
    assert answer.status_code == 303
    assert re.search(r"desk=[A-Za-z0-9_-]{22};", answer.headers["set-cookie"])


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, whatever its name says" * 100)
    create_store(tmp_path / "judgments").close()
    for name in ("text", "judgments"):
        with pytest.raises(InputError, match="name another"):
            open_app_store(tmp_path / name)


def test_an_origin_that_is_no_address_is_foreign(client: TestClient) -> None:
    for origin in ("http://[", "http://[::1", "http://]", "http://[x]"):
        answer = client.post("/language", data={"language": "de"}, headers={"Origin": origin})
        assert answer.status_code == 403, origin


@pytest.mark.parametrize(
    "charset", ["undefined", "punycode", "idna", "hex", "nonsense", "utf-16", "utf-8; charset=punycode", '"punycode"']
)
def test_a_form_in_an_odd_encoding_is_refused(client: TestClient, charset: str) -> None:
    """Some take time without bound to be read: punycode half a minute for one request of 2 MB."""
    answer = client.post("/language", content=ENCODED, headers={"Content-Type": f"{MULTIPART}; charset={charset}"})
    assert answer.status_code == 400
    for spelled in ("CharSet=punycode", "charset*=utf-8''punycode", "charset*0=puny; charset*1=code"):
        answer = client.post("/language", content=ENCODED, headers={"Content-Type": f"{MULTIPART}; {spelled}"})
        assert answer.status_code == 400, spelled


@pytest.mark.parametrize("charset", ["", "; charset=utf-8", '; Charset="UTF-8"'])
def test_a_form_in_utf8_is_read(client: TestClient, charset: str) -> None:
    answer = client.post("/language", content=ENCODED, headers={"Content-Type": f"{MULTIPART}{charset}"})
    assert answer.status_code == 303
    assert "language=de" in answer.headers["set-cookie"]


MULTIPART = "multipart/form-data; boundary=b"
ENCODED = b'--b\r\nContent-Disposition: form-data; name="language"\r\n\r\nde\r\n--b--\r\n'
