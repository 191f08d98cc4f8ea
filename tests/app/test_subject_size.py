"""About how many articles are on the subject: told in the form or in JSON, kept, and counted in the order alone."""

from __future__ import annotations

import html

import numpy as np
import pytest
from starlette.testclient import TestClient

from evenrank.app.api.document import document
from evenrank.app.articles.candidates import find_for
from evenrank.app.lists.work_list import WorkList, load_list
from evenrank.app.request.question import QuestionError, parse_question, question_from_json
from evenrank.app.request.question_form import preview_goal
from evenrank.app.searches.saved_search import load_search
from evenrank.app.state import AppState
from evenrank.core.allowed import MOST_PAGES
from evenrank.core.records import Task
from tests.app.conftest import posted
from tests.desk_collections import QUESTION

ALL_CLASSES = {**QUESTION, "best": "FA"}


def made(client: TestClient, state: AppState, fields: dict[str, str]) -> WorkList:
    work_list = load_list(state.store, posted(client, "/lists", fields).rpartition("/")[2])
    assert work_list is not None
    return work_list


def work_at_the_top(state: AppState, work_list: WorkList) -> float:
    """Mean work that the first 50 articles need."""
    return float(1.0 - state.collection.quality_score[state.collection.rows_of(work_list.page_ids[:50])].mean())


def test_the_more_articles_there_are_the_more_the_work_counts_and_the_goal_stays(
    client: TestClient, state: AppState
) -> None:
    usual, some, many = (made(client, state, {**QUESTION, "relevant": n}) for n in ("", "300", "1000"))
    assert work_at_the_top(state, usual) < work_at_the_top(state, some) < work_at_the_top(state, many)
    assert usual.target.tolist() == some.target.tolist() == many.target.tolist()
    assert usual.question.n_relevant == 0
    assert many.question.n_relevant == 1000


def test_plain_search_keeps_its_order(client: TestClient, state: AppState) -> None:
    plain = {**QUESTION, "policy": "relevance"}
    usual, few = made(client, state, plain), made(client, state, {**plain, "relevant": "12"})
    assert few.page_ids.tolist() == usual.page_ids.tolist()
    assert few.relevance.sum() < usual.relevance.sum()


@pytest.mark.parametrize("task", [1, 2])
def test_the_number_is_of_all_classes_and_groups(state: AppState, task: Task) -> None:
    """Of a narrower question, it is the part of the number that it has of the estimate."""

    def sums(fields: dict[str, str]) -> list[float]:
        return [
            float(find_for(state, state.parse_question({**fields, "relevant": n}), task).candidates.relevance.sum())
            for n in ("", "200")
        ]

    estimated, told = sums(ALL_CLASSES)
    assert told == pytest.approx(200.0, abs=1e-6)
    for narrower in (QUESTION, {**ALL_CLASSES, "within-geography": "Europe"}):
        part_estimated, part_told = sums(narrower)
        assert part_told < told
        assert part_told / told == pytest.approx(part_estimated / estimated, abs=1e-6)


def test_draws_are_planned_with_the_number(client: TestClient, state: AppState) -> None:
    usual, told = (
        load_search(state.store, posted(client, "/searches", {**QUESTION, "relevant": n}).rpartition("/")[2])
        for n in ("", "500")
    )
    assert usual is not None
    assert told is not None
    assert told.question.n_relevant == 500
    assert told.target.tolist() == usual.target.tolist()
    assert told.page_ids.tolist() == usual.page_ids.tolist()
    assert np.all(told.relevance >= usual.relevance)
    assert told.plan.tolist() != usual.plan.tolist()


def test_a_list_says_so_and_its_form_has_it_again(client: TestClient) -> None:
    path = posted(client, "/lists", {**QUESTION, "relevant": "1200"})
    token = path.rpartition("/")[2]
    assert "Articles on the subject: about 1,200" in client.get(path).text
    assert "Artikel zum Thema: etwa 1.200" in client.get(path, headers={"Accept-Language": "de"}).text
    assert 'name="relevant" min="1" max="100000000" value="1200"' in client.get(f"/lists/new?from={token}").text
    assert 'name="relevant" min="1" max="100000000" value=""' in client.get("/searches/new").text
    assert "Articles on the subject" not in client.get(posted(client, "/lists", QUESTION)).text


def test_the_goal_is_previewed_as_without_the_number(state: AppState) -> None:
    usual, told = (preview_goal(state, {**QUESTION, "goal": "field", "relevant": n}) for n in ("", "900"))
    assert usual is not None
    assert told is not None
    assert told.tables == usual.tables
    assert told.concentrated == usual.concentrated


def test_programs_tell_it_for_lists_and_searches(client: TestClient) -> None:
    body = {"title": "Chess", "keywords": ["chess"], "relevant": 150}
    for area, schema in (("lists", "ListQuestion"), ("searches", "SearchQuestion")):
        token = client.post(f"/api/{area}", json=body).json()["token"]
        assert client.get(f"/api/{area}/{token}").json()["question"]["relevant"] == 150
        field = document()["components"]["schemas"][schema]["properties"]["relevant"]
        assert (field["type"], field["minimum"], field["maximum"]) == ("integer", 0, MOST_PAGES)
        assert "on the subject" in field["description"]


@pytest.mark.parametrize("given", ["-3", "many", "12.5", str(MOST_PAGES + 1)])
def test_what_is_no_number_of_articles_is_refused_with_all_other_faults(client: TestClient, given: str) -> None:
    with pytest.raises(QuestionError) as caught:
        parse_question({"title": "", "relevant": given, "fairness": "nan"})
    assert set(caught.value.by_field) == {"title", "relevant", "fairness"}
    answer = client.post("/lists", data={**QUESTION, "relevant": given, "fairness": "nan"})
    assert answer.status_code == 400
    said = html.unescape(answer.text)
    assert 'id="relevant-fault">Give a whole number from 0 to ' in said
    assert "The strength of fairness must be a number" in said


@pytest.mark.parametrize("given", [-1, 2.5, "many", True, MOST_PAGES + 1])
def test_programs_are_refused_the_same(client: TestClient, given: object) -> None:
    for area in ("lists", "searches"):
        assert client.post(f"/api/{area}", json={"title": "Chess", "relevant": given}).status_code == 400


def test_questions_stored_before_have_no_number() -> None:
    assert question_from_json('{"title": "Chess", "best": "B"}').n_relevant == 0
