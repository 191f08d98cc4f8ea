"""Lists and searches of some groups alone: articles that are in other groups, too, do not count against the goal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from starlette.testclient import TestClient

from evenrank.app.lists.work_list import load_list, save_list
from evenrank.app.searches.progress import search_progress
from evenrank.app.searches.saved_search import load_search
from evenrank.app.state import AppState
from tests.app.conftest import posted
from tests.desk_collections import QUESTION

ONLY_AFRICA = {**QUESTION, "within-geography": "Africa", "dimension-geography": "1"}


def test_a_list_of_one_region_reaches_its_goal(client: TestClient, state: AppState) -> None:
    path = posted(client, "/lists", ONLY_AFRICA)
    work_list = load_list(state.store, path.rsplit("/", 1)[1])
    assert work_list is not None
    masks = state.collection.masks["geography"][state.collection.rows_of(work_list.page_ids)]
    assert np.bitwise_count(masks).max() > 1  # some are in a second region
    assert work_list.certificate["AWRF"] == pytest.approx(1.0)
    for page in (path, f"{path}/fairness"):
        assert "goal is 0\u00a0%" not in client.get(page).text
    assert "Europe" not in client.get(f"{path}/fairness").text


def test_draws_of_one_region_reach_their_goal(client: TestClient, state: AppState) -> None:
    path = posted(client, "/searches", ONLY_AFRICA)
    posted(client, f"{path}/draws")
    search = load_search(state.store, path.rsplit("/", 1)[1])
    assert search is not None
    progress = search_progress(state, search)
    assert progress is not None
    rows = progress.balance.by_dimension("geography")
    assert {row.label: (row.share, row.goal) for row in rows} == {"Africa": (1.0, 1.0)}


def test_a_group_that_the_collection_no_longer_has_is_named_and_ignored(client: TestClient, state: AppState) -> None:
    path = posted(client, "/lists", QUESTION)
    kept = load_list(state.store, path.rsplit("/", 1)[1])
    assert kept is not None
    question = replace(kept.question, within=("geography=Atlantis",))
    token = save_list(state.store, replace(kept, question=question), "")
    for page in (f"/lists/{token}", f"/lists/{token}/fairness"):
        answer = client.get(page)
        assert answer.status_code == 200
        assert "Only: Atlantis (no longer among the groups here, so not applied)" in answer.text
