"""Who may do what: owners, whoever has a link, the link that only reads, and private lists."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from evenrank.app.app import make_app
from evenrank.app.lists.work_list import load_list
from evenrank.app.request.visitor import Person
from evenrank.app.searches.saved_search import load_search
from evenrank.app.state import AppState
from evenrank.app.storage.shares import share_with
from tests.app.conftest import client_of, posted
from tests.desk_collections import QUESTION


@pytest.fixture
def other(state: AppState) -> TestClient:
    """Another browser."""
    return client_of(state)


def person_app(state: AppState, name: str) -> ASGIApp:
    """The app as somebody who signed in meets it: what sign-in sets on a request is set by hand."""
    app = make_app(state)

    async def signed_in(scope, receive, send):  # type: ignore[no-untyped-def]
        scope.setdefault("state", {})["person"] = Person(f"wiki:{name}", name)
        await app(scope, receive, send)

    return signed_in


def person_client(state: AppState, name: str) -> TestClient:
    """A browser in which somebody signed in."""
    return TestClient(person_app(state, name), base_url="http://localhost", follow_redirects=False)


def reader_of(client: TestClient, path: str) -> str:
    """The link that can only read."""
    html = client.get(path).text
    area = path.split("/")[1]
    found = re.findall(rf'value="http://localhost(/{area}/[\w-]{{22}})"', html)
    return next(link for link in found if link != path)


def test_the_reading_link_reads_and_changes_nothing(client: TestClient, other: TestClient) -> None:
    path = posted(client, "/lists", QUESTION)
    reading = reader_of(client, path)
    assert other.get(reading).status_code == 200
    assert path not in other.get(reading).text
    page_id = client.get(f"{path}.json").json()["articles"][0]["page_id"]
    assert other.post(f"{reading}/marks", data={"page_id": str(page_id), "mark": "done"}).status_code == 403
    for action in ("refresh", "manage"):
        assert other.post(f"{reading}/{action}", data={"action": "rename", "name": "Mine now"}).status_code == 403


def test_a_published_draw_hands_nobody_the_right_to_mark(client: TestClient, other: TestClient) -> None:
    search = posted(client, "/searches", QUESTION)
    draw = posted(client, f"{search}/draws")
    text = client.get(f"{draw}.table.wiki").text.replace("%5F", "_")
    assert search.rpartition("/")[2] not in text
    [published] = re.findall(r"\[http://localhost(/searches/\S+) regenerate\]", text)
    assert other.get(published).status_code == 200
    assert other.post(f"{published.partition('/draws')[0]}/draws").status_code == 403


def test_a_private_list_is_found_by_nobody_else(client: TestClient, other: TestClient) -> None:
    path = posted(client, "/lists", QUESTION)
    reading = reader_of(client, path)
    assert client.post(f"{path}/manage", data={"action": "private"}).status_code == 303
    token = path.rpartition("/")[2]
    for address in (
        path,
        reading,
        f"{path}.csv",
        f"{path}/fairness",
        f"{path}/campaign",
        f"/api{path}",
        f"{path}/manage",
    ):
        assert client.get(address).status_code == 200, address
        assert other.get(address).status_code == 404, address
    assert other.get(f"/lists/new?from={token}").status_code == 404
    for address in (f"{path}/marks", f"{path}/again", f"{path}/refresh", f"{path}/manage"):
        assert other.post(address, data={"action": "delete", "sure": "yes"}).status_code == 404, address
    assert client.get(path).status_code == 200


def test_others_with_the_link_work_but_do_not_manage(client: TestClient, other: TestClient) -> None:
    path = posted(client, "/searches", QUESTION)
    assert other.post(f"{path}/draws").status_code == 303
    assert other.get(f"{path}/manage").status_code == 403
    for action in ("rename", "archive", "delete", "private", "share"):
        assert other.post(f"{path}/manage", data={"action": action, "sure": "yes"}).status_code == 403


def test_a_list_is_renamed_archived_and_deleted(client: TestClient) -> None:
    path = posted(client, "/lists", {**QUESTION, "title": "Chess openings"})
    client.post(f"{path}/manage", data={"action": "rename", "name": "Openings <b>"})
    assert "Openings &lt;b&gt;" in client.get(path).text
    assert "Openings" in client.get("/mine?q=openings").text
    assert "No title contains these words" in client.get("/mine?q=zzz").text
    client.post(f"{path}/manage", data={"action": "archive"})
    assert "Archived" in client.get("/mine?q=openings").text
    assert client.post(f"{path}/manage", data={"action": "delete"}).status_code == 400
    assert client.post(f"{path}/manage", data={"action": "delete", "sure": "yes"}).status_code == 303
    assert client.get(path).status_code == 404


def test_people_share_private_lists(state: AppState) -> None:
    ada, ben, eve = (person_client(state, name) for name in ("Ada", "Ben", "Eve"))
    path = posted(ada, "/lists", QUESTION)
    ada.post(f"{path}/manage", data={"action": "private"})
    ada.post(f"{path}/manage", data={"action": "share", "person": "ben", "role": "reader"})
    assert ben.get(path).status_code == 200
    assert eve.get(path).status_code == 404
    page_id = ada.get(f"{path}.json").json()["articles"][0]["page_id"]
    claim = {"page_id": str(page_id), "mark": "claimed"}
    assert ben.post(f"{path}/marks", data=claim).status_code == 403
    ada.post(f"{path}/manage", data={"action": "share", "person": "Ben", "role": "editor"})
    assert ben.post(f"{path}/marks", data=claim).status_code == 303
    assert "Ben" in ada.get(path).text
    assert path.rpartition("/")[2] in ben.get("/mine").text
    assert ben.post(f"{path}/manage", data={"action": "delete", "sure": "yes"}).status_code == 403
    ada.post(f"{path}/manage", data={"action": "unshare", "person": "Ben"})
    assert ben.get(path).status_code == 404


def test_the_same_person_finds_lists_on_two_devices(state: AppState) -> None:
    laptop, phone = person_client(state, "Grace"), person_client(state, "Grace")
    path = posted(laptop, "/searches", QUESTION)
    assert path.rpartition("/")[2] in phone.get("/mine").text
    draw = posted(phone, f"{path}/draws")
    page_id = phone.get(f"{draw}.json").json()["articles"][0]["page_id"]
    mark = {"page_id": str(page_id), "draw": "1", "mark": "done"}
    phone.post(f"{path}/marks", data=mark)
    undone = laptop.post(f"{path}/marks", data={**mark, "mark": "none"}, headers={"HX-Request": "true"})
    assert "Undone" in undone.text


def test_the_owner_undoes_anybodys_mark_and_others_are_not_offered_to(client: TestClient, other: TestClient) -> None:
    search = posted(client, "/searches", QUESTION)
    draw = posted(other, f"{search}/draws")
    page_id = str(other.get(f"{draw}.json").json()["articles"][0]["page_id"])
    other.post(f"{search}/marks", data={"page_id": page_id, "draw": "1", "mark": "done"})
    third = client_of(client.app.state.current)
    row = third.get(draw).text.partition(f'id="page-{page_id}"')[2].partition("</tr>")[0]
    assert "Undo" not in row
    row = client.get(draw).text.partition(f'id="page-{page_id}"')[2].partition("</tr>")[0]
    assert "Undo" in row
    client.post(f"{search}/marks", data={"page_id": page_id, "draw": "1", "mark": "none"})
    row = other.get(draw).text.partition(f'id="page-{page_id}"')[2].partition("</tr>")[0]
    assert "Not for me" in row


def test_all_old_draws_can_be_reached(client: TestClient) -> None:
    search = posted(client, "/searches", QUESTION)
    for _ in range(52):
        posted(client, f"{search}/draws")
    page = client.get(search).text
    assert f'{search}/draws/52"' in page
    assert f'{search}/draws/1"' not in page
    assert f'{search}/draws/1"' in client.get(f"{search}?before=3").text


def test_shares_are_of_one_thing(state: AppState, client: TestClient) -> None:
    list_token = posted(client, "/lists", QUESTION).rpartition("/")[2]
    search_token = posted(client, "/searches", QUESTION).rpartition("/")[2]
    work_list, search = load_list(state.store, list_token), load_search(state.store, search_token)
    assert work_list is not None
    assert search is not None
    share_with(state.store, work_list, "wiki:Zoe", "reader")
    assert search_token not in person_client(state, "Zoe").get("/mine").text


@pytest.mark.parametrize("area", ["/lists", "/searches"])
def test_an_address_without_a_list_leads_to_all_of_them(client: TestClient, area: str) -> None:
    answer = client.get(area, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/mine")
