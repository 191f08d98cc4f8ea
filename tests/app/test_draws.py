"""Saved searches: draws that are fair together, stable for ever, and never collide."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html import escape, unescape
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from evenrank.app.articles.candidates import find_for, question_limits
from evenrank.app.articles.on_subject import are_on_subject, least_chance
from evenrank.app.articles.source import Source
from evenrank.app.request.question import Question
from evenrank.app.request.question_form import make_preview, wider_fields
from evenrank.app.searches.draws import NothingLeftError, drawable_candidates, load_draw, make_draw, n_shown_before
from evenrank.app.searches.progress import search_progress
from evenrank.app.searches.saved_search import (
    DrawPool,
    Owed,
    SavedSearch,
    fill,
    load_search,
    make_search,
    save_search,
    set_mark,
    settle_kinds,
)
from evenrank.app.settings import WebSettings
from evenrank.app.state import AppState, open_state
from evenrank.core.exposure import discounts
from evenrank.core.protocol import PAPER_2021
from evenrank.core.records import Run
from evenrank.measures.expected_exposure import ee_loss
from evenrank.policies.optimal import Optimal
from evenrank.ranking.subject import are_articles
from evenrank.scoring.ranked_pages import scored_pages
from evenrank.trec.collection import Collection
from tests.app.conftest import client_of, posted

CHESS = Question("Chess", ("chess", "grandmaster", "pawns"))
SHARED_ROWS = replace(PAPER_2021, normalised="all")
"""The desk shares a page between its groups."""


def saved(state: AppState, question: Question = CHESS) -> SavedSearch:
    token = save_search(state.store, make_search(state, question), "owner")
    search = load_search(state.store, token)
    assert search is not None
    return search


def evaluated_loss(state: AppState, search: SavedSearch, rankings: list[np.ndarray]) -> float:
    """EE-L of rankings against the search's goal, by the evaluator of runs."""
    run = Run.from_rankings("desk", 2, ((1, repeat, pages) for repeat, pages in enumerate(rankings, 1)))
    ranked = scored_pages(run, state.collection, SHARED_ROWS, state.collection.space())[1]
    weights = discounts(50).astype(np.float64)[ranked.ranks]
    exposure = ranked.alignment.total(weights) / len(rankings)
    return ee_loss(exposure, search.target * float(discounts(50).sum()))


@pytest.mark.parametrize("fairness", [0.3, 1.0, 10.0])
def test_a_hundred_draws_reach_the_certificate(state: AppState, fairness: float) -> None:
    state = replace(state, settings=replace(state.settings, shows_totals=True))
    search = saved(state, Question("Chess", ("chess", "pawns"), fairness=fairness))
    rankings = [make_draw(state, search, f"editor {number}").page_ids for number in range(100)]
    loss = evaluated_loss(state, search, rankings)
    assert loss == pytest.approx(search.certificate["EE-L"], rel=0.05)
    progress = search_progress(state, search)
    assert progress is not None
    assert progress.loss == pytest.approx(loss, abs=0.000501)  # rounded as on pages
    assert progress.bounds is not None
    least, limited = progress.bounds
    assert least <= limited <= progress.proven_loss
    least = progress.first_loss * (0.8 if fairness < 1.0 else 1 / 3)  # gently, relevance comes first
    assert progress.loss < least


