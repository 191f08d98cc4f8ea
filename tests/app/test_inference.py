"""What visitors could infer about one person where the operator shows totals: filters, settings and comparisons do not
tell which gender it has.

Lists of articles that visitors bring can: those of men and women they know, and of one person more. No threshold
prevents that (`evenrank.core.withheld`), and so servers show no totals unless they are told to; see `tests/privacy`.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from starlette.testclient import TestClient

from evenrank.app.fairness.balance import Balance
from evenrank.app.fairness.comparison import compare_lists, differ_in_few_people
from evenrank.app.lists.work_list import WorkList, load_list
from evenrank.app.request.question import Question
from evenrank.app.state import AppState, LRUCache
from evenrank.core.groups import GroupSpace
from evenrank.trec.dimensions import DIMENSIONS, GENDER
from tests.app.conftest import client_of, posted
from tests.desk_collections import QUESTION

GENDERS = ("female", "male", "third")


@pytest.fixture
def state(opened: AppState) -> AppState:
    """The shared desk, as an operator runs it who shows totals."""
    return replace(opened, settings=replace(opened.settings, shows_totals=True))


def with_gender(state: AppState, page_id: int, gender: str) -> AppState:
    """The same desk in a world where one person has another gender."""
    masks = np.array(state.collection.masks["gender"])
    masks[state.collection.rows_of(np.array([page_id], np.int32))] = GENDER.mask_of(gender)
    collection = replace(state.collection, masks={**state.collection.masks, "gender": masks})
    return replace(state, collection=collection, results=LRUCache(), cell_cache=LRUCache())


def pages_in_all_worlds(state: AppState, page_id: int, path: str) -> set[str]:
    """The different texts that an address has, depending on the gender of one person."""
    return {client_of(with_gender(state, page_id, gender)).get(path).text for gender in GENDERS}


def loaded(state: AppState, path: str) -> WorkList:
    found = load_list(state.store, path.rsplit("/", 1)[1])
    assert found is not None
    return found


def is_person(state: AppState, page_ids: np.ndarray) -> np.ndarray:
    return np.asarray(state.collection.masks["gender"])[state.collection.rows_of(page_ids)] > 1


def first_person(state: AppState, path: str) -> tuple[int, str]:
    """Page and title of the first person on a list."""
    page_ids = loaded(state, path).page_ids
    page_id = int(page_ids[is_person(state, page_ids)][0])
    return page_id, state.collection.titles_of([page_id])[0]


def few_people(state: AppState) -> tuple[int, str]:
    """One person with a region, and a text that brings it and other articles about no person."""
    rows = np.arange(len(state.collection))
    knows_region = np.asarray(state.collection.masks["geography"]) > 1
    is_about_person = np.asarray(state.collection.masks["gender"]) > 1
    person = int(state.collection.page_ids[rows[is_about_person & knows_region][-1]])  # equal matches: the last
    others = state.collection.page_ids[rows[~is_about_person & knows_region][:8]].tolist()
    return person, "\n".join(map(str, [person, *others]))


def figures(html: str) -> list[str]:
    """Every share that a page has in its texts."""
    return re.findall(r"[\d.]+\u00a0%", html)


def test_no_filter_of_a_list_tells_the_gender_of_a_person(state: AppState, client: TestClient, list_path: str) -> None:
    person, title = first_person(state, list_path)
    article = next(one for one in client.get(f"{list_path}.json").json()["articles"] if one["page_id"] == person)
    queries = [f"q={title}", f"class={article['class']}", f"q={title}&sort=title"]
    queries += [f"region={region}" for region in article["regions"] if region != "Unknown"]
    for query in queries:
        assert len(pages_in_all_worlds(state, person, f"{list_path}?{query}")) == 1, query


def test_a_list_of_few_people_counts_no_genders(state: AppState) -> None:
    person, titles = few_people(state)
    seen = set()
    for gender in GENDERS:
        client = client_of(with_gender(state, person, gender))
        path = posted(client, "/lists", {"title": "Own", "text-1": titles, "fairness": "0"})
        fairness = client.get(f"{path}/fairness").text
        shown = [*figures(client.get(path).text), *figures(fairness)]
        assert "Groups of people, such as genders, are not counted." in fairness
        certificate = client.get(f"/api{path}").json()["certificate"]
        assert certificate == client.get(f"/api{path}/fairness").json()["certificate"]
        assert set(certificate) == {"relevance_share"}
        curve = client.get(f"/api{path}/trade-off").json()
        assert {point["awrf"] for point in (curve["here"], *curve["points"])} == {None}
        assert "<polyline" not in client.get(f"{path}/trade-off").text
        assert ">withheld<" in client.get(f"{path}/campaign").text
        seen.add("".join(shown))
    assert len(seen) == 1


def test_a_goal_about_genders_alone_is_withheld_from_few_people(state: AppState, client: TestClient) -> None:
    _, titles = few_people(state)
    path = posted(client, "/lists", {"title": "Own", "text-1": titles, "dimension-gender": "1"})
    assert "Gender alone counts in the goal, so no shares are shown." in client.get(path).text
    fairness = client.get(f"{path}/fairness").text
    assert "How much of the goal is reached is not shown" in fairness
    assert figures(client.get(path).text) == []


def test_draws_of_few_people_count_no_genders(state: AppState) -> None:
    person, titles = few_people(state)
    for gender in GENDERS:
        client = client_of(with_gender(state, person, gender))
        path = posted(client, "/searches", {"title": "Own", "text-1": titles})
        client.post(f"{path}/draws")
        html = client.get(f"{path}/fairness").text
        assert "<polyline" not in html
        assert "EE-L" not in html
        answer = client.get(f"/api{path}").json()
        assert answer["all_draws"]["EE-L"] is None
        assert set(answer["certificate"]) <= {"relevance_share"}
        assert "Groups of people, such as genders, are not counted." in html


def test_many_people_are_counted(client: TestClient, list_path: str, search_path: str) -> None:
    assert "such as genders" not in client.get(list_path).text
    assert "AWRF" in client.get(f"/api{list_path}").json()["certificate"]
    for _ in range(2):
        client.post(f"{search_path}/draws")
    assert client.get(f"/api{search_path}").json()["all_draws"]["EE-L"] > 0
    assert "<polyline" in client.get(f"{search_path}/fairness").text


@pytest.mark.parametrize("group", ["female", "male", "third", "unknown", " Female "])
def test_no_list_can_be_limited_to_a_gender(client: TestClient, group: str) -> None:
    fault = "A list cannot be limited to a group of people"
    answer = client.post("/api/lists", json={"title": "Chess", "within": [f"gender={group}"]})
    assert answer.status_code == 400
    assert fault in answer.json()["detail"]
    for path in ("/lists", "/searches"):
        refused = client.post(path, data={**QUESTION, "within-gender": group})
        assert refused.status_code == 400
        assert fault in refused.text
    assert posted(client, "/lists", {**QUESTION, "within-gender": "known"})


def test_rows_do_not_tell_which_gender_the_only_person_of_a_region_has() -> None:
    space = GroupSpace((DIMENSIONS["geography"], GENDER))
    labels = set()
    for gender in (1, 2, 3):
        counts = np.zeros(space.shape)
        counts[0, 0] = 40  # neither a region nor a biography
        counts[1] = [3, 9, 8, 0]  # a region with enough people to be shown
        counts[2] = [3, 0, 0, 0]  # a region without biographies
        counts[3, gender] = 1  # a region with one person
        shares = counts.reshape(-1) / counts.sum()
        rows = Balance(space, shares, shares, counts.reshape(-1), counts_unknown=True).by_product()
        assert [row.label for row in rows if row.is_hidden] == ["all other combinations"]
        labels.add(tuple(row.label for row in rows))
    (shown,) = labels
    names = DIMENSIONS["geography"].readable_groups
    assert f"{names[1]}: women" not in shown  # from the total, the one of the third region would follow
    assert f"{names[2]}: not a biography, or not recorded" in shown


@pytest.mark.parametrize("goal", ["track", "field", "equal"])
def test_no_table_has_rows_that_depend_on_the_gender_of_one_person(state: AppState, goal: str) -> None:
    person, titles = few_people(state)
    labels = set()
    for gender in GENDERS:
        client = client_of(with_gender(state, person, gender))
        path = posted(client, "/lists", {"title": "Own", "text-1": titles, "goal": goal, "fairness": "0"})
        data = client.get(f"/api{path}/fairness").json()
        tables = [*data["dimensions"].values(), data["together"]]
        labels.add(str([[(row["group"], row["share"] is None) for row in rows] for rows in tables]))
        html = client.get(f"{path}/fairness").text
        assert html.count(">All other combinations<") == 1
    assert len(labels) == 1


def test_the_goal_does_not_tell_the_gender_of_a_person_who_is_not_on_the_list(state: AppState) -> None:
    """The goal follows all candidates, of which a short list leaves the person out."""
    person, titles = few_people(state)
    seen = set()
    for gender in GENDERS:
        client = client_of(with_gender(state, person, gender))
        fields = {"title": "Own", "text-1": titles, "goal": "field", "fairness": "0", "length": "3"}
        path = posted(client, "/lists", fields)
        page_ids = loaded(state, path).page_ids
        assert person not in page_ids.tolist()
        data = client.get(f"/api{path}/fairness").json()
        goals = {row["group"]: row["goal"] for row in data["dimensions"]["gender"]}
        assert goals["women"] is goals["men"] is None
        seen.add(str([data, *figures(client.get(path).text)]))
    assert len(seen) == 1


@pytest.mark.parametrize("n_exchanged, is_told", [(1, False), (4, False), (6, True)])
def test_what_changed_is_not_told_of_few_people(state: AppState, n_exchanged: int, is_told: bool) -> None:
    """Plain search has some women more than the list, and nothing else differs."""
    masks, page_ids = np.asarray(state.collection.masks["gender"]), state.collection.page_ids
    women, men, others = (page_ids[masks == mask] for mask in (GENDER.mask_of("female"), GENDER.mask_of("male"), 1))
    listed = np.concatenate([women[:8], men[:8], others[:n_exchanged]])
    plain = np.concatenate([women[:8], men[:8], women[8 : 8 + n_exchanged]])
    space = state.collection.space()
    question = Question("Any", attention="uniform")
    assert differ_in_few_people(state.collection, compare_lists(plain, listed), listed, space, question) != is_told


def genders_of(client: TestClient, path: str) -> list[dict[str, object]]:
    """Rows of the known genders in the JSON interface."""
    return list(client.get(f"/api{path}/fairness").json()["dimensions"]["gender"][1:])


@pytest.mark.parametrize("attention", [{"attention": "table", "weights": "1"}, {"attention": "rbp:0.1"}])
def test_attention_that_singles_out_a_person_counts_no_genders(state: AppState, attention: dict[str, str]) -> None:
    client = client_of(state)
    for fairness in ("0", "1"):
        path = posted(client, "/lists", {**QUESTION, **attention, "within-gender": "known", "fairness": fairness})
        assert is_person(state, loaded(state, path).page_ids).all()
        assert {row["share"] for row in genders_of(client, path)} == {None}
        assert {row["goal"] for row in genders_of(client, path)} == {None}
        assert set(client.get(f"/api{path}").json()["certificate"]) == {"relevance_share"}
        assert client.get(f"/api{path}/trade-off").json()["here"]["awrf"] is None
        assert "Groups of people, such as genders, are not counted." in client.get(f"{path}/fairness").text


@pytest.mark.parametrize("attention", [{"attention": "table", "weights": "1"}, {"attention": "rbp:0.1"}])
def test_draws_whose_attention_singles_out_a_person_count_no_genders(
    client: TestClient, attention: dict[str, str]
) -> None:
    path = posted(client, "/searches", {**QUESTION, **attention, "within-gender": "known"})
    client.post(f"{path}/draws")
    answer = client.get(f"/api{path}").json()
    assert answer["all_draws"]["EE-L"] is None
    assert {row["share"] for row in answer["all_draws"]["dimensions"]["gender"][1:]} == {None}
    assert "<polyline" not in client.get(path).text


def test_an_even_attention_to_many_people_is_counted(client: TestClient) -> None:
    path = posted(client, "/lists", {**QUESTION, "attention": "rbp:0.9", "within-gender": "known"})
    assert any(row["share"] is not None for row in genders_of(client, path))


def test_figures_for_bots_are_as_exact_as_pages(client: TestClient, list_path: str, search_path: str) -> None:
    """With all its digits, a sum of different weights would tell which ranks it is made of."""
    data = client.get(f"/api{list_path}/fairness").json()
    for row in (*data["dimensions"]["gender"], *data["together"]):
        for value in (row["share"] or 0.0, row["goal"] or 0.0):
            assert value == round(value, 2 if value >= 0.1 else 3)
    certificate = data["certificate"]
    assert all(value == round(value, 2) for name, value in certificate.items() if name != "relevance_share")
    curve = client.get(f"/api{list_path}/trade-off").json()
    assert all(point["awrf"] == round(point["awrf"], 3) for point in (curve["here"], *curve["points"]))
    client.post(f"{search_path}/draws")
    answer = client.get(f"/api{search_path}").json()
    for loss in (answer["all_draws"]["EE-L"], answer["certificate"]["EE-L"]):
        assert loss == round(loss, 3)


def test_no_figure_is_of_the_first_ranks_alone(client: TestClient, list_path: str) -> None:
    for path in (f"/api{list_path}", f"/api{list_path}/fairness"):
        certificate = client.get(path).json()["certificate"]
        assert "AWRF" in certificate
        assert not any("@" in name for name in certificate)
    only_regions = posted(client, "/lists", {**QUESTION, "dimension-geography": "1"})
    assert "AWRF@10" in client.get(f"/api{only_regions}").json()["certificate"]


@pytest.mark.parametrize("n_moved, is_told", [(1, False), (4, False), (16, True)])
def test_what_changed_is_not_told_of_few_people_who_moved(state: AppState, n_moved: int, is_told: bool) -> None:
    """Both lists have the same pages; some women changed places with articles about no person."""
    masks, page_ids = np.asarray(state.collection.masks["gender"]), state.collection.page_ids
    women, men, others = (page_ids[masks == mask] for mask in (GENDER.mask_of("female"), GENDER.mask_of("male"), 1))
    plain = np.concatenate([others[:n_moved], men[:20], women[16:24], women[:n_moved]])
    listed = np.concatenate([women[:n_moved], men[:20], women[16:24], others[:n_moved]])
    space = state.collection.space()
    question = Question("Any", attention="dcg")
    assert differ_in_few_people(state.collection, compare_lists(plain, listed), listed, space, question) != is_told


@pytest.mark.parametrize("n_women, is_shown", [(0, False), (5, True)])
def test_that_all_of_few_people_have_one_gender_is_withheld(state: AppState, n_women: int, is_shown: bool) -> None:
    masks, page_ids = np.asarray(state.collection.masks["gender"]), state.collection.page_ids
    women, men = (page_ids[masks == GENDER.mask_of(gender)] for gender in ("female", "male"))
    people = [*men[:10].tolist(), *women[:n_women].tolist()]
    client = client_of(state)
    path = posted(client, "/lists", {"title": "Own", "text-1": "\n".join(map(str, people)), "best": "FA"})
    assert len(loaded(state, path).page_ids) == len(people)
    shares = [row["share"] for row in genders_of(client, path)]
    assert any(share is not None for share in shares) == is_shown
    assert ("AWRF" in client.get(f"/api{path}").json()["certificate"]) == is_shown


def test_without_biographies_no_combination_is_withheld(state: AppState, client: TestClient) -> None:
    _, titles = few_people(state)
    path = posted(client, "/lists", {"title": "Own", "text-1": titles.partition("\n")[2], "goal": "track"})
    rows = client.get(f"/api{path}/fairness").json()["together"]
    assert rows
    assert all(row["share"] is not None for row in rows)


def test_combinations_are_translated(client: TestClient, list_path: str) -> None:
    html = client.get(f"{list_path}/fairness", headers={"Accept-Language": "de"}).text
    assert re.search(r"<th[^>]*>[^<]*: (Frauen|Männer)</th>", html)
    assert not re.search(r"<th[^>]*>[^<]*: (women|men)</th>", html)
