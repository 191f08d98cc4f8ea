"""A wiki that answers slowly, wrongly, too much, from elsewhere, or not at all: each ends with a clear error."""

from __future__ import annotations

import gzip
import logging
import socket
import threading
import time
from contextlib import suppress
from typing import Any

import pytest

from evenrank.errors import EvenrankError
from evenrank.wikipedia.mediawiki.categories import banner_pages, category_members
from evenrank.wikipedia.mediawiki.client import WikiClient
from evenrank.wikipedia.mediawiki.settings import (
    WikiAnswerError,
    WikiApiError,
    WikiError,
    WikiSettings,
    WikiUnreachableError,
)
from evenrank.wikipedia.mediawiki.titles import page_links, resolve_titles
from tests.wikipedia.mediawiki.http_server import Exchange, Respond, wiki_that


def assert_fails(respond: Respond, error: type[WikiError], match: str | None = None, **settings: Any) -> None:
    """One call of a wiki that answers so ends with that error."""
    with wiki_that(respond, **settings) as (client, _), pytest.raises(error, match=match):
        client.call(action="query")


def test_a_silent_wiki_is_given_up() -> None:
    assert_fails(lambda *_: time.sleep(1.0), WikiUnreachableError, "does not answer", answer_seconds=0.2)


def test_a_slow_wiki_does_not_hold_every_thread() -> None:
    outcomes: list[str] = []

    def respond(exchange: Exchange, _: dict[str, str]) -> None:
        time.sleep(0.3)
        exchange.send_json({"batchcomplete": True})

    with wiki_that(respond, max_waiting=2) as (client, requests):

        def call() -> None:
            try:
                client.call(action="query")
                outcomes.append("answered")
            except WikiUnreachableError as error:
                outcomes.append(str(error))

        threads = [threading.Thread(target=call) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert outcomes.count("answered") == len(requests) == 2
        assert sum("try again in a moment" in outcome for outcome in outcomes) == 8


def test_an_answer_that_trickles_is_given_up() -> None:
    def trickle(exchange: Exchange, _: dict[str, str]) -> None:
        exchange.send_response(200)
        exchange.send_header("Content-Length", "1000")
        exchange.end_headers()
        try:
            for _byte in range(100):
                exchange.wfile.write(b" ")
                time.sleep(0.05)
        except OSError:
            pass

    with wiki_that(trickle, answer_seconds=0.4) as (client, _):
        start = time.monotonic()
        with pytest.raises(WikiUnreachableError, match=r"longer than 0\.4 seconds|does not answer"):
            client.call(action="query")
        assert time.monotonic() - start < 4.0


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_a_head_that_trickles_is_given_up(head: bytes) -> None:
    """The time limit of a socket begins anew with every byte, so that a head could last for days."""

    def trickle(exchange: Exchange, _: dict[str, str]) -> None:
        with suppress(OSError):
            exchange.wfile.write(head)
            for _byte in range(200):
                exchange.wfile.write(b"x" if head.endswith(b" ") else head)
                time.sleep(0.05)

    assert_fails(trickle, WikiUnreachableError, "took longer", answer_seconds=0.4, connect_seconds=0.4)


def raw_answer(content: bytes) -> Respond:
    """An answer written byte by byte, after which the connection ends."""

    def respond(exchange: Exchange, _: dict[str, str]) -> None:
        exchange.close_connection = True
        with suppress(OSError):
            exchange.wfile.write(content)

    return respond


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 100,
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 99999 ?\r\n\r\n",
        b"HTTP/1.1 200 " + b"x" * 100_000 + b"\r\n\r\n{}",
        OK + b"X: " + b"x" * 100_000 + b"\r\n\r\n{}",
        OK + b"X: x\r\n" * 1000 + b"\r\n{}",
        OK + b"Content-Length: 99999999999999999999\r\n\r\n{}",
        OK + b"Content-Length: 10\r\n\r\n{}",
        OK + b"Content-Length: 2, 3\r\n\r\n{}",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}",
        OK + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 302 Found\r\nLocation: http://[\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: \xff\xfe\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_answers_that_are_not_http(content: bytes) -> None:
    assert_fails(raw_answer(content), WikiError)


