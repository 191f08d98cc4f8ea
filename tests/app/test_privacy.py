"""Gender is in totals only: in no row, no export and no address, and never for a handful of articles."""

from __future__ import annotations

import re

import numpy as np
import pytest
from starlette.testclient import TestClient

from evenrank.app.exports.formats import FORMATS
from evenrank.app.fairness.balance import list_balance
from evenrank.app.request.question import Question
from evenrank.app.state import AppState
from evenrank.core.groups import GroupSpace
from evenrank.core.withheld import hide_people, reveal_people
from evenrank.trec.dimensions import DIMENSIONS
from tests.app.conftest import posted

GENDER_WORDS = re.compile(r"\b(female|male|women|woman|men|man|third|gender|transgender|nonbinary)\b", re.IGNORECASE)
RIVERS = {"title": "River", "keywords": "rivers"}


def test_rows_and_exports_say_nothing_of_gender(client: TestClient, list_path: str, search_path: str) -> None:
    draw = posted(client, f"{search_path}/draws")
    for path in (list_path, draw):
        html = client.get(path).text
        rows = html[html.index("<tbody") : html.index("</tbody>")]
        assert not GENDER_WORDS.search(re.sub(r'class="title".*?</span>', "", rows, flags=re.DOTALL))
        for suffix in FORMATS:
            text = client.get(f"{path}.{suffix}").text
            titles = {article["title"] for article in client.get(f"{path}.json").json()["articles"]}
            for title in sorted(titles, key=len, reverse=True):
                text = text.replace(title, "")
            assert not re.search(r"\b(female|male|gender)\b", text), suffix


def test_there_is_no_filter_by_gender(client: TestClient, list_path: str) -> None:
    everything = client.get(f"{list_path}.txt").text
    assert client.get(f"{list_path}.txt?gender=female").text == everything


def test_the_only_woman_of_a_region_is_not_told_apart(hostile_client: TestClient) -> None:
    """In the hostile collection page 1 alone is about Africa, and about a woman."""
    path = posted(hostile_client, "/lists", RIVERS)
    balance = hostile_client.get(f"/api{path}/fairness").json()
    assert list(balance["dimensions"]) == ["geography"]
    assert balance["together"] == balance["bands"] == []
    assert 'scope="row">Women<' not in hostile_client.get(f"{path}/fairness").text


def test_the_total_of_a_region_is_shown_because_each_article_shows_its_region(hostile_client: TestClient) -> None:
    path = posted(hostile_client, "/lists", RIVERS)
    regions = hostile_client.get(f"/api{path}/fairness").json()["dimensions"]["geography"]
    assert all(row["share"] is not None for row in regions)


def test_the_form_does_not_tell_the_gender_of_a_few_people(hostile_client: TestClient) -> None:
    both = {"dimension-geography": "1", "dimension-gender": "1"}
    html = hostile_client.post("/lists/goal", data={**RIVERS, **both}).text
    assert "No totals are shown" in html
    assert not re.search(r"\bmen\b", html, re.IGNORECASE)


def test_one_few_group_hides_all_that_are_known() -> None:
    assert hide_people(np.array([90.0, 3.0, 7.0, 0.0])).tolist() == [False, True, True, True]
    assert hide_people(np.array([90.0, 0.5, 7.0, 0.0])).tolist() == [False, True, True, True]
    assert not hide_people(np.array([90.0, 5.0, 7.0, 0.0])).any()


def test_regions_whose_biographies_are_all_of_one_gender_are_withheld() -> None:
    counts = np.array([[9, 0, 0, 0], [0, 7, 0, 0], [3, 7, 6, 0], [1, 7, 6, 5], [0, 3, 8, 0]], float)
    space = GroupSpace((DIMENSIONS["geography"], DIMENSIONS["gender"]))
    assert reveal_people(counts, space).all(axis=1).tolist() == [False, True, False, False, True]


def test_what_is_withheld_does_not_follow_from_the_totals() -> None:
    # The only woman of the second region would be all women less those of the others.
    counts = np.array([[9, 0, 0, 0], [0, 1, 0, 0], [3, 9, 8, 0], [1, 7, 6, 0]], float)
    space = GroupSpace((DIMENSIONS["geography"], DIMENSIONS["gender"]))
    assert reveal_people(counts, space).all(axis=1).tolist() == [False, True, False, True]


def test_warnings_stand_where_gender_enters(client: TestClient, list_path: str, search_path: str) -> None:
    for path in (f"{list_path}/fairness", f"{search_path}/fairness", "/about"):
        html = client.get(path).text
        assert "errors, biases and ethical concerns" in html
        assert "It is never shown for a person, and not in totals" in html


def test_shares_are_those_of_the_pages(state: AppState) -> None:
    """Two pages by hand: the first two ranks have the same discount."""
    space = state.collection.space()
    one_region = np.flatnonzero(state.collection.masks["geography"] == 1 << 4)[:1]
    unknown = np.flatnonzero((state.collection.masks["geography"] == 1) & (state.collection.masks["gender"] == 1))[:1]
    pages = state.collection.page_ids[np.concatenate([one_region, unknown])]
    goal = np.full(space.n_groups, 1 / space.n_groups)
    balance = list_balance(state.collection, pages, goal, space, Question("Any"))
    assert balance.unknown_share == pytest.approx(0.5)
    europe = next(row for row in balance.by_dimension("geography") if row.label == "Europe")
    assert europe.share == pytest.approx(1.0)
    assert europe.n_articles == 1
    assert not europe.is_hidden
