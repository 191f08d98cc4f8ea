"""Page views: a column, a filter, an order and a range of the form, where the collection knows them and only there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from starlette.testclient import TestClient

from evenrank.app.state import AppState, LRUCache
from tests.app.conftest import client_of, posted
from tests.desk_collections import QUESTION


@pytest.fixture
def reading(state: AppState) -> AppState:
    """The desk on a collection with views: page row times ten, unknown for every seventh."""
    views = 10 * np.arange(len(state.collection), dtype=np.int64)
    views[::7] = -1
    known = replace(state.collection, page_views=views)
    return replace(state, collection=known, results=LRUCache(), cell_cache=LRUCache())


def views_in(client: TestClient, path: str, query: str = "") -> list[int | None]:
    return [article["page_views"] for article in client.get(f"{path}.json{query}").json()["articles"]]


def test_a_collection_without_views_shows_none(client: TestClient, list_path: str) -> None:
    assert "Page views" not in client.get(list_path).text
    assert 'name="min_views"' not in client.get("/lists/new").text
    assert set(views_in(client, list_path)) == {None}


def test_views_are_a_column_a_filter_and_an_order(reading: AppState) -> None:
    client = client_of(reading)
    path = posted(client, "/lists", QUESTION)
    html = client.get(path).text
    assert ">Views</th>" in html
    assert 'data-label="Views"' in html
    assert all(n is not None and 100 <= n < 1000 for n in views_in(client, path, "?views=some"))
    ordered = [-1 if n is None else n for n in views_in(client, path, "?sort=views")]
    assert ordered == sorted(ordered, reverse=True)
    assert len(ordered) > 100


def test_a_list_can_be_made_of_what_is_read(reading: AppState) -> None:
    client = client_of(reading)
    assert 'name="min_views"' in client.get("/lists/new").text
    path = posted(client, "/lists", {**QUESTION, "min_views": "2000", "max_views": "9000"})
    found = views_in(client, path)
    assert found
    assert all(n is not None and 2000 <= n <= 9000 for n in found)
    made = client.post("/api/lists", json={"title": "Chess", "min_views": 2000})
    assert made.status_code == 201
    assert client.post("/api/lists", json={"title": "Chess", "min_views": -1}).status_code == 400