@pytest.mark.parametrize("chunk", [b"1\r\n \r\n", b"10000\r\n" + b" " * 65536 + b"\r\n"])
def test_chunks_without_end_are_cut(chunk: bytes) -> None:
    def respond(exchange: Exchange, _: dict[str, str]) -> None:
        with suppress(OSError):
            exchange.wfile.write(OK + b"Transfer-Encoding: chunked\r\n\r\n")
            for _chunk in range(200_000):
                exchange.wfile.write(chunk)

    assert_fails(respond, WikiError, max_answer_bytes=100_000, answer_seconds=5.0)


def test_a_flood_of_cookies_is_not_kept() -> None:
    def respond(exchange: Exchange, _: dict[str, str]) -> None:
        server: Any = exchange.server
        exchange.send_response(200)
        for number in range(90):
            exchange.send_header("Set-Cookie", f"c{len(server.requests)}-{number}={'x' * 100}")
        exchange.send_header("Content-Length", "2")
        exchange.end_headers()
        exchange.wfile.write(b"{}")

    with wiki_that(respond) as (client, requests):
        for _ in range(5):
            client.call(action="query")
        assert requests[-1][0]["Cookie"].count("=") == 50


@pytest.mark.parametrize("token", ["a\r\nX-Evil: 1", "a\nb", "☃"])
def test_a_token_that_is_no_header_is_refused_and_not_shown(token: str) -> None:
    with wiki_that(lambda exchange, _: exchange.send(b"{}")) as (client, requests):
        client.authorize(f"SECRET{token}")
        with pytest.raises(WikiError) as caught:
            client.call(action="query")
        assert requests == []
        chain = [caught.value, caught.value.__cause__]
        assert caught.value.__suppress_context__
        assert "SECRET" not in "".join(map(repr, chain))


def test_a_host_that_is_not_there() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/api.php"
        client = WikiClient(WikiSettings(address, "x@example.org"))
        with client, pytest.raises(WikiUnreachableError, match="refused"):
            client.call(action="query")


def test_html_instead_of_json() -> None:
    page = b"<!DOCTYPE html><title>Log in to the hotel's network</title>"
    assert_fails(
        lambda exchange, _: exchange.send(page, content_type="text/html; charset=utf-8"),
        WikiAnswerError,
        "text/html instead of JSON",
    )


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'"text"', b"{", b"\xff", b"[[[[" * 1000])
def test_json_of_another_kind(body: bytes) -> None:
    assert_fails(lambda exchange, _: exchange.send(body), WikiAnswerError, "JSON")


@pytest.mark.parametrize("location", ["https://evil.example/w/api.php", "//evil.example/", "http://localhost:1/"])
def test_a_redirect_to_another_host_is_not_followed(location: str) -> None:
    with wiki_that(lambda exchange, _: exchange.send(b"", 302, Location=location)) as (client, requests):
        with pytest.raises(WikiAnswerError, match="redirects to another host"):
            client.call(action="query", token="secret")
        assert len(requests) == 1


def test_an_answer_without_end_is_cut() -> None:
    bomb = gzip.compress(b" " * 20_000_000)

    def send_bomb(exchange: Exchange, _: dict[str, str]) -> None:
        exchange.send(bomb, Content_Encoding="gzip")

    assert_fails(send_bomb, WikiAnswerError, "more than 1,000,000 bytes", max_answer_bytes=1_000_000)


@pytest.mark.parametrize("status", [400, 403, 404, 500, 502])
def test_http_errors_are_named(status: int) -> None:
    assert_fails(lambda exchange, _: exchange.send(b"x", status), WikiAnswerError, str(status))


