"""Every route is in a table that says who may ask it; those of lists and searches ask for the least role that it
gives, and a reading link only reads."""

from __future__ import annotations

import pytest
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from evenrank.app import app as app_module
from evenrank.app.app import make_app
from evenrank.app.lists.work_list import load_list
from evenrank.app.request.access import LEAST_ROLES, PUBLIC_ROUTES, SECRET_ROUTES, undeclared
from evenrank.app.searches.saved_search import load_search
from evenrank.app.state import AppState
from evenrank.app.storage.shares import share_with
from tests.app.conftest import client_of, posted
from tests.app.test_ownership import person_client, reader_of
from tests.app.test_private_routes import BODY, filled, routes_of_things
from tests.desk_collections import QUESTION
from tests.judging_files import JudgingFiles

ROLES = ("reader", "worker", "editor", "owner")


@pytest.fixture
def things(client: TestClient) -> dict[str, str]:
    """Addresses of a list with two versions and of a search with a draw, by area."""
    lists, searches = posted(client, "/lists", QUESTION), posted(client, "/searches", QUESTION)
    posted(client, f"{searches}/draws")
    posted(client, f"{lists}/refresh")
    return {"lists": lists, "searches": searches}


def secrets_of(state: AppState, things: dict[str, str]) -> set[str]:
    """Tokens of the links with which the two can be worked on, of all versions."""
    numbers = {"lists": "work_list WHERE series", "searches": "saved_search WHERE number"}
    found = set()
    for area, address in things.items():
        load = load_list if area == "lists" else load_search
        thing = load(state.store, address.rpartition("/")[2])
        assert thing is not None
        number = getattr(thing, "series", thing.number)
        rows = state.store.connection.execute(f"SELECT token FROM {numbers[area]} = ?", (number,)).fetchall()
        found |= {row["token"] for row in rows}
    return found


def sent(client: TestClient, method: str, path: str, area: str, token: str) -> tuple[str, int, str]:
    """Address, status and everything that is told in an answer to a request that is in order."""
    where = filled(path, area, token)
    body = {"data": BODY}
    if where.startswith("/api/"):
        body = {"json": {"page_id": 1, "mark": "done"} if "marks" in where else {}}
    answer = client.request(method, where, **(body if method == "POST" else {}))  # type: ignore[arg-type]
    return where, answer.status_code, f"{answer.headers} {answer.text}"


def test_the_table_has_every_route_of_a_list_or_search_and_no_other() -> None:
    declared = {(method, path) for path, by_method in LEAST_ROLES.items() for method in by_method}
    assert declared == set(routes_of_things())


def test_every_route_of_the_app_is_in_one_table(state: AppState) -> None:
    routes = make_app(state).routes
    assert undeclared(routes) == []
    known = {
        (method, path)
        for table in (LEAST_ROLES, PUBLIC_ROUTES, SECRET_ROUTES)
        for path in table
        for method in table[path]
    }
    served = {(method, route.path) for route in routes if isinstance(route, Route) for method in route.methods or ()}
    assert known == {(method, path) for method, path in served if method != "HEAD"} | {("GET", "/static")}
    assert all(len(reason) > 10 for by_method in PUBLIC_ROUTES.values() for reason in by_method.values())


def test_an_app_with_a_route_that_no_table_has_is_not_made(state: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    def more() -> list[Route]:
        return [
            Route("/lists/all", lambda request: Response()),
            Route("/about", lambda request: Response(), methods=["POST"]),
        ]

    monkeypatch.setattr(app_module, "AREAS", (*app_module.AREAS, more))
    with pytest.raises(RuntimeError, match=r"who may ask: GET /lists/all, POST /about$"):
        make_app(state)


def test_routes_of_a_secret_link_do_not_exist_for_anybody_else(judge: TestClient, judging: JudgingFiles) -> None:
    others = {"assessor": "x" * 22, "organiser": judging.secrets["Ada"], "administrator": "x" * 32}
    for path, by_method in SECRET_ROUTES.items():
        for method, holder in by_method.items():
            where = path.replace("{secret:secret}", others[holder]).replace("{name}", "qrels")
            where = where.replace("{topic:number}", "1").replace("{page:number}", "1")
            answer = judge.request(method, where, **({"data": BODY} if method == "POST" else {}))  # type: ignore[arg-type]
            assert answer.status_code == 404, (method, path)


@pytest.mark.parametrize("role", ROLES)
def test_every_route_asks_for_the_role_of_the_table(
    state: AppState, client: TestClient, things: dict[str, str], role: str
) -> None:
    visitor = {"owner": client, "editor": person_client(state, "Edith")}.get(role, client_of(state))
    for area, address in things.items():
        thing = (load_list if area == "lists" else load_search)(state.store, address.rpartition("/")[2])
        assert thing is not None
        share_with(state.store, thing, "wiki:Edith", "editor")
        token = thing.reader if role == "reader" else thing.token
        for method, path in routes_of_things():
            if area not in path and "{area:area}" not in path:
                continue
            is_allowed = ROLES.index(role) >= ROLES.index(LEAST_ROLES[path][method])
            where, status, _ = sent(visitor, method, path, area, token)
            assert (status != 403) == is_allowed or "publish" in path, (role, method, where, status)
            assert status < 500


def test_a_reading_link_never_yields_a_link_to_work_with(
    state: AppState, client: TestClient, things: dict[str, str]
) -> None:
    secrets, stranger = secrets_of(state, things), client_of(state)
    for area, address in things.items():
        token = reader_of(client, address).rpartition("/")[2]
        for method, path in routes_of_things():
            if area in path or "{area:area}" in path:
                where, _, told = sent(stranger, method, path, area, token)
                assert not [secret for secret in secrets if secret in told], (method, where)
        assert stranger.get(f"/api/{area}/{token}").json()["token"] == token


def test_a_person_who_may_only_read_is_told_the_reading_links(
    state: AppState, client: TestClient, things: dict[str, str]
) -> None:
    for area, address in things.items():
        token = address.rpartition("/")[2]
        thing = (load_list if area == "lists" else load_search)(state.store, token)
        assert thing is not None
        share_with(state.store, thing, "wiki:Rita", "reader")
        client.post(f"{address}/manage", data={"action": "private"})
        answer = person_client(state, "Rita").get(f"/api/{area}/{token}").json()
        assert answer["token"] == thing.reader


def test_bots_with_a_reading_link_neither_draw_nor_mark(client: TestClient, things: dict[str, str]) -> None:
    token = reader_of(client, things["searches"]).rpartition("/")[2]
    draw = client.get(f"/api/searches/{token}/draws/1").json()
    assert draw["address"] == f"http://localhost/searches/{token}/draws/1"
    mark = {"page_id": draw["articles"][0]["page_id"], "mark": "done"}
    for where, body in (("draws", {}), ("marks", mark)):
        answer = client.post(f"/api/searches/{token}/{where}", json=body)
        assert answer.status_code == 403
        assert "can only read" in answer.json()["detail"]
    assert client.get(f"/api/searches/{token}").json()["n_draws"] == 1
