"""Every route is in a table that says who may ask it; those of lists and searches ask for the least role that it
gives, and a reading link only reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from evenrank.app import app as app_module
from evenrank.app.app import make_app
from evenrank.app.lists.work_list import load_list
from evenrank.app.request.access import LEAST_ROLES, PUBLIC_ROUTES, RANKS, SECRET_ROUTES, Role, undeclared
from evenrank.app.searches.saved_search import load_search
from evenrank.app.settings import SignInSettings
from evenrank.app.state import AppState, open_state
from evenrank.app.storage.administration import admin_key
from evenrank.app.storage.saved_request import SavedRequest
from evenrank.app.storage.shares import share_with
from evenrank.trec.collection import Collection
from tests.app.conftest import UNLIMITED, client_of, posted
from tests.app.test_ownership import person_client, reader_of
from tests.app.test_private_routes import BODY, filled, routes_of_things
from tests.desk_collections import QUESTION
from tests.judging_files import JudgingFiles

UNKNOWN = "x" * 22
"""A token that names nothing."""
API_BODIES: Mapping[str, dict[str, object]] = {
    "draws": {},
    "marks": {"page_id": 1, "mark": "done"},
    "lists": {"title": "Chess"},
    "searches": {"title": "Chess"},
}
"""What each address of the JSON interface takes, by its end."""


@pytest.fixture
def things(client: TestClient) -> dict[str, str]:
    return make_things(client)


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


@dataclass(frozen=True)
class Holder:
    """Somebody who asks every route, with the strongest link that they have for it."""

    client: TestClient
    role: Role = ""
    """What they are to the list and the search."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Tokens of list and search that they have, by area."""
    secret: str = UNKNOWN
    """Their link to the pages of assessors, organisers or the administrator."""
    office: str = ""
    """Whose pages these are."""
    knows: frozenset[str] = frozenset()
    """Secrets that answers to them may have, beside those in the address that they asked for."""

    def address(self, path: str, area: str) -> str:
        """The path of a route, with what they have for it."""
        where = filled(path, area, self.links.get(area, UNKNOWN)).replace("{secret:secret}", self.secret)
        where = where.replace("{topic:number}", "1").replace("{page:number}", "1").replace("{name}", "qrels")
        return f"{where}/style.css" if path == "/static" else where

    def ask(self, method: str, path: str, area: str) -> httpx2.Response:
        """The answer to a request that is in order, as far as one body can be in order for every form."""
        where = self.address(path, area)
        if method == "GET":
            return self.client.get(where)
        if where.startswith("/api/"):
            return self.client.post(where, json=API_BODIES[where.rpartition("/")[2]])
        return self.client.post(where, data=BODY)


class World(NamedTuple):
    """A server on which everybody has something, and everything on it that is secret."""

    holders: Mapping[str, Holder]
    secrets: frozenset[str]


@pytest.fixture
def world(generated: Collection, judging: JudgingFiles, tmp_path: Path) -> Iterator[World]:
    """A server with accounts, an administrator and judgments; open and private lists and searches of two owners."""
    sign_in = SignInSettings(*(f"https://wiki.example/{n}" for n in range(3)), "id", "provider's secret", "a@b.example")
    settings = replace(
        UNLIMITED, store=tmp_path / "desk.sqlite", admins=("Keeper",), has_admin_link=True, sign_in=sign_in
    )
    state = open_state(generated.path, judging.settings(settings))
    browser, by_link = client_of(state), client_of(state)
    people = {name: person_client(state, name) for name in ("Owen", "Edith", "Rita", "Mallory", "Keeper")}
    by_link.get(f"/admin/{admin_key(state.store)}")
    tokens: dict[str, dict[str, str]] = {}
    for name, owner, is_private in (
        ("browser", browser, False),
        ("Owen", people["Owen"], False),
        ("hidden", people["Owen"], True),
    ):
        made = make_things(owner)
        for area, address in made.items():
            thing = thing_at(state, area, address)
            share_with(state.store, thing, "wiki:Edith", "editor")
            share_with(state.store, thing, "wiki:Rita", "reader")
            if is_private:
                assert owner.post(f"{address}/manage", data={"action": "private"}).status_code == 303
        tokens[name] = {area: address.rpartition("/")[2] for area, address in made.items()}
    series = [all_links(state, area, token) for made in tokens.values() for area, token in made.items()]
    work_links, read_links = (frozenset().union(*(links[at] for links in series)) for at in (0, 1))
    readers = {area: thing_at(state, area, token).reader for area, token in tokens["Owen"].items()}
    hidden, open_ones = tokens["hidden"], tokens["Owen"]
    of_browser = frozenset().union(*(links for link in series[:2] for links in link))
    of_open = frozenset().union(*(links for link in series[2:4] for links in link))
    of_owen = frozenset().union(*(links for link in series[2:] for links in link))
    everything = work_links | read_links
    open_readers = frozenset().union(*(links[1] for links in series[:4]))
    secret, key = judging.secrets, admin_key(state.store)
    holders = {
        "anonymous": Holder(client_of(state)),
        "reader by link": Holder(client_of(state), "reader", readers, knows=of_open & read_links),
        "worker by link": Holder(client_of(state), "worker", open_ones, knows=of_open),
        "stranger at a private link": Holder(client_of(state), "", hidden),
        "signed in at a private link": Holder(people["Mallory"], "", hidden),
        "signed in": Holder(people["Mallory"]),
        "reader by name": Holder(people["Rita"], "reader", hidden, knows=read_links),
        "editor": Holder(people["Edith"], "editor", hidden, knows=everything),
        "owner by cookie": Holder(browser, "owner", tokens["browser"], knows=of_browser),
        "owner signed in": Holder(people["Owen"], "owner", hidden, knows=of_owen),
        "assessor": Holder(client_of(state), secret=secret["Ada"], office="assessor", knows=frozenset({secret["Ada"]})),
        "organiser": Holder(
            client_of(state), secret=secret["Olga"], office="organiser", knows=frozenset({secret["Olga"]})
        ),
        "administrator by name": Holder(people["Keeper"], office="administrator", knows=open_readers),
        "administrator by link": Holder(by_link, secret=key, office="administrator", knows=open_readers | {key}),
    }
    secrets = everything | set(secret.values()) | {key, state.secret, sign_in.client_secret}
    yield World(holders, frozenset(secrets))
    state.close()


