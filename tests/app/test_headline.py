"""What the page of a list says first: the goal reached beside that of plain search, and what the list was made with."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from starlette.testclient import TestClient

from evenrank.app.fairness.balance import Balance, closeness_range, list_exposure
from evenrank.app.fairness.share_bars import LEAST_GAP, ShareBars, share_bars
from evenrank.app.lists.work_list import load_list
from evenrank.app.pages.i18n import percent
from evenrank.app.pages.templating import environment
from evenrank.app.request.choices import conditions
from evenrank.app.request.question import Question
from evenrank.app.state import AppState
from evenrank.core.groups import GroupSpace
from evenrank.measures.awrf import awrf
from evenrank.trec.dimensions import DIMENSIONS
from tests.app.conftest import posted
from tests.desk_collections import QUESTION


def test_the_sentence_says_what_search_list_and_goal_give(client: TestClient, state: AppState) -> None:
    path = posted(client, "/lists", {**QUESTION, "fairness": "10"})
    kept = load_list(state.store, path.rpartition("/")[2])
    assert kept is not None
    assert kept.comparison is not None
    space = state.space(kept)
    plain, listed, goal = (
        values / values.sum()
        for values in (
            space.margin(mass, "geography")[1:]
            for mass in (
                list_exposure(state.collection, kept.comparison.plain, space, kept.question),
                list_exposure(state.collection, kept.page_ids, space, kept.question),
                kept.target,
            )
        )
    )
    wanting = [at for at in np.argsort(plain - goal)[:3] if goal[at] - plain[at] >= LEAST_GAP]
    assert wanting
    expected = (
        f"{percent(listed[wanting].sum())} of the attention</strong>; "
        f"plain search gives {percent(plain[wanting].sum())}, and the goal is {percent(goal[wanting].sum())}."
    )
    for part in ("", "/fairness"):
        assert expected in client.get(f"{path}{part}").text
    fairness = client.get(f"{path}/fairness").text
    assert "Depending on what it is there, between" in fairness
    assert f"; plain search: {percent(awrf(plain, goal))}" in fairness
    unfair = posted(client, "/lists", {**QUESTION, "fairness": "0"})
    assert "This is plain search, without fairness." in client.get(unfair).text
    assert made_with(client, unfair).startswith("Goal: What fits your subject · Strength: No fairness ·")


def test_pages_say_how_much_is_known(client: TestClient) -> None:
    path = posted(client, "/lists", {**QUESTION, "fairness": "10"})
    unknown = client.get(f"/api{path}/fairness").json()["unknown_share"]
    for part in ("", "/fairness"):
        assert f"Region: known for {percent(1 - unknown)} of the attention." in client.get(f"{path}{part}").text


def bars_of(exposure: list[float], plain: list[float] | None = None) -> ShareBars:
    """The bars of a list whose attention goes to the unknown, Africa, Antarctica and Asia like that."""
    dimension = replace(
        DIMENSIONS["geography"],
        groups=("Unknown", "Africa", "Antarctica", "Asia"),
        background=(0.2, 0.0, 0.8),
        group_labels=(),
    )
    goal = np.array([0.0, 0.4, 0.0, 0.6])
    listed, before = (
        None if values is None else Balance(GroupSpace((dimension,)), np.array(values), goal, np.ones(4), False)
        for values in (exposure, plain)
    )
    assert listed is not None
    (bars,) = share_bars(listed, before)
    return bars


def test_shares_are_of_what_is_known() -> None:
    bars = bars_of([0.4, 0.15, 0.0, 0.45], [0.5, 0.05, 0.0, 0.45])
    assert bars.known == pytest.approx(0.6)
    assert [(group.label, group.tone) for group in bars.groups] == [("Africa", 1), ("Asia", 3)]
    assert [round(group.listed, 9) for group in bars.groups] == [0.25, 0.75]
    assert [group.label for group in bars.wanting] == ["Africa"]
    assert bars.is_mostly_known


def test_groups_without_articles_do_not_share_in_what_others_get(client: TestClient) -> None:
    """Asia gets nothing, so the sentence is not about Asia and Africa together, and says so."""
    page = environment().from_string(
        '{% from "macros.html" import fair_sentence with context %}{{ fair_sentence(bars, false) | striptags }}'
    )
    told = page.render(bars=bars_of([0.3, 0.7, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0])).replace("\u00a0", " ")
    assert "Asia: no article here is known to belong there; the goal is 60 %." in told
    assert "Plain search" not in told
    some = page.render(bars=bars_of([0.3, 0.2, 0.0, 0.5], [0.6, 0.0, 0.0, 0.4])).replace("\u00a0", " ")
    assert "Africa gets 29 % of the attention; plain search gives 0 %, and the goal is 40 %." in some
    assert "no article here" not in some


def test_nothing_is_said_with_confidence_of_what_is_hardly_known(client: TestClient) -> None:
    assert not bars_of([0.6, 0.1, 0.0, 0.3]).is_mostly_known
    page = environment().from_string(
        '{% from "macros.html" import fair_sentence with context %}{{ fair_sentence(bars, false) }}'
    )
    told = page.render(bars=bars_of([0.89, 0.01, 0.0, 0.1], [0.9, 0.0, 0.0, 0.1]))
    assert re.findall(r"\d+\u00a0%", told) == ["11\u00a0%"]
    assert "too little to say how fair this is" in told


def test_no_page_says_how_near_the_goal_is_where_regions_are_hardly_known(client: TestClient, state: AppState) -> None:
    is_known = np.asarray(state.collection.masks["geography"]) > 1
    pages = [state.collection.page_ids[np.flatnonzero(some)[:n]] for some, n in ((~is_known, 30), (is_known, 3))]
    titles = "\n".join(state.collection.titles_of(np.concatenate(pages).tolist()))
    asked = {"title": "Our worklist", "kind-1": "titles", "role-1": "in", "text-1": titles, "best": "FA"}
    brought, found = posted(client, "/lists", asked), posted(client, "/lists", QUESTION)
    curve, progress = (client.get(f"{brought}/{part}").text for part in ("trade-off", "campaign"))
    assert "too little to say how fair this is" in curve
    assert "Goal reached" not in curve
    assert "<figure>" not in curve
    assert "too little is known" in progress
    curve, progress = (client.get(f"{found}/{part}").text for part in ("trade-off", "campaign"))
    assert "Goal reached" in curve
    assert re.search(r"Region: known for \d+\u00a0% of the attention\.", curve)
    assert "too little is known" not in progress


def made_with(client: TestClient, path: str, language: str = "en") -> str:
    """The line that says what a list was made with."""
    html = client.get(path, headers={"Accept-Language": language}).text
    (line,) = re.findall(r'<p class="quiet">([^<]*Stub[^<]*)</p>', html)
    return line.replace("\u00a0", " ")


def test_a_list_says_what_it_was_made_with(client: TestClient, list_path: str, search_path: str) -> None:
    usual = "Goal: What fits your subject · Strength: Even · Classes: Stub to B"
    for path in (list_path, f"{list_path}/fairness", search_path):
        assert made_with(client, path) == usual
    german = "Ziel: Was zu deinem Thema passt · Stärke: Ausgeglichen · Klassen: Stub bis B"
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
        "Goal: Like your subject · Strength: 2.5 · Groups that count: Region · Only: Europe, Biographies · "
        "Classes: Stub · Size: 100 B to 20,000 B · Maximum number of articles: 200"
    )
    path = posted(client, "/lists", {**QUESTION, "policy": "relevance", "min_size": "100"})
    assert made_with(client, path) == (
        "Goal: What fits your subject · How to rank: Relevance only · Classes: Stub to B · Size: at least 100 B"
    )


def test_restrictions_are_put_in_words_without_naming_a_group_of_people() -> None:
    """Lists that were limited to a gender before that was refused."""
    question = Question("x", within=("geography=known", "geography=asia", "gender=female"), importance=("Top", "Mid"))
    found = dict(conditions(replace(question, max_views=5000), DIMENSIONS))
    assert found["Only"] == "Region known, Asia, Biographies"
    assert found["Importance"] == "Top, Mid"
    assert found["Page views"] == "at most 5,000"


def test_the_range_of_the_goal_reached_depends_on_no_gender(state: AppState) -> None:
    """Half of the attention goes to unknown regions: genders may be anything, the range stays."""
    space = state.collection.space("geography,gender")
    shares = np.zeros(space.shape)
    shares[0], shares[1], shares[3] = [0.2, 0.1, 0.2, 0.0], [0.1, 0.1, 0.1, 0.0], [0.2, 0.0, 0.0, 0.0]
    goal = np.full(space.n_groups, 1.0 / space.n_groups)
    found = closeness_range(Balance(space, shares.reshape(-1), goal, shares.reshape(-1), counts_unknown=False))
    assert found is not None
    assert found.unknown_share == pytest.approx(0.5)
    assert found.low < found.high
    assert not found.is_complete
    other = shares[:, ::-1].copy()
    assert closeness_range(Balance(space, other.reshape(-1), goal, shares.reshape(-1), counts_unknown=False)) == found
    known = np.where(np.arange(8)[:, None] == 0, 0.0, shares)
    assert closeness_range(Balance(space, known.reshape(-1), goal, shares.reshape(-1), counts_unknown=False)) is None