def test_one_person_sees_no_article_again_before_all_were_shown(state: AppState, client: TestClient) -> None:
    """Five draws of one person have nothing in common; a last one is short, and only then articles come again."""
    search = saved(state)
    n_draws = -(-len(search.page_ids) // state.settings.draw_length)
    drawn = [make_draw(state, search, "one").page_ids for _ in range(n_draws)]
    pages = np.concatenate(drawn)
    assert len(np.unique(pages)) == len(pages) == len(search.page_ids)
    again = make_draw(state, search, "one")
    assert len(again.page_ids) == state.settings.draw_length
    other = make_draw(state, search, "another")
    assert n_shown_before(state.store.connection, search, again) == state.settings.draw_length
    assert n_shown_before(state.store.connection, search, other) == 0
    assert "so they come again" in client.get(f"/searches/{search.token}/draws/{again.number}").text
    assert "so they come again" not in client.get(f"/searches/{search.token}/draws/{other.number}").text


@pytest.mark.parametrize("first_rank", [0, 25])
def test_draws_stay_fair_while_articles_are_marked(state: AppState, first_rank: int) -> None:
    """With the app's own settings: what candidates within reach allow is met, and marks take nothing from it.

    Candidates within reach cannot give every group what the goal asks for, so the loss falls towards the proven one.
    """
    search = saved(state)
    proven = search.certificate["EE-L"]
    rankings: list[np.ndarray] = []
    done: list[int] = []
    for number in range(100):
        rankings.append(make_draw(state, search, f"editor {number}").page_ids)
        assert not np.isin(rankings[-1], done).any()
        if number % 5 == 0:
            done.append(int(rankings[-1][first_rank + number // 5]))
            set_mark(state.store, search, done[-1], "done", "one")
    loss = evaluated_loss(state, search, rankings)
    assert loss <= 1.01 * proven
    assert loss - proven < (evaluated_loss(state, search, rankings[:1]) - proven) / 10
    assert evaluated_loss(state, search, rankings[-20:]) <= 1.05 * proven


def test_draws_reach_a_goal_that_candidates_allow(state: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    """When all candidates are within reach, draws with marks come to a fraction of what the first one misses."""
    monkeypatch.setattr(
        "evenrank.app.searches.saved_search.Optimal",
        lambda fairness, reach: Optimal(fairness=fairness, keep_relevance=0.0, include_above=2.0),
    )
    search = saved(state)
    rankings: list[np.ndarray] = []
    for number in range(100):
        rankings.append(make_draw(state, search, f"editor {number}").page_ids)
        if number % 5 == 0:
            set_mark(state.store, search, int(rankings[-1][number // 5]), "done", "one")
    loss = evaluated_loss(state, search, rankings)
    assert loss < evaluated_loss(state, search, rankings[:1]) / 2
    assert loss <= 1.05 * search.certificate["EE-L"]


def test_draws_keep_to_candidates_within_reach(state: AppState) -> None:
    """Draws of a hundred editors are about as relevant as the plan says; what is done makes room for its own kind."""
    search = saved(state)
    n_pages = int(search.certificate["n_within_reach"])
    assert n_pages < len(search.page_ids)
    reached = search.page_ids[np.argsort(-search.relevance, kind="stable")[:n_pages]]
    rankings = np.array([make_draw(state, search, f"editor {number}").page_ids for number in range(20)])
    assert np.isin(rankings, reached).all()
    relevance = search.relevance[search.places_of(rankings.reshape(-1))].mean()
    assert relevance > 0.7 * search.certificate["expected_precision"]
    is_free = np.ones(len(search.page_ids), np.bool_)
    before = drawable_candidates(search, is_free, search.relevance)
    assert sorted(search.page_ids[before]) == sorted(reached)
    gone = search.places_of(reached[:1])
    is_free[gone] = False
    after = drawable_candidates(search, is_free, search.relevance)
    come = np.flatnonzero(after & ~before)
    assert not after[gone].any()
    assert len(come) <= 1
    assert (search.kinds[come] == search.kinds[gone]).all()


@pytest.mark.parametrize("seed", range(3))
def test_draws_leave_out_what_is_marked_whoever_draws(state: AppState, seed: int) -> None:
    rng = np.random.default_rng(seed)
    search = saved(state)
    for_all: set[int] = set()
    unwanted: dict[str, set[int]] = {"one": set(), "two": set()}
    for _ in range(40):
        editor = str(rng.choice(["one", "two"]))
        pages = make_draw(state, search, editor).page_ids.tolist()
        assert not (for_all | unwanted[editor]) & set(pages)
        for page in pages[: rng.integers(12)]:
            kind = str(rng.choice(["done", "off-topic", "not-for-me"]))
            set_mark(state.store, search, page, kind, editor)
            (unwanted[editor] if kind == "not-for-me" else for_all).add(page)


def test_the_last_article_of_a_scarce_kind_moves_up_until_the_plan_is_met() -> None:
    weights = np.array([1.0, 0.5, 0.5])
    goal = np.array([1.0, 1.0])
    wanted = np.array([0, 1, 1], np.uint16)
    as_planned = Owed(goal, 0.0, np.eye(2), weights)
    assert settle_kinds(wanted, {0: 5, 1: 5}, as_planned).tolist() == [0, 1, 1]
    assert settle_kinds(wanted, {0: 5, 1: 1}, as_planned).tolist() == [1, 0, 0]
    assert settle_kinds(wanted, {0: 5, 1: 1}, replace(as_planned, planned=0.5)).tolist() == [0, 1, 0]


def test_a_kind_that_ran_out_is_replaced_by_the_one_to_which_most_is_owed() -> None:
    owed = Owed(np.array([1.0, 3.0, 2.0]), np.inf, np.eye(3), np.ones(3))
    wanted = np.array([0, 0, 0], np.uint16)
    assert settle_kinds(wanted, {0: 1, 1: 5, 2: 5}, owed).tolist() == [0, 1, 1]
    assert settle_kinds(wanted, {0: 1, 1: 1, 2: 5}, owed).tolist() == [0, 1, 2]
    assert settle_kinds(wanted, {0: 1, 1: 1}, owed).tolist() == [0, 1]


def test_draws_bring_new_articles(state: AppState) -> None:
    search = saved(state)
    rankings = [make_draw(state, search, "one").page_ids for _ in range(10)]
    assert all(len(set(pages.tolist())) == 50 for pages in rankings)
    n_new = len(np.unique(np.concatenate(rankings)))  # of ten draws, more than half of what is within reach
    assert n_new > max(2.5 * search.relevance.sum(), 0.5 * search.certificate["n_within_reach"])


def test_articles_that_need_more_work_come_first(state: AppState) -> None:
    search = saved(state)
    rankings = [make_draw(state, search, f"editor {number}").page_ids for number in range(20)]
    quality = state.collection.quality_score[state.collection.rows_of(np.array(rankings).reshape(-1))].reshape(20, 50)
    assert np.nanmean(quality[:, :10]) < np.nanmean(quality[:, -10:]) - 0.15  # of some articles it is unknown
    reached = search.page_ids[drawable_candidates(search, np.ones(len(search.page_ids), np.bool_), search.relevance)]
    assert np.nanmean(quality) < np.nanmean(state.collection.quality_score[state.collection.rows_of(reached)])


def test_the_relevance_floor_is_on_by_default(generated: Collection, tmp_path: Path) -> None:
    """Only pages that are likely about the subject and match well beside the best one are candidates, however few."""
    settings = WebSettings(store=tmp_path / "floor.sqlite")
    assert settings.relevance_floor == 0.15
    state = open_state(generated.path, settings)
    question = Question("Chess", ("chess", "pawns", "players", "game"))
    found = state.learned().source.find(question.topic())
    near = found.scores >= 0.15 * found.scores.max()
    shares = found.scores / found.scores.max()
    engine = state.source.model().engine
    chances = are_on_subject(engine, question.topic(), found.page_ids, np.where(near, shares, 0.0))
    within = np.logical_and.reduce(list(question_limits(state, question, found.page_ids, None).values()))
    kept = near & within & (chances >= least_chance(chances[within], is_broad=False))
    assert set(find_for(state, question, 2).candidates.page_ids.tolist()) == set(found.page_ids[kept].tolist())
    search = make_search(state, question)
    assert 0 < len(search.page_ids) <= kept.sum() < len(found)
    drawn = make_draw(state, load_search(state.store, save_search(state.store, search, "an editor")), "an editor")  # type: ignore[arg-type]
    assert len(drawn.page_ids) == min(settings.draw_length, len(search.page_ids))
    unlimited = open_state(generated.path, replace(settings, relevance_floor=0.0, store=tmp_path / "none.sqlite"))
    assert len(search.page_ids) < len(make_search(unlimited, question).page_ids)
    unlimited.close()
    state.close()


def test_pages_that_tell_meanings_apart_are_not_worked_on() -> None:
    titles = ["Yobe (disambiguation)", "Merkur (Begriffsklärung)", "Paris (homonymie)", "Yobe State", "Disambiguation"]
    assert are_articles(titles).tolist() == [False, False, False, True, True]


def test_a_draw_link_shows_the_same_list_for_ever(state: AppState, client: TestClient, search_path: str) -> None:
    draw = posted(client, f"{search_path}/draws")
    before = client.get(f"{draw}.json").json()["articles"]
    page_id = before[3]["page_id"]
    client.post(f"{search_path}/marks", data={"page_id": page_id, "mark": "done", "draw": "1"})
    posted(client, f"{search_path}/draws")
    assert client.get(f"{draw}.json").json()["articles"] == before
    again = open_state(state.collection.path, state.settings)
    assert client_of(again).get(f"{draw}.json").json()["articles"] == before
    again.close()


def test_draws_depend_on_secret_search_and_number_only(generated, state: AppState, tmp_path: Path) -> None:
    """The search is the same one: another one of the same question has a plan of its own."""
    made = make_search(state, CHESS)

    def first_draws(name: str, secret: str) -> list[list[int]]:
        state = open_state(generated.path, WebSettings(store=tmp_path / name, relevance_floor=0.0))
        with state.store.transaction() as connection:
            connection.execute("UPDATE setting SET value = ? WHERE name = 'secret'", (secret,))
            connection.execute("DELETE FROM saved_search")
        save_search(state.store, made, "owner")
        with state.store.transaction() as connection:
            connection.execute("UPDATE saved_search SET token = 'same'")
        search = load_search(state.store, "same")
        assert search is not None
        pages = [make_draw(state, search, "one").page_ids.tolist() for _ in range(2)]
        state.close()
        return pages

    one = first_draws("a", "ab" * 32)
    assert first_draws("b", "ab" * 32) == one
    assert first_draws("c", "cd" * 32) != one
    assert one[0] != one[1]


def test_editors_who_draw_at_once_never_collide(state: AppState) -> None:
    search = saved(state)

    def draw_some(editor: int) -> list[int]:
        return [make_draw(state, search, f"editor {editor}").number for _ in range(10)]

    with ThreadPoolExecutor(8) as pool:
        numbers = sorted(number for found in pool.map(draw_some, range(8)) for number in found)
    assert numbers == list(range(1, 81))
    assert all(load_draw(state.store.connection, search, number) is not None for number in numbers)


def test_processes_that_draw_at_once_never_collide(state: AppState) -> None:
    """Two desks on one file stand for two processes: they share nothing but the file."""
    search = saved(state)
    other = open_state(state.collection.path, state.settings)

    def draw_some(which: AppState) -> list[int]:
        return [make_draw(which, search, "one").number for _ in range(15)]

    with ThreadPoolExecutor(2) as pool:
        numbers = [number for found in pool.map(draw_some, [state, other]) for number in found]
    other.close()
    assert sorted(numbers) == list(range(1, 31))


def test_done_is_for_all_and_not_for_me_is_mine(state: AppState) -> None:
    search = saved(state)
    done, unwanted = (int(page) for page in make_draw(state, search, "one").page_ids[:2])
    set_mark(state.store, search, done, "done", "one")
    set_mark(state.store, search, unwanted, "not-for-me", "one")
    mine = np.concatenate([make_draw(state, search, "one").page_ids for _ in range(30)])
    others = np.concatenate([make_draw(state, search, "two").page_ids for _ in range(60)])
    assert done not in mine
    assert unwanted not in mine
    assert done not in others
    assert unwanted in others
    set_mark(state.store, search, unwanted, "none", "one")
    assert unwanted in np.concatenate([make_draw(state, search, "one").page_ids for _ in range(60)])


def test_when_all_is_done_nothing_is_drawn_and_no_number_is_lost(state: AppState) -> None:
    search = saved(state)
    with state.store.transaction() as connection:
        rows = [(search.number, int(page), "one", "done", "now") for page in search.page_ids[1:]]
        connection.executemany("INSERT INTO mark VALUES (?, ?, ?, ?, ?, '')", rows)
    assert make_draw(state, search, "two").page_ids.tolist() == [int(search.page_ids[0])]
    set_mark(state.store, search, int(search.page_ids[0]), "done", "two")
    with pytest.raises(NothingLeftError):
        make_draw(state, search, "two")
    again = load_search(state.store, search.token)
    assert again is not None
    assert again.n_draws == 1


def test_marking_works_with_and_without_script(client: TestClient, search_path: str) -> None:
    draw = posted(client, f"{search_path}/draws")
    page_id = client.get(f"{draw}.json").json()["articles"][0]["page_id"]
    fields = {"page_id": str(page_id), "mark": "done", "draw": "1"}
    assert posted(client, f"{search_path}/marks", fields) == f"{draw}#page-{page_id}"
    part = client.post(f"{search_path}/marks", data={**fields, "mark": "none"}, headers={"HX-Request": "true"})
    assert part.status_code == 200
    assert 'value="done"' in part.text
    assert 'data-said="Undone"' in part.text
    assert "<html" not in part.text


@pytest.mark.parametrize(
    "fields",
    [
        {"page_id": "1", "mark": "done", "draw": "1"},
        {"page_id": "x", "mark": "done", "draw": "1"},
        {"mark": "done"},
        {"page_id": "1", "mark": "loved", "draw": "1"},
    ],
)
def test_marks_that_make_no_sense_are_refused(client: TestClient, search_path: str, fields: dict[str, str]) -> None:
    assert client.post(f"{search_path}/marks", data=fields).status_code == 400


def test_a_draw_that_was_not_made_is_not_found(client: TestClient, search_path: str) -> None:
    assert client.get(f"{search_path}/draws/1").status_code == 404
    assert client.get(f"{search_path}/draws/99999999999999999999").status_code == 404


def test_the_search_page_shows_the_sum_of_all_draws(client: TestClient, search_path: str) -> None:
    assert "Nothing was drawn yet" in client.get(search_path).text
    for _ in range(3):
        posted(client, f"{search_path}/draws")
    html = client.get(search_path).text
    assert "3 draws so far, " in html
    assert "all draws" in html
    fairness = client.get(f"{search_path}/fairness").text
    assert "How fair are all draws together?" in fairness
    assert "Distance from the goal after each draw" in fairness
    assert f"{search_path}/draws/3" in html


def test_one_draw_has_no_chart(client: TestClient, search_path: str) -> None:
    assert "Nothing was drawn yet" in client.get(f"{search_path}/fairness").text
    posted(client, f"{search_path}/draws")
    html = client.get(f"{search_path}/fairness").text
    assert "Share of the attention: Region" in html
    assert "Distance from the goal after each draw" not in html


@given(data=st.data())
def test_fill_keeps_to_the_plan_while_articles_last(data: st.DataObject) -> None:
    kinds = np.array(data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=30)), np.uint16)
    wanted = np.array(data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=12)), np.uint16)
    is_free = np.array(data.draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds))))
    work = np.linspace(0.0, 1.0, len(kinds))
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    owed = Owed(np.ones(4), np.inf, np.eye(4), discounts(len(wanted)).astype(np.float64))
    chosen = fill(wanted, DrawPool(kinds, np.ones(len(kinds)), work, is_free), owed, rng)
    assert len(set(chosen.tolist())) == len(chosen) == min(len(wanted), int(is_free.sum()))
    assert is_free[chosen].all()
    lasts = all((kinds[is_free] == kind).sum() >= (wanted == kind).sum() for kind in np.unique(wanted))
    if lasts:
        assert (kinds[chosen] == wanted).all()
        for kind in np.unique(wanted):
            needs = work[chosen[kinds[chosen] == kind]]
            assert (np.diff(needs) <= 0).all()


def test_a_draw_says_that_its_articles_come_again(state: AppState, client: TestClient) -> None:
    question = replace(CHESS, within=("geography=Oceania",))
    search = make_search(state, question)
    path = f"/searches/{save_search(state.store, search, '')}"
    few = f"The search has {len(search.page_ids)} articles. Nobody is shown one again before having seen all of them."
    assert len(search.page_ids) < 200
    assert few in client.get(path).text
    posted(client, f"{path}/draws")
    assert "so they come again" not in client.get(f"{path}/draws/1").text
    posted(client, f"{path}/draws")
    html = client.get(f"{path}/draws/2").text
    assert "You have been shown every article of this search that is not marked, so they come again." in html
    wider = re.search(r'href="(/searches/new\?[^"]*)">Save a wider search', html)
    assert wider is not None
    form = client.get(unescape(wider[1]))
    seen = state.collection.titles_of(search.page_ids.tolist())
    assert (form.status_code, all(escape(title) in form.text for title in seen)) == (200, True)


def test_a_wider_search_has_no_limits_and_finds_other_articles(state: AppState) -> None:
    asked = replace(CHESS, within=("geography=Oceania",), max_class="Start", min_size=100)
    search = make_search(state, asked)
    search = replace(search, token=save_search(state.store, search, ""))
    wider = make_search(state, state.parse_question(wider_fields(state, search)))
    assert len(wider.page_ids) > len(search.page_ids)
    assert not np.isin(wider.page_ids, search.page_ids).any()
    preview = make_preview(state, wider_fields(state, search))
    assert preview is not None
    assert not {article.page_id for article in preview.articles} & set(search.page_ids.tolist())
    assert (wider.question.within, wider.question.max_class, wider.question.min_size) == ((), "FA", 0)
    brought = tuple(Source("titles", "Chess", role) for role in ("in", "not"))
    assert [source.role for source in replace(asked, sources=brought).widened().sources] == ["not"]
    alone = replace(asked, keywords=())
    assert alone.widened() == replace(wider.question, keywords=(), sources=())
    assert replace(alone, sources=brought).widened() == replace(wider.question, keywords=(), sources=brought)
