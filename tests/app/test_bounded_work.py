"""Work and storage that visitors can ask for has a limit."""

from __future__ import annotations

import asyncio
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.responses import Response
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from evenrank.app.app import make_app
from evenrank.app.lists import analysis as module
from evenrank.app.lists.work_list import load_list
from evenrank.app.middleware.limits import LimitBodies
from evenrank.app.request.capacity import Capacity
from evenrank.app.state import AppState
from evenrank.app.storage import saved_request as kept
from evenrank.scoring import topic_stats
from tests.app.conftest import posted
from tests.app.test_ownership import person_client
from tests.desk_collections import QUESTION


def test_a_trade_off_is_compute_points_once_for_twenty_who_ask_at_once(
    state: AppState, list_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_list = load_list(state.store, list_path.rpartition("/")[2])
    assert work_list is not None
    real, n_calls = module._compute_points, []

    def counted(*arguments: object) -> object:
        n_calls.append(1)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_compute_points", counted)
    curves: list[object] = []
    threads = [threading.Thread(target=lambda: curves.append(module.trade_off(state, work_list))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(n_calls) == 1
    assert len(curves) == 20


@pytest.mark.parametrize("area", ["", "/api"])
def test_a_trade_off_of_many_articles_is_ranked_once_a_request(
    client: TestClient, state: AppState, area: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A curve is five lists, and one of 9,000 articles took four times as long as a request may."""
    n_ranked, rank = [0], module.rank_for_work

    def counted(*arguments: object) -> object:
        n_ranked[0] += 1
        return rank(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "rank_for_work", counted)
    monkeypatch.setattr(module, "EASY_ARTICLES", 10)
    address = f"{area}{posted(client, '/lists', QUESTION)}/trade-off"
    for number in range(1, len(module.WEIGHTS)):
        answer = client.get(address)
        assert (answer.status_code, answer.headers["location"], n_ranked) == (303, address, [number])
    in_parts = client.get(address)
    assert (in_parts.status_code, n_ranked) == (200, [len(module.WEIGHTS)])
    assert client.get(address).text == in_parts.text
    state.store.connection.execute("DELETE FROM trade_off")
    monkeypatch.setattr(module, "EASY_ARTICLES", 10**6)
    assert client.get(address).text == in_parts.text


def test_a_visitor_keeps_a_limited_number_of_lists(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "limit_of", lambda store, name: 2)
    statuses = [client.post("/lists", data=QUESTION).status_code for _ in range(3)]
    assert statuses == [303, 303, 400]


def bot_at(state: AppState, address: str) -> TestClient:
    """A bot without an account."""
    return TestClient(make_app(state), base_url="http://localhost", client=(address, 50000))


@pytest.mark.parametrize("area", ["lists", "searches"])
def test_one_bot_does_not_use_up_what_others_may_keep(
    state: AppState, area: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "limit_of", lambda store, name: 2)
    question = {"title": "Chess", "keywords": ["chess"]}
    digit = {"lists": 1, "searches": 2}[area]

    def statuses(address: str, n: int) -> list[int]:
        return [bot_at(state, address).post(f"/api/{area}", json=question).status_code for _ in range(n)]

    assert statuses(f"203.0.113.{digit}", 3) == [201, 201, 400]
    assert statuses(f"203.0.113.{digit + 10}", 1) == [201]
    assert statuses(f"2001:db8::{digit}:1", 2) == [201, 201]
    assert statuses(f"2001:db8::{digit}:2", 1) == [400]
    assert statuses("2001:db8:1::1", 1) == [201]
    # What a server that listens on :: sees of IPv4 visitors: all of them had one share.
    assert statuses(f"::ffff:203.0.113.{digit + 20}", 2) == [201, 201]
    assert statuses(f"::ffff:203.0.113.{digit + 30}", 1) == [201]
    assert statuses(f"203.0.113.{digit + 20}", 1) == [400]


def test_addresses_of_one_network_share_what_is_allowed_in_a_second(state: AppState) -> None:
    """Whoever has one IPv6 address has 2⁶⁴ of them."""
    app = make_app(replace(state, settings=replace(state.settings, reads_per_second=2.0)))

    def statuses(*addresses: str) -> list[int]:
        clients = (TestClient(app, base_url="http://localhost", client=(address, 50000)) for address in addresses)
        return [client.get("/about").status_code for client in clients]

    assert 429 in statuses(*(f"2001:db8::{number}" for number in range(1, 16)))
    assert statuses("2001:db8:1::1") == [200]


def test_addresses_of_one_network_share_their_turns(state: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    submit = Capacity.submit
    monkeypatch.setattr(Capacity, "submit", lambda self, who, make: (asked.append(who), submit(self, who, make))[1])
    for address in ("2001:db8::1", "2001:db8::2", "::ffff:203.0.113.7", "203.0.113.7"):
        assert bot_at(state, address).get("/lists/preview?title=Chess").status_code == 200
    assert (len(set(asked[:2])), len(set(asked[2:])), len(set(asked))) == (1, 1, 2)


def test_bodies_that_are_held_at_once_have_a_limit() -> None:
    """Three hundred connections with 2 MB each took 570 MB; a thousand may be open."""
    statuses: list[int] = []

    async def ask(limited: LimitBodies, n_bytes: int) -> None:
        chunks = [b"x" * 10_000] * (n_bytes // 10_000)

        async def receive() -> Message:
            return {"type": "http.request", "body": chunks.pop(), "more_body": bool(chunks)}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        await limited({"type": "http", "method": "POST", "headers": []}, receive, send)

    async def everybody() -> None:
        may_end = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            while (await receive())["more_body"]:
                pass
            await may_end.wait()
            await Response()(scope, receive, send)

        limited = LimitBodies(app, 2_000_000, most_held=250_000)
        held = [asyncio.create_task(ask(limited, n_bytes)) for n_bytes in (200_000, 20_000)]
        await asyncio.sleep(0)
        await ask(limited, 100_000)
        assert statuses == [503]
        held.append(asyncio.create_task(ask(limited, 60_000)))  # short ones always have room
        await asyncio.sleep(0)
        may_end.set()
        await asyncio.gather(*held, ask(limited, 200_000))
        assert limited.n_held == 0

    with ThreadPoolExecutor(1) as pool:  # browser tests leave a loop running in the main thread
        pool.submit(asyncio.run, everybody()).result()
    assert statuses == [503, 200, 200, 200, 200]


def test_the_store_has_no_address_of_a_bot(state: AppState) -> None:
    token = bot_at(state, "198.51.100.7").post("/api/lists", json={"title": "Chess"}).json()["token"]
    work_list = load_list(state.store, token)
    assert work_list is not None
    assert re.fullmatch("api:[0-9a-f]{32}", work_list.owner)


def test_what_somebody_signed_in_makes_with_a_program_is_theirs(state: AppState) -> None:
    ada = person_client(state, "Ada")
    token = ada.post("/api/lists", json={"title": "Chess"}).json()["token"]
    assert token in ada.get("/mine").text


def test_runs_whose_names_differ_in_odd_characters_have_files_of_their_own() -> None:
    written: list[Path] = []
    for run in ("a b", "a_b", "A_B", "a/b", "a_b-2"):
        written.append(Path(f"{topic_stats._free_name(run, written)}.csv"))
    assert len({path.name.casefold() for path in written}) == 5
    assert [path.name for path in written][:2] == ["a_b.csv", "a_b-2.csv"]
