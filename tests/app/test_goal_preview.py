"""What a goal means, beside the form: for the words, for the articles that people bring, and when it does not fit."""

from __future__ import annotations

import numpy as np
import pytest
from starlette.testclient import TestClient

from evenrank.app.request.question_form import preview_goal
from evenrank.app.state import AppState
from evenrank.core.records import Task
from tests.desk_collections import QUESTION

ALL = {"best": "FA", "dimension-geography": "1"}


def titles_in(state: AppState, group: int, n: int = 12) -> str:
    """Titles of articles that are in one region alone."""
    rows = np.flatnonzero(np.asarray(state.collection.masks["geography"]) == 1 << group)[:n]
    return "\n".join(state.collection.titles_of(state.collection.page_ids[rows].tolist()))


def test_the_goal_is_about_the_articles_that_are_brought(state: AppState, client: TestClient) -> None:
    europe = state.collection.dimensions[0].groups.index("Europe")
    user_articles = {"title": "Ours", "text-1": titles_in(state, europe), "kind-1": "titles", "role-1": "in", **ALL}
    html = client.post("/lists/goal", data=user_articles).text
    assert "The list would have 12 articles." in html
    assert "100\u00a0% of the relevant articles are in one group: Europe" in html
    assert 'name="goal" value="field"' in html
    assert "in one group" not in client.post("/lists/goal", data={**user_articles, "goal": "field"}).text
    assert "in one group" not in client.post("/lists/goal", data={**user_articles, "within-geography": "Europe"}).text


def test_the_goal_of_a_search_says_what_draws_are_made_from(client: TestClient) -> None:
    html = client.post("/searches/goal", data={**QUESTION, **ALL}).text
    assert "Draws would be made from" in html
    assert "Once there are words" in client.post("/searches/goal", data={}).text


@pytest.mark.parametrize("task", [1, 2])
def test_subject_and_goal_are_shares_of_the_same(state: AppState, task: Task) -> None:
    usual = {**QUESTION, "dimension-geography": "1", "dimension-gender": "1"}
    preview = preview_goal(state, {**usual, "goal": "field"}, task)
    assert preview is not None
    assert [row.goal for _, rows in preview.tables for row in rows] == pytest.approx(
        [row.field for _, rows in preview.tables for row in rows]
    )


def test_the_same_for_every_group_means_groups_that_have_articles(state: AppState) -> None:
    groups = state.collection.dimensions[0].groups
    titles = "\n".join(titles_in(state, groups.index(name), n) for name, n in (("Europe", 9), ("Africa", 3)))
    user_articles = {"title": "Ours", "text-1": titles, "kind-1": "titles", "role-1": "in", **ALL}
    preview = preview_goal(state, {**user_articles, "goal": "equal"})
    assert preview is not None
    ((_, rows),) = preview.tables
    assert {row.label: row.goal for row in rows or ()} == {"Europe": 0.5, "Africa": 0.5}
