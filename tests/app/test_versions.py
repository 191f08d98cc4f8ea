"""Lists made again from newer data: what changed, what people marked, and the campaign over all versions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from evenrank.app.exports.publishing import Place
from evenrank.app.lists.work_list import WorkList, difference, load_list
from evenrank.app.lists.work_pages import load_place, save_place
from evenrank.app.state import AppState, open_state
from evenrank.app.storage.saved_request import delete_request
from evenrank.trec.collection import Collection
from tests.app.conftest import UNLIMITED, client_of, posted
from tests.desk_collections import QUESTION


@pytest.fixture
def own_state(generated: Collection, tmp_path: Path) -> Iterator[AppState]:
    state = open_state(generated.path, replace(UNLIMITED, store=tmp_path / "desk.sqlite"))
    yield state
    state.close()


def loaded(state: AppState, path: str) -> WorkList:
    found = load_list(state.store, path.rpartition("/")[2])
    assert found is not None
    return found


def changed(state: AppState) -> AppState:
    """The same collection after a month of work: the first stubs became B, and the last pages are gone."""
    collection = state.collection
    quality = np.array(collection.quality_class)
    quality[np.flatnonzero(quality == 0)[:100]] = 3
    sources = collection.manifest.sources
    kept = slice(0, len(collection) - 40)
    newer = replace(
        collection,
        page_ids=np.array(collection.page_ids)[kept],
        quality_class=quality[kept],
        quality_score=np.array(collection.quality_score)[kept],
        masks={name: np.array(mask)[kept] for name, mask in collection.masks.items()},
        size_bytes=None if collection.size_bytes is None else np.array(collection.size_bytes)[kept],
        manifest=replace(collection.manifest, sources={**sources, "metadata": replace(sources["metadata"], md5="0")}),
    )
    return replace(state, collection=newer)


def test_the_difference_is_exact(own_state: AppState) -> None:
    client = client_of(own_state)
    path = posted(client, "/lists", {**QUESTION, "best": "FA", "length": "1000"})
    before = loaded(own_state, path)
    newer = changed(own_state)
    again = client_of(newer)
    again.cookies = client.cookies
    assert "The data are newer than this list" in again.get(path).text
    changes = again.post(f"{path}/refresh").headers["location"]
    after = loaded(newer, changes.removesuffix("/changes"))
    assert after.series == before.series
    found = difference(newer.collection, before, after)
    gone = set(own_state.collection.page_ids[-40:].tolist())
    assert set(found.deleted) == gone & set(before.page_ids.tolist())
    first_stubs = own_state.collection.page_ids[np.flatnonzero(own_state.collection.quality_class == 0)[:100]]
    expected = (set(first_stubs.tolist()) & set(before.page_ids.tolist())) - gone
    assert {(page, was, now) for page, was, now in found.improved} == {(page, 0, 3) for page in expected}
    assert set(found.added) == set(after.page_ids.tolist()) - set(before.page_ids.tolist())
    text = again.get(changes).text
    assert f"{len(found.improved)} improved to B" in text
    assert f"{len(found.deleted)} deleted" in text
    assert "There is a newer version" in again.get(path).text
    campaign = again.get(f"{path}/campaign").text
    assert "2</strong> <span>versions of the list" in campaign


def test_the_page_of_the_wiki_is_remembered_for_the_next_version(own_state: AppState) -> None:
    client = client_of(own_state)
    path = posted(client, "/lists", QUESTION)
    first = loaded(own_state, path)
    assert load_place(own_state.store, first) == {}
    save_place(own_state.store, first, Place("Project:Old", form="table"))
    save_place(own_state.store, first, Place("Project:List", form="list"))
    second = loaded(own_state, client.post(f"{path}/refresh").headers["location"].removesuffix("/changes"))
    assert second.number != first.number
    assert load_place(own_state.store, second) == {"page": "Project:List", "form": "list"}
    delete_request(own_state.store, "work_list", first.series or 0)
    assert load_place(own_state.store, first) == {}


def test_only_the_owner_makes_a_version(own_state: AppState) -> None:
    client, other = client_of(own_state), client_of(own_state)
    path = posted(client, "/lists", QUESTION)
    assert other.post(f"{path}/refresh").status_code == 403
    assert "Make the next version" not in other.get(f"{path}/refresh").text
    assert "Make the next version" in client.get(f"{path}/refresh").text
    assert "this is the first version of the list" in client.get(f"{path}/changes").text


def test_marks_of_a_list_survive_a_new_version(own_state: AppState) -> None:
    client, other = client_of(own_state), client_of(own_state)
    path = posted(client, "/lists", QUESTION)
    first, second = (article["page_id"] for article in client.get(f"{path}.json").json()["articles"][:2])
    other.get(path)
    assert other.post(f"{path}/marks", data={"page_id": str(first), "mark": "claimed"}).status_code == 303
    third = client_of(own_state)
    refused = third.post(f"{path}/marks", data={"page_id": str(first), "mark": "done"})
    assert refused.status_code == 400
    assert "Somebody else is working on that article" in refused.text
    assert ">Release</button>" in third.get(path).text
    assert third.post(f"{path}/marks", data={"page_id": str(first), "mark": "release"}).status_code == 303
    assert ">Release</button>" not in third.get(path).text
    assert other.post(f"{path}/marks", data={"page_id": str(first), "mark": "claimed"}).status_code == 303
    assert other.post(f"{path}/marks", data={"page_id": str(first), "mark": "doing"}).status_code == 303
    client.post(f"{path}/marks", data={"page_id": str(second), "mark": "off-topic"})
    newer = client.post(f"{path}/refresh").headers["location"].removesuffix("/changes")
    html = client.get(newer).text
    assert html.partition(f'id="page-{first}"')[2].partition("</tr>")[0].count(">In work<") == 1
    wikitext = client.get(f"{newer}.table.wiki").text
    assert "in work" in wikitext
    assert f'id="page-{second}"' not in html
    assert "not our topic" in client.get(f"{path}.table.wiki").text
    client.post(f"{newer}/marks", data={"page_id": str(first), "mark": "none"})
    assert "In work" not in client.get(newer).text


def test_a_list_says_what_changed_against_plain_search(client: TestClient, state: AppState) -> None:
    path = posted(client, "/lists", {**QUESTION, "fairness": "10"})
    kept = loaded(state, path)
    assert kept.comparison is not None
    came_in = state.collection.titles_of(kept.comparison.came_in[:1])
    html = client.get(path).text
    assert "; plain search gives " in html
    assert came_in[0] in html.partition('id="about-list"')[2]
    assert came_in[0] in client.get(f"{path}/fairness").text
    assert set(kept.comparison.came_in) <= set(kept.page_ids[:100].tolist())
    assert not set(kept.comparison.came_in) & set(kept.comparison.plain[:100].tolist())


def test_a_point_of_the_trade_off_makes_that_list(client: TestClient, state: AppState) -> None:
    path = posted(client, "/lists", QUESTION)
    stronger = posted(client, f"{path}/again", {"fairness": "10"})
    assert loaded(state, stronger).question.fairness == 10.0
    assert loaded(state, stronger).certificate["AWRF"] > loaded(state, path).certificate["AWRF"]