def test_errors_come_with_status_200_and_have_codes() -> None:
    record = {"errors": [{"code": "protectedpage", "text": "This page is protected."}]}
    with wiki_that(lambda exchange, _: exchange.send_json(record)) as (client, requests):
        with pytest.raises(WikiApiError, match=r"This page is protected\. \(protectedpage\)") as caught:
            client.call(action="edit")
        assert caught.value.code == "protectedpage"
        assert len(requests) == 1


@pytest.mark.parametrize("is_error", [True, False])
def test_a_busy_wiki_is_asked_again_after_the_time_it_names(is_error: bool) -> None:
    busy = {"errors": [{"code": "maxlag", "text": "Waiting for a database server: 7 seconds lagged."}]}

    def respond(exchange: Exchange, _: dict[str, str]) -> None:
        server: Any = exchange.server
        if len(server.requests) < 3 and is_error:
            exchange.send_json(busy, Retry_After="7")
        elif len(server.requests) < 3:
            exchange.send(b"slow down", 429, Retry_After="3600")
        else:
            exchange.send_json({"batchcomplete": True})

    with wiki_that(respond) as (client, requests):
        assert client.call(action="query") == {"batchcomplete": True}
        assert client.waits == ([7.0, 7.0] if is_error else [10.0, 10.0])  # type: ignore[attr-defined]
        assert requests[0][1]["maxlag"] == "5"


def test_a_wiki_that_stays_busy_is_given_up() -> None:
    with wiki_that(lambda exchange, _: exchange.send(b"", 503)) as (client, requests):
        with pytest.raises(WikiUnreachableError, match="busy"):
            client.call(action="query")
        assert len(requests) == 4


def test_continuation_that_goes_in_a_circle_or_never_ends() -> None:
    def circle(exchange: Exchange, _: dict[str, str]) -> None:
        exchange.send_json({"query": {}, "continue": {"gcmcontinue": "x", "continue": "-||"}})

    def endless(exchange: Exchange, fields: dict[str, str]) -> None:
        exchange.send_json({"query": {}, "continue": {"gcmcontinue": str(int(fields.get("gcmcontinue", 0)) + 1)}})

    with wiki_that(circle) as (client, requests):
        with pytest.raises(WikiAnswerError, match="never ends"):
            list(client.query(list="categorymembers"))
        assert len(requests) == 2
    with wiki_that(endless, max_requests=20) as (client, requests):
        with pytest.raises(WikiAnswerError, match="more than 20 requests"):
            list(client.query(list="categorymembers"))
        assert len(requests) == 20


N_MEMBERS = 50_000


def category_of_50_000(exchange: Exchange, fields: dict[str, str]) -> None:
    if "titles" in fields:
        page = {"pageid": 1, "ns": 14, "title": "Category:Living people"}
        exchange.send_json({"query": {"pages": [page]}})
        return
    start = int(fields.get("gcmcontinue", 0))
    end = min(start + 500, N_MEMBERS)
    pages = [{"pageid": at + 10, "ns": 0, "title": f"P {at}", "length": at} for at in range(start, end)]
    more = {"continue": {"gcmcontinue": str(end), "continue": "gcmcontinue||"}} if end < N_MEMBERS else {}
    exchange.send_json({"query": {"pages": pages}, **more})


def test_50_000_members_end_at_the_limit() -> None:
    with wiki_that(category_of_50_000) as (client, requests):
        members = category_members(client, "Living people", 2)
        assert len(members.pages) == 20_000
        assert not members.is_complete
        assert len(requests) <= 42


def test_5_000_members_are_read_in_20_requests() -> None:
    with wiki_that(category_of_50_000) as (client, requests):
        assert len(category_members(client, "Living people", max_pages=5_000).pages) == 5_000
        assert len(requests) <= 20


