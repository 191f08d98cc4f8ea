"""A store that is full: visitors are asked to come back, what is there can be read, nothing is half stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from evenrank.app.desk import Desk, open_desk
from evenrank.trec.collection import Collection
from tests.app.conftest import UNLIMITED, client_of, posted
from tests.desk_collections import QUESTION


@pytest.fixture
def desk(generated: Collection, tmp_path: Path) -> Iterator[Desk]:
    desk = open_desk(generated.path, replace(UNLIMITED, store=tmp_path / "desk.sqlite"))
    yield desk
    desk.close()


def fill(desk: Desk) -> None:
    """No page more than the store has; connections that are opened from now on know it."""
    (n_pages,) = desk.store.connection.execute("PRAGMA page_count").fetchone()
    desk.store.close()
    desk.store.max_bytes = 4096 * n_pages


def n_rows(desk: Desk) -> list[int]:
    tables = ("work_list", "saved_search", "draw", "list_mark", "mark")
    return [desk.store.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]


def test_visitors_are_asked_to_come_back(desk: Desk) -> None:
    client: TestClient = client_of(desk)
    path = posted(client, "/lists", QUESTION)
    before = client.get(f"{path}.txt").text
    kept = n_rows(desk)
    fill(desk)
    answers = [client.post("/lists", data=QUESTION) for _ in range(3)]
    assert {answer.status_code for answer in answers} == {503}
    assert "try again" in answers[0].text.lower()
    assert int(answers[0].headers["retry-after"]) > 0
    assert str(desk.store.path) not in answers[0].text
    told = client.post("/api/searches", json={"title": "river", "keywords": ["river"]})
    assert told.status_code == 503
    assert told.headers["retry-after"]
    assert told.json()["error"]
    assert client.get("/").status_code == 200
    assert client.get(f"{path}.txt").text == before
    assert n_rows(desk) == kept
    assert desk.store.check() == []


def test_a_store_with_room_again_takes_more(desk: Desk) -> None:
    client: TestClient = client_of(desk)
    posted(client, "/lists", QUESTION)
    fill(desk)
    assert client.post("/lists", data=QUESTION).status_code == 503
    desk.store.close()
    desk.store.max_bytes = None
    posted(client, "/lists", QUESTION)
    assert n_rows(desk)[0] == 2
