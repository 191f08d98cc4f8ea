"""How far people read: asked for in the form or in JSON, kept with the question, counted in lists and draws."""

from __future__ import annotations

import html
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from evenrank.app.fairness.balance import list_exposure
from evenrank.app.lists.work_list import load_list
from evenrank.app.request.question import Question, QuestionError, parse_question, question_from_json
from evenrank.app.searches.draws import first_draws
from evenrank.app.searches.saved_search import load_search
from evenrank.app.state import AppState
from evenrank.measures.awrf import awrf
from tests.app.conftest import posted
from tests.desk_collections import QUESTION

SHORT = {**QUESTION, "length": "40"}


def page_ids(client: TestClient, path: str) -> list[int]:
    return [article["page_id"] for article in client.get(f"{path}.json").json()["articles"]]


@pytest.mark.parametrize(
    ("fields", "kept", "words"),
    [
        ({"attention": "rbp:0.8"}, "rbp:0.8", "The first few"),
        ({"attention": "table", "weights": "1, 0.5; .25 0"}, "table:1.0,0.5,0.25,0.0", "own weights for 4 ranks"),
        ({"attention": "reciprocal"}, "reciprocal", "reciprocal"),
    ],
)
def test_a_list_is_made_measured_and_described_with_the_attention_asked_for(
    client: TestClient, state: AppState, fields: dict[str, str], kept: str, words: str
) -> None:
    path = posted(client, "/lists", {**SHORT, **fields})
    work_list = load_list(state.store, path.rsplit("/", 1)[1])
    assert work_list is not None
    assert work_list.question.attention == kept
    question = Question("Any", attention=kept)
    exposure = list_exposure(state.collection, work_list.page_ids, state.space(work_list), question)
    assert work_list.certificate["AWRF"] == pytest.approx(awrf(exposure[1:], work_list.target[1:]), abs=1e-12)
    said = f"How far people read: {words}"
    assert said in client.get(path).text
    assert said in client.get(f"{path}/fairness").text
    form = client.get(f"/lists/new?from={path.rsplit('/', 1)[1]}").text
    again = {"attention": "table", "weights": "1.0 0.5 0.25 0.0"} if "weights" in fields else fields
    for value in again.values():
        assert f'value="{value}"' in form
    assert f'name="attention" value="{again["attention"]}" checked' in form
    assert page_ids(client, posted(client, "/lists", {**SHORT, **again})) == work_list.page_ids.tolist()


def test_a_short_reach_changes_the_list_and_the_usual_one_is_not_mentioned(client: TestClient) -> None:
    usual, given, short = (
        posted(client, "/lists", {**SHORT, **fields}) for fields in ({}, {"attention": "log"}, {"attention": "rbp:0.8"})
    )
    assert page_ids(client, usual) == page_ids(client, given) != page_ids(client, short)
    assert "How far people read" not in client.get(usual).text


def test_draws_are_counted_with_the_attention_asked_for(client: TestClient, state: AppState) -> None:
    path = posted(client, "/searches", {**QUESTION, "attention": "uniform"})
    for _ in range(3):
        client.post(f"{path}/draws")
    search = load_search(state.store, path.rsplit("/", 1)[1])
    assert search is not None
    _, means = first_draws(state.store.connection, search, 3, range(3))
    n_ranks = search.plan.shape[1]
    assert [mean.sum() for mean in means.values()] == pytest.approx([n_ranks] * 3)
    assert search.wanted_exposure.sum() == pytest.approx(n_ranks)
    assert "How far people read: The complete list" in client.get(path).text


@pytest.mark.parametrize("weights", ["", "0 0", "1 2", "1 x", "-1", "nan"])
def test_wrong_weights_are_explained_beside_their_field(client: TestClient, weights: str) -> None:
    answer = client.post("/lists", data={**SHORT, "attention": "table", "weights": weights})
    assert answer.status_code == 400
    shown = html.unescape(answer.text)
    assert '<span class="fault" id="attention-fault">Give a weight for each rank' in shown
    assert f'id="weights" name="weights" value="{weights}"' in shown
    assert '<details class="more" open><summary>How far people read</summary>' in shown


@pytest.mark.parametrize(
    ("attention", "fault"),
    [
        ("rpb", "choose from log, dcg, reciprocal, uniform, rbp, gerr, table"),
        ("rbp:2", "the persistence must lie between 0 and 1"),
        (
            "gerr:0.8,0.5",
            "lists show attention by rank alone (choose rbp:0.8",
        ),
        ("table:1,2", "policies need attention that does not rise"),
    ],
)
def test_bots_get_the_errors_of_the_command_line(client: TestClient, attention: str, fault: str) -> None:
    answer = client.post("/api/lists", json={"title": "Chess", "keywords": ["chess"], "attention": attention})
    assert answer.status_code == 400
    assert fault in answer.json()["detail"]


def test_no_visitor_names_a_file_of_the_server(tmp_path: Path) -> None:
    weights = tmp_path / "weights.txt"
    weights.write_text("1\n0.5\n")
    with pytest.raises(QuestionError, match="this is not a list of weights"):
        parse_question({"title": "Chess", "attention": f"table:{weights}"})
    with pytest.raises(QuestionError, match="Give a weight for each rank"):
        parse_question({"title": "Chess", "attention": "table", "weights": str(weights)})


def test_questions_from_before_there_was_a_choice_mean_the_usual_attention() -> None:
    assert question_from_json('{"title": "Chess", "keywords": ["chess"]}') == Question(
        "Chess", ("chess",), max_class="FA"
    )
