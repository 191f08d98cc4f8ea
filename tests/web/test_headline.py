"""What the page of a list says first: the goal reached beside that of plain search, and what the list was made with."""

from __future__ import annotations

from starlette.testclient import TestClient
from tests.desk_collections import QUESTION
from tests.web.conftest import posted

from evenrank.metrics.awrf import awrf
from evenrank.web.desk import Desk
from evenrank.web.fairness.balance import list_exposure
from evenrank.web.lists.work_list import load_list
from evenrank.web.pages.i18n import percent


def test_plain_search_stands_beside_the_goal_reached(client: TestClient, desk: Desk) -> None:
    path = posted(client, "/lists", {**QUESTION, "fairness": "10"})
    kept = load_list(desk.store, path.rpartition("/")[2])
    assert kept is not None
    assert kept.comparison is not None
    model = kept.question.attention_model
    exposure = list_exposure(desk.collection, kept.comparison.plain, desk.space(kept), model)
    plain = percent(awrf(exposure[1:], kept.target[1:]))
    for part in ("", "/fairness"):
        html = client.get(f"{path}{part}").text
        assert f"of the goal reached: how close the attention is to it; plain search: {plain}</span>" in html
    assert "; plain search:" not in client.get(f"{path}?class=Stub").text
    relevance = posted(client, "/lists", {**QUESTION, "policy": "relevance"})
    assert "; plain search:" not in client.get(relevance).text  # it is plain search


def test_shares_say_how_much_attention_they_are_of(client: TestClient) -> None:
    path = posted(client, "/lists", {**QUESTION, "fairness": "10"})
    unknown = client.get(f"/api{path}/fairness").json()["unknown_share"]
    expected = (
        f"{percent(1 - unknown)} of all. The other {percent(unknown)} goes to articles of which no group is known."
    )
    for part in ("", "/fairness"):
        assert expected in client.get(f"{path}{part}").text