def test_a_tree_that_always_has_one_more_category_ends() -> None:
    def respond(exchange: Exchange, fields: dict[str, str]) -> None:
        name = fields.get("gcmtitle", "Category:0").removeprefix("Category:")
        below = [{"pageid": 1, "ns": 14, "title": f"Category:{name}.{at}"} for at in range(50)]
        own = [{"pageid": 0, "ns": 14, "title": "Category:0"}]
        exchange.send_json({"query": {"pages": own if "titles" in fields else below}})

    with wiki_that(respond) as (client, requests):
        members = category_members(client, "0", 3)
        assert not members.is_complete
        assert [len(level.categories) for level in members.levels] == [1, 50, 149]
        assert len(requests) == 201


BROKEN: list[Any] = [
    {"query": []},
    {"query": {"pages": {"1": {}}}},
    {"query": {"pages": ["text"]}},
    {"query": {"pages": [{}]}},
    {"query": {"pages": [{"pageid": "1", "ns": 0, "title": "X"}]}},
    {"query": {"pages": [{"pageid": 1, "ns": 0, "title": ["X"]}]}},
    {"query": {"normalized": [{"from": 1}], "pages": []}},
    {"query": {"redirects": [{"from": "X", "to": None}]}},
    {"errors": ["text"]},
    {"errors": "text"},
    {"error": {"code": "old", "info": "the old form"}},
    {"continue": "x"},
]


@pytest.mark.parametrize("record", BROKEN)
def test_answers_of_another_shape_are_errors_of_ours(record: object) -> None:
    def respond(exchange: Exchange, fields: dict[str, str]) -> None:
        exchange.send_json(record)

    with wiki_that(respond, max_requests=3) as (client, _):
        for read in (
            lambda: category_members(client, "X"),
            lambda: banner_pages(client, "X"),
            lambda: page_links(client, "X"),
            lambda: resolve_titles(client, ["X"]).pages["X"],
            lambda: client.token(),
            lambda: client.log_in("A@b", "c"),
        ):
            with pytest.raises((WikiError, KeyError)):
                read()


def test_redirect_loops_end() -> None:
    loop = {"query": {"redirects": [{"from": "A", "to": "B"}, {"from": "B", "to": "A"}], "pages": []}}
    with wiki_that(lambda exchange, _: exchange.send_json(loop)) as (client, _):
        assert [entry.reason for entry in resolve_titles(client, ["A"]).unmatched] == ["invalid"]


def test_secrets_are_in_no_log_and_no_error(caplog: pytest.LogCaptureFixture) -> None:
    def respond(exchange: Exchange, fields: dict[str, str]) -> None:
        tokens = {"query": {"tokens": {"logintoken": "TOKEN-1", "csrftoken": "TOKEN-2"}}}
        failed = {"login": {"result": "Failed", "reason": {"code": "x", "text": "wrong"}}}
        exchange.send_json(failed if fields["action"] == "login" else tokens, Set_Cookie="session=COOKIE-3; path=/")

    with caplog.at_level(logging.DEBUG), wiki_that(respond) as (client, requests):
        client.authorize("BEARER-4")
        client.token()
        with pytest.raises(WikiApiError, match="sign-in as A@b failed: wrong") as caught:
            client.log_in("A@b", "PASSWORD-5")
    written = caplog.text + repr(caught.value) + repr(vars(client)) + repr(client)
    for secret in ("TOKEN-1", "TOKEN-2", "COOKIE-3", "BEARER-4", "PASSWORD-5"):
        assert secret not in written
    assert requests[-1][0]["Cookie"] == "session=COOKIE-3"
    assert requests[-1][0]["Authorization"] == "Bearer BEARER-4"
    assert "tests@example.org" in requests[0][0]["User-Agent"]


@pytest.mark.parametrize(
    "address",
    ["", "en.wikipedia.org", "file:///etc/passwd", "https://", "https://a:b@c/api.php", "https://c/api.php?x=1"],
)
def test_addresses_that_are_no_api(address: str) -> None:
    with pytest.raises(EvenrankError, match=r"api\.php"):
        WikiSettings(address, "x@example.org")


def test_a_contact_is_wanted() -> None:
    for contact in ("", " ", "a\nb"):
        with pytest.raises(WikiError, match="contact"):
            WikiSettings("https://example.org/w/api.php", contact)