def make_things(owner: TestClient) -> dict[str, str]:
    """Addresses of a list with two versions and of a search with a draw, by area."""
    lists, searches = posted(owner, "/lists", QUESTION), posted(owner, "/searches", QUESTION)
    posted(owner, f"{searches}/draws")
    posted(owner, f"{lists}/refresh")
    return {"lists": lists, "searches": searches}


def thing_at(state: AppState, area: str, address: str) -> SavedRequest:
    """The list or search at an address."""
    thing = (load_list if area == "lists" else load_search)(state.store, address.rpartition("/")[2])
    assert thing is not None
    return thing


def all_links(state: AppState, area: str, token: str) -> tuple[frozenset[str], frozenset[str]]:
    """Tokens to work with and tokens to read with, of all versions of a list or search."""
    thing = thing_at(state, area, token)
    of = "work_list WHERE series" if area == "lists" else "saved_search WHERE number"
    query = f"SELECT token, reader FROM {of} = ?"
    rows = state.store.connection.execute(query, (getattr(thing, "series", thing.number),)).fetchall()
    return frozenset(row["token"] for row in rows), frozenset(row["reader"] for row in rows)


def expected(holder: Holder, method: str, path: str) -> tuple[int, ...]:
    """Refusals among which that of a route must be; none where the holder may ask it."""
    if path in LEAST_ROLES:
        if not holder.role:
            return (404,)
        return (403,) if RANKS.index(holder.role) < RANKS.index(LEAST_ROLES[path][method]) else ()
    if path in SECRET_ROUTES:
        needs_key = path == "/admin/{secret:secret}" and holder.secret == UNKNOWN
        if holder.office == "organiser" and path.startswith("/judge/"):
            return (303, 400, 404)  # led to their own pages; they have nothing to judge
        return (404,) if holder.office != SECRET_ROUTES[path][method] or needs_key else ()
    return ()


MAY_BE_MISSING = (
    "/{topic:number}",
    "/export/{name}",
    "/publish",
    "/missing",
    "/changes",
    "/marks",
    "/sign-in/return",
)
"""Routes that refuse in the same way what they are asked about: a topic or version that is not there, an article of
another list, a wiki that is not connected."""


def is_as_declared(holder: Holder, method: str, path: str, status: int) -> bool:
    """Whether the status of an answer is one that the tables allow."""
    if refusals := expected(holder, method, path):
        return status in refusals
    return status not in (401, 403, 404) or any(part in path for part in MAY_BE_MISSING)


def test_everybody_asks_every_route(world: World) -> None:
    """Refused or answered as the tables say, and no answer has a secret that whoever asked does not have."""
    tables = (LEAST_ROLES, PUBLIC_ROUTES, SECRET_ROUTES)
    asked = [(path, method) for table in tables for path in table for method in sorted(table[path])]
    wrong = []
    for name, holder in world.holders.items():
        unknown = world.secrets - holder.knows - {*holder.links.values(), holder.secret}
        for path, method in asked:
            for area in (
                ("lists", "searches") if "{area:area}" in path else ("lists" if "list" in path else "searches",)
            ):
                answer = holder.ask(method, path, area)
                n_leaked = sum(secret in f"{answer.headers} {answer.text}" for secret in unknown)
                if (
                    n_leaked
                    or answer.status_code >= 500
                    or not is_as_declared(holder, method, path, answer.status_code)
                ):
                    wrong.append((name, method, path, area, answer.status_code, n_leaked))
    assert not wrong, "\n".join(map(str, wrong))
    assert len(asked) >= 80


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE"])
def test_methods_that_no_table_has_are_refused(world: World, method: str) -> None:
    owner = world.holders["owner signed in"]
    for path in (*LEAST_ROLES, *PUBLIC_ROUTES, *SECRET_ROUTES):
        answer = owner.client.request(method, owner.address(path, "lists"))
        assert answer.status_code in (404, 405), (path, answer.status_code)


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
