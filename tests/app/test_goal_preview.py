"""What a goal means, beside the form: for the words, for the articles that people bring, and when it does not fit."""

from __future__ import annotations

from html import escape

import numpy as np
import pytest
from starlette.testclient import TestClient

from evenrank.app.articles.collection_view import is_about_one_gender
from evenrank.app.lists.work_list import make_list
from evenrank.app.pages.i18n import percent
from evenrank.app.request.question_form import preview_goal
from evenrank.app.state import AppState
from evenrank.core.records import Task
from tests.app.conftest import posted
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
    assert "100\u00a0% of the relevant articles are in one group: Europe. So the goal follows your subject" in html
    assert 'name="goal" value="track"' in html
    halfway = client.post("/lists/goal", data={**user_articles, "goal": "track"}).text
    assert "This goal asks for much that the subject does not have." in halfway
    assert 'name="goal" value="fit"' in halfway
    assert "in one group" not in client.post("/lists/goal", data={**user_articles, "goal": "field"}).text
    assert "in one group" not in client.post("/lists/goal", data={**user_articles, "within-geography": "Europe"}).text


def test_the_goal_of_a_search_says_what_draws_are_made_from(client: TestClient) -> None:
    html = client.post("/searches/goal", data={**QUESTION, **ALL}).text
    assert "Draws would be made from" in html
    assert "Once articles are found" in client.post("/searches/goal", data={}).text


@pytest.mark.parametrize("task", [1, 2])
def test_subject_and_goal_are_shares_of_the_same(state: AppState, task: Task) -> None:
    usual = {**QUESTION, "dimension-geography": "1", "dimension-gender": "1"}
    preview = preview_goal(state, {**usual, "goal": "field"}, task)
    assert preview is not None
    assert [sum(row.goal for row in rows) for _, rows in preview.tables if rows] == [pytest.approx(1.0, abs=0.02)]
    assert [row.goal for _, rows in preview.tables for row in rows or ()] == pytest.approx(
        [row.field for _, rows in preview.tables for row in rows or ()]
    )


def test_the_same_for_every_group_means_groups_that_have_articles(state: AppState) -> None:
    groups = state.collection.dimensions[0].groups
    titles = "\n".join(titles_in(state, groups.index(name), n) for name, n in (("Europe", 9), ("Africa", 3)))
    user_articles = {"title": "Ours", "text-1": titles, "kind-1": "titles", "role-1": "in", **ALL}
    preview = preview_goal(state, {**user_articles, "goal": "equal"})
    assert preview is not None
    ((_, rows),) = preview.tables
    assert {row.label: row.goal for row in rows or ()} == {"Europe": 0.5, "Africa": 0.5}


def test_every_page_says_which_goal_was_chosen_and_why(state: AppState, client: TestClient) -> None:
    europe = state.collection.dimensions[0].groups.index("Europe")
    brought = {"title": "Ours", "text-1": titles_in(state, europe), "best": "FA", "dimension-geography": "1"}
    path = posted(client, "/lists", brought)
    for part in ("", "/fairness", "/campaign"):
        assert "Region: the goal follows your subject" in client.get(f"{path}{part}").text
    bar = client.get(path).text.partition('class="fair"')[2].partition("</section>")[0]
    assert "Region: the goal follows your subject" in bar
    assert client.get(f"/api{path}").json()["question"]["as_subject"] == ["geography"]
    search = posted(client, "/searches", brought)
    assert "Give me 12 articles<" in client.get(search).text
    one = posted(client, "/searches", {**brought, "text-1": titles_in(state, europe, 1)})
    assert "Give me 1 article<" in client.get(one).text
    assert "Region: the goal follows your subject" in client.get(search).text
    halfway = posted(client, f"{path}/again", {"goal": "track"})
    for part in ("", "/fairness", "/campaign"):
        html = client.get(f"{halfway}{part}").text
        assert "100\u00a0% of these articles are in one group: Europe." in html
    fitting = posted(client, f"{halfway}/again", {"goal": "fit"})
    assert "in one group: Europe" not in client.get(fitting).text


def test_a_goal_that_fits_has_the_shares_of_the_subject_where_one_group_has_it(state: AppState) -> None:
    europe, africa = (state.collection.dimensions[0].groups.index(name) for name in ("Europe", "Africa"))
    titles = f"{titles_in(state, europe, 18)}\n{titles_in(state, africa, 2)}"
    preview = preview_goal(state, {"title": "Ours", "text-1": titles, "best": "FA", "dimension-geography": "1"})
    assert preview is not None
    ((_, rows),) = preview.tables
    assert {row.label: (round(row.goal, 2), round(row.field, 2)) for row in rows or ()} == {
        "Europe": (0.9, 0.9),
        "Africa": (0.1, 0.1),
    }


@pytest.mark.parametrize(
    "title, notes",
    [
        ("Women of chess", ["Region: the goal is halfway between your subject and the world."]),
        ("Ours", ["No group has nearly all of your subject, so the goal is halfway"]),
    ],
)
def test_every_page_says_what_the_goal_is_for_each_dimension_that_counts(
    client: TestClient, title: str, notes: list[str]
) -> None:
    asked = {**QUESTION, "title": title, "best": "FA", "dimension-geography": "1", "dimension-gender": "1"}
    path = posted(client, "/lists", asked)
    pages = [client.get(f"{path}{part}").text for part in ("", "/fairness", "/campaign")]
    for html in (*pages, client.post("/lists/goal", data=asked).text):
        assert [note in html for note in notes] == [True]
        assert html.count("halfway between your subject and the world") == 1


