"""A store that is full: visitors are asked to come back, what is there can be read, nothing is half stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from evenrank.app.state import AppState, open_state
from evenrank.trec.collection import Collection
from tests.app.conftest import UNLIMITED, client_of, posted
from tests.desk_collections import QUESTION


@pytest.fixture
def state(generated: Collection, tmp_path: Path) -> Iterator[AppState]:
    state = open_state(generated.path, replace(UNLIMITED, store=tmp_path / "desk.sqlite"))
    yield state
    state.close()


def fill(state: AppState) -> None:
    """No page more than the store has; connections that are opened from now on know it."""
    (n_pages,) = state.store.connection.execute("PRAGMA page_count").fetchone()
    state.store.close()
    state.store.max_bytes = 4096 * n_pages


def n_rows(state: AppState) -> list[int]:
    tables = ("work_list", "saved_search", "draw", "list_mark", "mark")
    return [state.store.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]


def test_visitors_are_asked_to_come_back(state: AppState) -> None:
    client: TestClient = client_of(state)
    path = posted(client, "/lists", QUESTION)
    before = client.get(f"{path}.txt").text
    kept = n_rows(state)
    fill(state)
    answers = [client.post("/lists", data=QUESTION) for _ in range(3)]
    assert {answer.status_code for answer in answers} == {503}
    assert "try again" in answers[0].text.lower()
    assert int(answers[0].headers["retry-after"]) > 0
    assert str(state.store.path) not in answers[0].text
    told = client.post("/api/searches", json={"title": "river", "keywords": ["river"]})
    assert told.status_code == 503
    assert told.headers["retry-after"]
    assert told.json()["error"]
    assert client.get("/").status_code == 200
    assert client.get(f"{path}.txt").text == before
    assert n_rows(state) == kept
    assert state.store.check() == []


def test_a_store_with_room_again_takes_more(state: AppState) -> None:
    client: TestClient = client_of(state)
    posted(client, "/lists", QUESTION)
    fill(state)
    assert client.post("/lists", data=QUESTION).status_code == 503
    state.store.close()
    state.store.max_bytes = None
    posted(client, "/lists", QUESTION)
    assert n_rows(state)[0] == 2
