"""What the page of a list says first: the goal reached beside that of plain search, and what the list was made with."""

from __future__ import annotations

import re
from dataclasses import replace

from starlette.testclient import TestClient

from evenrank.app.fairness.balance import list_exposure
from evenrank.app.lists.work_list import load_list
from evenrank.app.pages.i18n import percent
from evenrank.app.request.choices import conditions
from evenrank.app.request.question import Question
from evenrank.app.state import AppState
from evenrank.measures.awrf import awrf
from evenrank.trec.dimensions import DIMENSIONS
from tests.app.conftest import posted
from tests.desk_collections import QUESTION


def test_plain_search_stands_beside_the_goal_reached(client: TestClient, state: AppState) -> None:
    path = posted(client, "/lists", {**QUESTION, "fairness": "10"})
    kept = load_list(state.store, path.rpartition("/")[2])
    assert kept is not None
    assert kept.comparison is not None
    exposure = list_exposure(state.collection, kept.comparison.plain, state.space(kept), kept.question)
    plain = percent(awrf(exposure[1:], kept.target[1:]))
    for part in ("", "/fairness"):
        html = client.get(f"{path}{part}").text
        assert f"of the goal reached: how close the attention is to it; plain search: {plain}</span>" in html
    assert "; plain search:" not in client.get(f"{path}?class=Stub").text
    relevance = posted(client, "/lists", {**QUESTION, "policy": "relevance"})
    assert "; plain search:" not in client.get(relevance).text  # it is plain search
    unfair = posted(client, "/lists", {**QUESTION, "fairness": "0"})
    assert "; plain search:" not in client.get(unfair).text
    assert made_with(client, unfair).startswith("Goal: Halfway to the world · Strength: No fairness ·")


def test_shares_say_how_much_attention_they_are_of(client: TestClient) -> None:
    path = posted(client, "/lists", {**QUESTION, "fairness": "10"})
    unknown = client.get(f"/api{path}/fairness").json()["unknown_share"]
    expected = (
        f"{percent(1 - unknown)} of all. The other {percent(unknown)} goes to articles of which no group is known."
    )
    for part in ("", "/fairness"):
        assert expected in client.get(f"{path}{part}").text


def made_with(client: TestClient, path: str, language: str = "en") -> str:
    """The line that says what a list was made with."""
    html = client.get(path, headers={"Accept-Language": language}).text
    (line,) = re.findall(r'<p class="quiet">([^<]*Stub[^<]*)</p>', html)
    return line.replace("\u00a0", " ")


def test_a_list_says_what_it_was_made_with(client: TestClient, list_path: str, search_path: str) -> None:
    usual = "Goal: Halfway to the world · Strength: Even · Classes: Stub to B"
    for path in (list_path, f"{list_path}/fairness", search_path):
        assert made_with(client, path) == usual
    german = "Ziel: Auf halbem Weg zur Welt · Stärke: Ausgeglichen · Klassen: Stub bis B"
    assert made_with(client, list_path, "de") == german
    ticked = {**QUESTION, "dimension-geography": "1", "dimension-gender": "1"}
    assert made_with(client, posted(client, "/lists", ticked)) == usual


def test_every_limit_of_a_list_is_stated(client: TestClient) -> None:
    limits = {
        "goal": "field",
        "fairness": "2.5",
        "dimension-geography": "1",
        "within-geography": "Europe",
        "within-gender": "known",
        "best": "Stub",
        "min_size": "100",
        "max_size": "20000",
        "length": "200",
    }
    path = posted(client, "/lists", {**QUESTION, **limits})
    assert made_with(client, path) == (
        "Goal: As your subject is · Strength: 2.5 · Groups that count: Region · Only: Europe, Biographies · "
        "Classes: Stub · Size: 100 B to 20,000 B · Most articles: 200"
    )
    path = posted(client, "/lists", {**QUESTION, "policy": "relevance", "min_size": "100"})
    assert made_with(client, path) == (
        "Goal: Halfway to the world · How to rank: Relevance only · Classes: Stub to B · Size: at least 100 B"
    )


def test_restrictions_are_put_in_words_without_naming_a_group_of_people() -> None:
    """Lists that were limited to a gender before that was refused."""
    question = Question("x", within=("geography=known", "geography=asia", "gender=female"), importance=("Top", "Mid"))
    found = dict(conditions(replace(question, max_views=5000), DIMENSIONS))
    assert found["Only"] == "Region known, Asia, Biographies"
    assert found["Importance"] == "Top, Mid"
    assert found["Page views"] == "at most 5,000"