def test_a_goal_that_follows_the_subject_in_one_dimension_says_what_it_does_in_the_other(
    state: AppState, client: TestClient
) -> None:
    masks = [np.asarray(state.collection.masks[name]) for name in ("geography", "gender")]
    europe = 1 << state.collection.dimensions[0].groups.index("Europe")
    rows = np.flatnonzero((masks[0] == europe) & (masks[1] > 1))[:12]
    titles = "\n".join(state.collection.titles_of(state.collection.page_ids[rows].tolist()))
    path = posted(client, "/lists", {"title": "Ours", "text-1": titles, "best": "FA"})
    html = client.get(f"{path}/fairness").text
    assert "Region: the goal follows your subject" in html
    assert "Gender: the goal is halfway between your subject and the world." in html
    assert "It is never shown, neither for a person nor in totals." in html


@pytest.mark.parametrize(
    "title, is_about_one",
    [("Women scientists", True), ("History of women's rights", True), ("Chess", False), ("Womenswear", False)],
)
def test_a_title_about_women_or_men_alone_is_recognised(state: AppState, title: str, is_about_one: bool) -> None:
    assert is_about_one_gender(title, "en") == is_about_one
    question = make_list(state, state.parse_question({"title": title, "keywords": "chess"})).question
    assert ("gender" in question.as_subject) == is_about_one


@pytest.mark.parametrize("n_people", [0, 1, 4])
def test_gender_does_not_count_where_hardly_anything_is_a_biography(
    state: AppState, client: TestClient, n_people: int
) -> None:
    """Of forty articles one may be about a person, of whatever gender; four are a tenth."""
    masks = np.asarray(state.collection.masks["gender"])
    rows = np.concatenate([np.flatnonzero(masks == 1)[: 40 - n_people], np.flatnonzero(masks > 1)[:n_people]])
    titles = "\n".join(state.collection.titles_of(state.collection.page_ids[rows].tolist()))
    brought = {"title": "Lakes", "text-1": titles, "best": "FA"}
    page = client.get(f"{posted(client, '/lists', brought)}/fairness").text
    is_few = n_people < 2
    assert ("Hardly any of the articles are biographies, so gender does not count." in page) is is_few
    assert ("Gender counts in the order. Whoever compares" in page) is not is_few
    assert "Hardly any of the articles" not in client.get(posted(client, "/lists", {**brought, "goal": "track"})).text
    preview = client.post("/lists/goal", data=brought).text
    assert ("Hardly any of the articles are biographies" in preview) is is_few
    assert "so the goal is halfway between your subject and the world" in preview
    assert "instead" not in preview
    rows = state.collection.rows_of(make_list(state, state.parse_question(brought)).page_ids)
    is_known = np.asarray(state.collection.masks["geography"])[rows] > 1
    assert f"Known for {percent(float(is_known.mean()))} of the articles; the shares are of these." in preview
    alone = state.parse_question({**brought, "dimension-gender": "1"})
    assert make_list(state, alone).question.as_subject == ()


def test_articles_that_are_brought_lead_the_preview_and_are_accounted_for(state: AppState, client: TestClient) -> None:
    masks, codes = np.asarray(state.collection.masks["geography"]), np.asarray(state.collection.quality_class)
    rows = np.concatenate([np.flatnonzero(codes <= 3)[:9], np.flatnonzero(codes == 5)[:4]])
    assert len(masks[rows]) == 13
    titles = state.collection.titles_of(state.collection.page_ids[rows].tolist())
    brought = {
        "title": "Chess",
        "text-1": "\n".join([*titles, "Nowhere", "No One"]),
        "kind-1": "titles",
        "role-1": "in",
    }
    html = client.post("/lists/preview", data=brought).text
    assert "9 of the articles that you brought would be ranked." in html
    assert all(title in html for title in map(escape, titles[:9]))
    account = "13 articles were brought and are in this collection; 9 are listed. Not listed: 4 in classes"
    account += " that you did not ask for. 2 could not be matched."
    assert account in client.post("/lists/goal", data={**brought, "dimension-geography": "1"}).text
    path = posted(client, "/lists", brought)
    page = client.get(path).text
    assert account in page
    assert "No other article here fits" not in page
    unknown = {**brought, "text-1": "\n".join([*titles[:9], "Nowhere"])}
    assert "9 are listed. 1 could not be matched." in client.get(posted(client, "/lists", unknown)).text


def test_the_title_does_not_rank_articles_that_are_brought(state: AppState) -> None:
    """Without keywords, the title is a name: articles with its word are as relevant as the others."""
    pages = state.collection.page_ids[:60]
    titles = "\n".join(state.collection.titles_of(pages.tolist()))
    brought = {"title": "Chess", "text-1": titles, "best": "FA"}
    plain = make_list(state, state.parse_question(brought))
    assert len(set(plain.relevance.tolist())) == 1
    words = make_list(state, state.parse_question({**brought, "keywords": "chess"}))
    assert len(set(words.relevance.tolist())) > 1
