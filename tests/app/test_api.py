"""The JSON interface: it does what its document says, and nothing sent to it makes it fail."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection
from typing import Any

import pytest
import schemathesis
import schemathesis.generation.jsonschema.strategy  # loaded here, where no thread of an app parses anything beside it
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

from evenrank.app.api.document import document, operations
from evenrank.app.api.endpoints import routes
from evenrank.app.app import make_app
from evenrank.app.lists.work_list import load_list
from evenrank.app.request.forms import clean_text
from evenrank.app.searches.saved_search import load_search
from evenrank.app.state import AppState
from tests.app.test_ownership import person_app, person_client

HOST = {"Host": "localhost"}
CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
    positive_data_acceptance,
    negative_data_rejection,
]
REFUSING = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
"""Checks that hold for those, too, who may not ask what they ask."""


def test_the_document_has_every_route_and_no_other() -> None:
    made = {re.sub(r":\w+", "", route.path) for route in routes()} - {"/api", "/api/openapi.json"}
    assert set(document()["paths"]) == made


@given(st.text(max_size=5))
def test_a_title_that_the_document_allows_is_one_after_cleaning(title: str) -> None:
    pattern = document()["components"]["schemas"]["ListQuestion"]["properties"]["title"]["pattern"]
    assert bool(re.search(pattern, title)) == bool(clean_text(title))


def test_the_guide_shows_every_operation_and_its_examples_work(client: TestClient) -> None:
    guide = client.get("/api").text
    token = client.post("/api/searches", json={"title": "Chess", "keywords": ["chess"]}).json()["token"]
    page_id = client.post(f"/api/searches/{token}/draws", json={}).json()["articles"][0]["page_id"]
    for operation in operations():
        assert operation.path in guide
        if operation.example:
            body = json.loads(operation.example)
            body = {**body, "page_id": page_id} if "page_id" in body else body
            answer = client.post(operation.path.replace("{token}", token), json=body)
            assert answer.status_code in (200, 201), answer.text
            assert shlex.quote(operation.example).strip("'")[:10] in guide.replace("&#34;", '"')


def test_a_bot_goes_the_whole_way(client: TestClient) -> None:
    made = client.post("/api/lists", json={"title": "Chess", "keywords": ["chess"], "policy": "relevance"})
    assert made.status_code == 201
    token = made.json()["token"]
    assert made.json()["address"] == f"http://localhost/lists/{token}"
    listed = client.get(f"/api/lists/{token}?class=Stub").json()
    assert {article["class"] for article in listed["articles"]} == {"Stub"}
    assert listed["question"]["policy"] == "relevance"
    search = client.post("/api/searches", json={"title": "Chess", "keywords": ["chess"]}).json()["token"]
    assert client.get(f"/api/searches/{search}").json()["all_draws"] is None
    draw = client.post(f"/api/searches/{search}/draws", json={"editor": "bot"}).json()
    assert client.get(f"/api/searches/{search}/draws/1").json() == draw
    mark = {"page_id": draw["articles"][0]["page_id"], "mark": "not-for-me", "editor": "bot"}
    assert client.post(f"/api/searches/{search}/marks", json=mark).json()["mark"] == "not-for-me"
    again = client.post(f"/api/searches/{search}/draws", json={"editor": "bot"}).json()
    assert mark["page_id"] not in [article["page_id"] for article in again["articles"]]
    state = client.get(f"/api/searches/{search}").json()
    assert state["n_draws"] == 2
    assert state["all_draws"]["EE-L"] > 0


@pytest.mark.parametrize(
    "body, fault",
    [
        ({}, "title is missing"),
        ({"title": 3}, "title must be a text"),
        ({"title": "x", "keywords": "a, b"}, "keywords must be a list of texts"),
        ({"title": "x", "fairness": True}, "fairness must be a number"),
        ({"title": "x", "fairness": -1}, "from 0 to 1,000"),
        ({"title": "x", "color": "red"}, "no field 'color'"),
        ({"title": "x", "policy": "best"}, "Choose a way of ranking"),
        ({"title": "x" * 201}, "201 characters"),
        ({"title": "\u202e\x1f "}, "Give the project a title"),
        ({"title": "x", "keywords": ["k"] * 3 + [f"k{n}" for n in range(200)]}, "At most 100 keywords"),
    ],
)
def test_faults_are_told(client: TestClient, body: dict[str, object], fault: str) -> None:
    answer = client.post("/api/lists", json=body)
    assert answer.status_code == 400
    assert fault in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/api/lists", "/api/searches"])
def test_words_that_no_article_has_are_no_fault_of_the_request(client: TestClient, path: str) -> None:
    answer = client.post(path, json={"title": "Xqzvw"})
    assert answer.status_code == 404
    assert "No article has any of these words" in answer.json()["detail"]


def test_an_article_that_the_search_does_not_have_is_not_found(client: TestClient) -> None:
    token = client.post("/api/searches", json={"title": "Chess", "keywords": ["chess"]}).json()["token"]
    answer = client.post(f"/api/searches/{token}/marks", json={"page_id": 2**31 - 1, "mark": "done"})
    assert answer.status_code == 404
    assert answer.json()["detail"] == "That article is not in this search."


def test_a_search_of_which_all_is_done_has_no_more_draws(client: TestClient, state: AppState) -> None:
    token = client.post("/api/searches", json={"title": "Chess", "keywords": ["chess"]}).json()["token"]
    search = load_search(state.store, token)
    assert search is not None
    with state.store.transaction() as connection:
        rows = [(search.number, page, "api:", "done", "") for page in search.page_ids.tolist()]
        connection.executemany("INSERT INTO mark VALUES (?, ?, ?, ?, ?, '')", rows)
    answer = client.post(f"/api/searches/{token}/draws", json={})
    assert answer.status_code == 409
    assert "Every article of this search is done" in answer.json()["detail"]


def test_mistyped_filters_are_told_to_bots_all_at_once(client: TestClient) -> None:
    token = client.post("/api/lists", json={"title": "Chess", "keywords": ["chess"]}).json()["token"]
    answer = client.get(f"/api/lists/{token}?class=stub&size=&q={'x' * 101}")
    assert answer.status_code == 400
    for fault in ("class must be one of: Stub, Start", "size must be one of: tiny", "q has more than 100 characters"):
        assert fault in answer.json()["detail"]


@pytest.mark.parametrize("editor, status", [("x" * 64, 201), ("\x85" * 2 + "x" * 63, 400)])
def test_lengths_are_counted_as_sent(client: TestClient, editor: str, status: int) -> None:
    token = client.post("/api/searches", json={"title": "Chess", "keywords": ["chess"]}).json()["token"]
    assert client.post(f"/api/searches/{token}/draws", json={"editor": editor}).status_code == status


def test_only_json_objects_are_taken(client: TestClient) -> None:
    assert client.post("/api/lists", data={"title": "x"}).status_code == 415
    for body in (b"", b"[]", b"{", b"null", b"\xff"):
        headers = {"Content-Type": "application/json"}
        assert client.post("/api/lists", content=body, headers=headers).status_code == 400


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
@pytest.mark.parametrize("path", sorted(document()["paths"]))
def test_a_fuzz_finds_no_failure(state: AppState, path: str, mode: GenerationMode) -> None:
    """schemathesis sends what the document allows, and what it does not, to lists that are there."""
    app = make_app(state)
    known = known_places(TestClient(app, base_url="http://localhost"))
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app, headers=HOST)
    for found in schema.include(path=path).get_all_operations():
        operation = found.ok()
        places = {name: known[path.split("/")[2], name] for name in re.findall(r"{(\w+)}", path)}
        if mode is GenerationMode.NEGATIVE and not (operation.body or operation.query or places):
            continue
        fixed = places if mode is GenerationMode.POSITIVE or operation.body else None
        fuzz(operation.as_strategy(mode, path_parameters=fixed))


@pytest.mark.parametrize("n_cases", [4, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("who", ["reader", "owner signed in", "somebody else signed in", "stranger at a private link"])
@pytest.mark.parametrize("path", sorted(path for path in document()["paths"] if "{token}" in path))
def test_a_fuzz_by_everybody_finds_no_failure_and_no_secret(state: AppState, path: str, who: str, n_cases: int) -> None:
    """schemathesis with the links that others have: refused as documented, and never told a link to work with."""
    owner, area = person_client(state, "Owen"), path.split("/")[2]
    known = known_places(owner)
    secrets = {str(known["lists", "token"]), str(known["searches", "token"])}
    if who == "reader":
        for name in ("lists", "searches"):
            load = load_list if name == "lists" else load_search
            thing = load(state.store, str(known[name, "token"]))
            assert thing is not None
            known[name, "token"] = thing.reader
    if who == "stranger at a private link":
        owner.post(f"/{area}/{known[area, 'token']}/manage", data={"action": "private"})
    names = {"owner signed in": "Owen", "somebody else signed in": "Mallory"}
    app = person_app(state, names[who]) if who in names else make_app(state)
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app, headers=HOST)
    places = {name: known[area, name] for name in re.findall(r"{(\w+)}", path)}
    hidden = secrets - {str(places["token"])}
    for found in schema.include(path=path).get_all_operations():
        fuzz(found.ok().as_strategy(GenerationMode.POSITIVE, path_parameters=places), n_cases, REFUSING, hidden)


def fuzz(
    cases: st.SearchStrategy[schemathesis.Case],
    n_cases: int = 12,
    checks: list[Any] = CHECKS,
    hidden: Collection[str] = (),
) -> None:
    """Send cases, and check each answer; none may have what is hidden."""

    @settings(
        max_examples=n_cases, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(cases)
    def send(case: schemathesis.Case) -> None:
        answer = case.call_and_validate(checks=checks, headers=HOST)
        assert not [secret for secret in hidden if secret in answer.text]

    send()


def known_places(client: TestClient) -> dict[tuple[str, str], str | int]:
    """A list, a search and a draw that are there."""
    question = {"title": "Chess", "keywords": ["chess"]}
    search = client.post("/api/searches", json=question).json()["token"]
    client.post(f"/api/searches/{search}/draws", json={})
    return {
        ("lists", "token"): client.post("/api/lists", json=question).json()["token"],
        ("searches", "token"): search,
        ("searches", "number"): 1,
    }


@pytest.mark.parametrize("attention, status", [("table:1,0.5,0.5,0.25", 201), ("table:1,0.2,0.86", 400)])
def test_attention_must_not_rise(client: TestClient, attention: str, status: int) -> None:
    """The document promises no table that is refused; what rises is refused with a reason."""
    answer = client.post("/api/searches", json={"title": "Chess", "keywords": ["chess"], "attention": attention})
    assert answer.status_code == status
    pattern = document()["components"]["schemas"]["SearchQuestion"]["properties"]["attention"]["pattern"]
    assert status == 201 or not re.fullmatch(pattern, attention)
    assert re.fullmatch(pattern, "table:1,0.9,0.9,0.3")
    assert not re.fullmatch(pattern, "table:1,0.3,0.9")
