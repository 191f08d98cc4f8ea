"""The app on a generated collection, on a hostile one, and a client that behaves like a browser on them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra web")

from starlette.testclient import TestClient

from evenrank.app.app import make_app
from evenrank.app.server import LOGGERS
from evenrank.app.settings import WebSettings
from evenrank.app.state import AppState, open_state
from evenrank.trec.assessment.votes import Store, open_store
from evenrank.trec.collection import Collection
from tests.desk_collections import QUESTION, make_hostile, shared_generated
from tests.judging_files import JudgingFiles, make_judging

UNLIMITED = WebSettings(reads_per_second=1e6, writes_per_second=1e6, bytes_per_hour=1e12, relevance_floor=0.0)
"""Lists are filled, so that tests have long ones."""


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """A server that a test starts in this process sends the logs elsewhere: later tests read them, too."""
    logs = [logging.getLogger(name) for name in LOGGERS]
    before = [(log.propagate, log.level, list(log.handlers)) for log in logs]
    yield
    for log, (log.propagate, level, log.handlers) in zip(logs, before, strict=True):
        log.setLevel(level)


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return shared_generated(tmp_path_factory)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return make_hostile(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="session")
def opened(
    generated: Collection, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[AppState]:
    """A desk that tests share, on SQLite or (EVENRANK_TEST_STORE=postgresql) on PostgreSQL."""
    store: Path | str = tmp_path_factory.mktemp("desk") / "desk.sqlite"
    if os.environ.get("EVENRANK_TEST_STORE") == "postgresql":
        store = request.getfixturevalue("postgres").url
    state = open_state(generated.path, replace(UNLIMITED, store=store))
    yield state
    state.close()


@pytest.fixture
def state(opened: AppState) -> AppState:
    return opened


@pytest.fixture
def client(state: AppState) -> TestClient:
    return client_of(state)


@pytest.fixture
def judging(generated: Collection, tmp_path: Path) -> JudgingFiles:
    """A pool, people and their links, for the assessment pages."""
    return make_judging(tmp_path, generated)


@pytest.fixture
def judge(generated: Collection, judging: JudgingFiles, tmp_path: Path) -> Iterator[TestClient]:
    state = open_state(generated.path, judging.settings(replace(UNLIMITED, store=tmp_path / "desk.sqlite")))
    with client_of(state) as client:
        yield client


@pytest.fixture
def store(judging: JudgingFiles) -> Iterator[Store]:
    with open_store(judging.judgments) as opened:
        yield opened


@pytest.fixture
def hostile_client(hostile: Collection, tmp_path: Path) -> Iterator[TestClient]:
    state = open_state(hostile.path, replace(UNLIMITED, store=tmp_path / "desk.sqlite"))
    yield client_of(state)
    state.close()


@pytest.fixture
def list_path(client: TestClient) -> str:
    """The address of a new work list."""
    return posted(client, "/lists", QUESTION)


@pytest.fixture
def search_path(client: TestClient) -> str:
    """The address of a new saved search."""
    return posted(client, "/searches", QUESTION)


def client_of(state: AppState) -> TestClient:
    return TestClient(make_app(state), base_url="http://localhost", follow_redirects=False)


def posted(client: TestClient, path: str, fields: dict[str, str] | None = None) -> str:
    """The address that a posted form leads to."""
    answer = client.post(path, data=fields or {})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])
