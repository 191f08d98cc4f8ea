"""Nobody reads or changes another's private list or search, by any route that the app has, now or later."""

from __future__ import annotations

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from evenrank.app.app import AREAS
from evenrank.app.lists.work_list import load_list
from evenrank.app.searches.saved_search import load_search
from evenrank.app.state import AppState
from evenrank.app.storage.shares import share_with
from tests.app.conftest import client_of, posted
from tests.app.test_ownership import person_client, reader_of
from tests.desk_collections import QUESTION

BODY = {"page_id": "1", "draw": "1", "mark": "done", "action": "rename", "name": "Taken", "sure": "yes", "page": "X"}
"""Fields that any of the forms takes."""


def routes_of_things() -> list[tuple[str, str]]:
    """Method and path of every route with the token of a list or search in it."""
    found = []
    for area in AREAS:
        for route in area():
            assert isinstance(route, Route)
            if "{token:token}" in route.path:
                found += [(method, route.path) for method in sorted(route.methods or ()) if method in ("GET", "POST")]
    return found


def filled(path: str, area: str, token: str) -> str:
    """The path of a route for one thing."""
    made = path.replace("{token:token}", token).replace("{area:area}", area)
    return made.replace("{number:number}", "1").replace("{suffix}", "csv")


@pytest.fixture
def private(client: TestClient) -> dict[str, str]:
    """Addresses of a private list and a private search, by area; each has been worked with."""
    lists, searches = posted(client, "/lists", QUESTION), posted(client, "/searches", QUESTION)
    posted(client, f"{searches}/draws")
    for path in (lists, searches):
        assert client.post(f"{path}/manage", data={"action": "private"}).status_code == 303
    return {"lists": lists, "searches": searches}


def test_there_are_routes_of_every_kind() -> None:
    routes = routes_of_things()
    assert len(routes) > 20
    assert {"GET", "POST"} == {method for method, _ in routes}


@pytest.mark.parametrize("who", ["stranger", "somebody signed in", "reading link"])
def test_no_route_opens_anothers_private_thing(
    state: AppState, client: TestClient, private: dict[str, str], who: str
) -> None:
    other = person_client(state, "Mallory") if who == "somebody signed in" else client_of(state)
    before = list(state.store.connection.execute("SELECT count(*), max(number) FROM work_list").fetchone())
    for area, address in private.items():
        token = (reader_of(client, address) if who == "reading link" else address).rpartition("/")[2]
        for method, path in routes_of_things():
            if path.strip("/").removeprefix("api/").split("/")[0] not in (area, "{area:area}"):
                continue
            where = filled(path, area, token)
            as_json = where.startswith("/api/") and method == "POST"
            sent = {"json": {"page_id": 1, "mark": "done"} if "marks" in where else {}} if as_json else {"data": BODY}
            answer = other.request(method, where, **(sent if method == "POST" else {}))  # type: ignore[arg-type]
            assert answer.status_code == 404, (method, where, answer.status_code)
            assert "Chess" not in answer.text
        form = other.get(f"/{area}/new?from={token}")
        assert form.status_code == 404
        assert address not in other.get("/mine").text
    after = list(state.store.connection.execute("SELECT count(*), max(number) FROM work_list").fetchone())
    assert before == after


def test_a_reader_of_a_private_thing_changes_nothing(
    state: AppState, client: TestClient, private: dict[str, str]
) -> None:
    things = {
        "lists": load_list(state.store, private["lists"].rpartition("/")[2]),
        "searches": load_search(state.store, private["searches"].rpartition("/")[2]),
    }
    reader = person_client(state, "Rita")
    for area, thing in things.items():
        assert thing is not None
        share_with(state.store, thing, "wiki:Rita", "reader")
        assert reader.get(private[area]).status_code == 200
        for method, path in routes_of_things():
            if method == "POST" and path.strip("/").split("/")[0] in (area, "{area:area}") and "/again" not in path:
                answer = reader.post(filled(path, area, thing.token), data=BODY)
                assert answer.status_code == 403, (path, answer.status_code)
    again = load_list(state.store, private["lists"].rpartition("/")[2])
    assert again is not None
    assert again.title == QUESTION["title"]
