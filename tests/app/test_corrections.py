"""Regions that people correct for a list: they count in its next version, can be undone, and are never about people."""

from __future__ import annotations

import numpy as np
import pytest
from starlette.testclient import TestClient

from evenrank.app.articles.collection_view import correct_regions, region_dimension
from evenrank.app.fairness.disclosure import disclosure_of
from evenrank.app.lists.work_list import WorkList, load_list
from evenrank.app.pages.corrections import item_address
from evenrank.app.searches.draws import kinds_with_corrections, make_draw
from evenrank.app.searches.saved_search import SavedSearch, load_search
from evenrank.app.settings import WebSettings
from evenrank.app.state import AppState
from evenrank.app.storage.administration import remove_person
from evenrank.app.storage.corrections import Correction, load_corrections, save_correction
from evenrank.trec.collection import Collection
from tests.app.conftest import client_of, posted
from tests.desk_collections import QUESTION

OCEANIA = "Oceania"


def loaded(state: AppState, path: str) -> WorkList:
    found = load_list(state.store, path.rpartition("/")[2])
    assert found is not None
    return found


def correct(client: TestClient, path: str, page_id: int, region: str = OCEANIA, **fields: str) -> int:
    data = {"page_id": str(page_id), "region": region, **fields}
    return client.post(f"{path}/corrections", data=data).status_code


def regions_in(client: TestClient, path: str) -> dict[int, list[str]]:
    return {one["page_id"]: one["regions"] for one in client.get(f"{path}.json").json()["articles"]}


def next_version(client: TestClient, path: str) -> str:
    return posted(client, f"{path}/refresh").removesuffix("/changes")


def page_of(state: AppState, path: str, region: str) -> int:
    """The first article of a list that is about a region alone."""
    [dimension] = [one for one in state.collection.dimensions if one.name == "geography"]
    listed = loaded(state, path).page_ids
    masks = state.collection.masks["geography"][state.collection.rows_of(listed)]
    return int(listed[masks == 1 << dimension.groups.index(region)][0])


def test_a_correction_counts_in_the_next_version_of_this_list_alone(state: AppState, client: TestClient) -> None:
    path, other = posted(client, "/lists", QUESTION), posted(client, "/lists", QUESTION)
    page = page_of(state, path, "Europe")
    assert f'{path}/corrections?page={page}"' in client.get(path).text
    form = client.get(f"{path}/corrections?page={page}").text
    assert "The right region" in form
    assert "The region in the data: Europe" in form
    assert "wikidata.org" not in form  # a synthetic article has no item
    assert correct(client, path, page, note="Born in Fiji") == 303
    assert regions_in(client, path)[page] == ["Europe"]  # a version does not change
    assert "Region corrected" in client.get(path).text
    assert "1 corrected region" in client.get(f"{path}/refresh").text
    html = client.get(f"{path}/corrections").text
    assert "Born in Fiji" in html
    assert "1 correction changes the next version" in html
    made = next_version(client, path)
    assert loaded(state, made).corrections == ((page, OCEANIA),)
    assert regions_in(client, made)[page] == [OCEANIA]
    assert page in {int(one) for one in regions_in(client, f"{made}")}
    assert client.get(f"{made}.json?region=Oceania").json()["articles"]
    assert regions_in(client, other)[page] == ["Europe"]
    assert "changes the next version" not in client.get(f"{made}/corrections").text


def test_the_order_is_that_of_the_corrected_regions(state: AppState, client: TestClient) -> None:
    """What the data say is about Europe, and people say is about Oceania, takes places of Oceania."""
    path = posted(client, "/lists", {**QUESTION, "length": "100"})
    listed = loaded(state, path).page_ids.tolist()
    before = client.get(f"/api{path}/fairness").json()
    for page in listed[:60]:
        assert correct(client, path, page) == 303
    made = next_version(client, path)
    after = client.get(f"/api{made}/fairness").json()

    def share(figures: dict[str, object], region: str) -> float:
        return next(row["share"] for row in figures["dimensions"]["geography"] if row["group"] == region)  # type: ignore[index,call-overload]

    assert share(after, OCEANIA) > share(before, OCEANIA)
    assert loaded(state, made).page_ids.tolist() != listed
    assert client.get(f"{made}/fairness").status_code == 200
    assert client.get(f"{made}/trade-off").status_code == 200
    assert client.get(f"{made}/campaign").status_code == 200
    again = posted(client, f"{made}/again", {"fairness": "3"})
    assert loaded(state, again).corrections == loaded(state, made).corrections
    assert len(load_corrections(state.store, loaded(state, again))) == 60


def test_a_region_can_be_unknown_and_a_correction_undone(state: AppState, client: TestClient) -> None:
    path = posted(client, "/lists", QUESTION)
    page = page_of(state, path, "Europe")
    assert correct(client, path, page, region="") == 303
    made = next_version(client, path)
    assert regions_in(client, made).get(page, ["Unknown"]) == ["Unknown"]
    assert correct(client, made, page, region="Asia", action="undo") == 303
    assert load_corrections(state.store, loaded(state, made)) == []
    assert "Nobody has corrected a region" in client.get(f"{made}/corrections").text
    assert loaded(state, next_version(client, made)).corrections == ()


@pytest.mark.parametrize("region", ["female", "women", "Atlantis", "Unknown", "<script>", "gender=female"])
def test_nothing_but_a_region_is_accepted(state: AppState, client: TestClient, region: str) -> None:
    path = posted(client, "/lists", QUESTION)
    assert correct(client, path, int(loaded(state, path).page_ids[0]), region=region) == 400
    assert load_corrections(state.store, loaded(state, path)) == []
    html = client.get(f"{path}/corrections?page={loaded(state, path).page_ids[0]}").text
    assert "women" not in html
    assert "female" not in html


def test_only_articles_of_the_list_are_corrected(client: TestClient) -> None:
    path = posted(client, "/lists", QUESTION)
    assert correct(client, path, 999_999_999) == 400
    assert "The right region</label>" not in client.get(f"{path}/corrections?page=999999999").text
    assert client.get(f"{path}/corrections?page=x").status_code == 200


def test_roles(state: AppState, client: TestClient) -> None:
    """Whoever has the working link corrects; the correction of somebody else is changed by the owner alone."""
    path = posted(client, "/lists", QUESTION)
    made = loaded(state, path)
    page, reading = int(made.page_ids[0]), f"/lists/{made.reader}"
    worker, stranger = client_of(state), client_of(state)
    assert correct(worker, reading, page) == 403
    assert worker.get(f"{reading}/corrections").status_code == 403
    assert "Wrong region?" not in worker.get(reading).text
    assert correct(worker, path, page, note="<b>Samoa</b> {{x}}") == 303
    assert correct(stranger, path, page, region="Asia") == 400
    assert correct(stranger, path, page, action="undo") == 400
    assert "&lt;b&gt;Samoa&lt;/b&gt;" in client.get(f"{path}/corrections").text
    assert correct(client, path, page, action="undo") == 303
    headers = {"Origin": "https://elsewhere.example", "Sec-Fetch-Site": "cross-site"}
    foreign = client.post(f"{path}/corrections", data={"page_id": str(page), "region": ""}, headers=headers)
    assert foreign.status_code == 403
    assert load_corrections(state.store, made) == []


def test_corrections_choose_the_articles_so_nothing_is_said_about_people(state: AppState, client: TestClient) -> None:
    path = posted(client, "/lists", QUESTION)
    assert not disclosure_of(state, loaded(state, path)).is_chosen_by_reader
    correct(client, path, int(loaded(state, path).page_ids[0]))
    assert disclosure_of(state, loaded(state, next_version(client, path))).is_chosen_by_reader


def test_corrections_go_with_the_list_and_lose_the_name_of_who_left(state: AppState, client: TestClient) -> None:
    path = posted(client, "/lists", QUESTION)
    made = loaded(state, path)
    correct(client, path, int(made.page_ids[0]))
    remove_person(state.store, made.owner)  # which removes the list, too
    assert load_corrections(state.store, made) == []


def searched(state: AppState, path: str) -> SavedSearch:
    found = load_search(state.store, path.rpartition("/")[2])
    assert found is not None
    return found


def share_of_draws(state: AppState, path: str, region: str, n_draws: int) -> float:
    """Attention that new draws give to a region as the corrections have it."""
    dimension = region_dimension(state.collection)
    assert dimension is not None
    given = 0.0
    for at in range(n_draws):
        search = searched(state, path)
        draw = make_draw(state, search, f"editor-{at}-{region}")
        collection = state.collection_of(search)
        masks = collection.masks["geography"][collection.rows_of(draw.page_ids)]
        weights = search.question.weights(len(draw.page_ids))
        given += float(weights[masks == 1 << dimension.groups.index(region)].sum() / weights.sum())
    return given / n_draws


def test_a_correction_of_a_search_counts_in_its_next_draw(state: AppState, client: TestClient) -> None:
    """Sixty articles of Europe are corrected to Oceania. Draws that knew nothing of it would give Oceania two fifths of
    the attention."""
    path, other = posted(client, "/searches", QUESTION), posted(client, "/searches", QUESTION)
    draw = posted(client, f"{path}/draws")
    assert "Wrong region?" in client.get(draw).text
    search, dimension = searched(state, path), region_dimension(state.collection)
    assert dimension is not None
    masks = state.collection.masks["geography"][state.collection.rows_of(search.page_ids)]
    europe = search.page_ids[masks == 1 << dimension.groups.index("Europe")]
    best = europe[np.argsort(-search.relevance[search.places_of(europe)], kind="stable")][:60]
    [first] = [page for page in regions_in(client, draw) if page in best][:1]
    assert f'{path}/corrections?page={first}"' in client.get(draw).text
    form = client.get(f"{path}/corrections?page={first}").text
    assert "The region in the data: Europe" in form
    assert "from the next draw on" in form
    before = share_of_draws(state, path, OCEANIA, 3)
    assert correct(client, path, first, note="In Fiji") == 303
    for page in best.tolist():
        save_correction(state.store, search, Correction(page, OCEANIA, "", "me", "", "2026-01-01 00:00:00"))
    assert regions_in(client, draw)[first] == [OCEANIA]  # the articles of a draw stay, what is said of them does not
    assert "Region corrected" in client.get(draw).text
    assert "60 corrected regions" in client.get(f"{path}/corrections").text
    assert 'aria-current="page">Corrected regions' in client.get(f"{path}/corrections").text
    after = share_of_draws(state, path, OCEANIA, 4)
    assert after < 2 * before < 0.2
    corrected = make_draw(state, searched(state, path), "somebody")
    assert set(best.tolist()) & set(corrected.page_ids.tolist())
    assert regions_in(client, posted(client, f"{other}/draws")).get(first, ["Europe"]) == ["Europe"]
    assert client.get(path).status_code == client.get(f"{path}/fairness").status_code == 200


def test_a_kind_that_the_plan_does_not_know_is_drawn(state: AppState, client: TestClient) -> None:
    path = posted(client, "/searches", QUESTION)
    search = searched(state, path)
    page = int(search.page_ids[np.argmax(search.relevance)])
    correct(client, path, page, region="")
    changed = searched(state, path)
    kinds, rows = kinds_with_corrections(state, changed)
    place = int(search.places_of(np.array([page]))[0])
    assert np.array_equal(np.delete(kinds, place), np.delete(search.kinds, place))
    assert rows[kinds[place]].sum() == pytest.approx(1.0)
    assert len(make_draw(state, changed, "somebody").page_ids) == 50
    assert kinds_with_corrections(state, search)[0].tolist() == search.kinds.tolist()


def test_what_is_corrected_out_of_the_groups_of_a_search_is_not_drawn(state: AppState, client: TestClient) -> None:
    path = posted(client, "/searches", {**QUESTION, "within-geography": "Europe", "dimension-geography": "1"})
    search = searched(state, path)
    draw = make_draw(state, search, "one")
    for page in draw.page_ids[:10].tolist():
        assert correct(client, path, page, region="Asia") == 303
    drawn = make_draw(state, searched(state, path), "another").page_ids
    assert not set(draw.page_ids[:10].tolist()) & set(drawn.tolist())
    assert correct(client, path, int(draw.page_ids[0]), action="undo") == 303
    assert len(load_corrections(state.store, searched(state, path))) == 9


def test_corrections_of_a_search_have_its_roles_and_go_with_it(state: AppState, client: TestClient) -> None:
    path, listed = posted(client, "/searches", QUESTION), posted(client, "/lists", QUESTION)
    made = searched(state, path)
    page, reading, worker = int(made.page_ids[0]), f"/searches/{made.reader}", client_of(state)
    assert correct(worker, reading, page) == 403
    assert worker.get(f"{reading}/corrections").status_code == 403
    assert correct(worker, path, page, region="women") == 400
    assert correct(worker, path, 999_999_999) == 400
    assert correct(worker, path, page) == 303
    assert correct(client_of(state), path, page, region="Asia") == 400
    assert load_corrections(state.store, loaded(state, listed)) == []  # of the same number, maybe, but no search
    assert client.post(f"{path}/manage", data={"action": "delete", "sure": "yes"}).status_code == 303
    assert load_corrections(state.store, made) == []


def test_masks_by_hand(generated: Collection) -> None:
    dimension = region_dimension(generated)
    assert dimension is not None
    pages = generated.page_ids[:3].tolist()
    made = correct_regions(generated, ((pages[0], "Asia"), (pages[1], ""), (2_000_000_000, "Asia")))
    masks = made.masks["geography"]
    assert masks[:2].tolist() == [1 << dimension.groups.index("Asia"), 1]
    assert np.array_equal(masks[2:], generated.masks["geography"][2:])
    assert made.masks["gender"] is generated.masks["gender"]


def test_items_of_wikipedias_are_linked() -> None:
    assert item_address("A b/ü", WebSettings()) == (
        "https://www.wikidata.org/wiki/Special:ItemByTitle/enwiki/A_b/%C3%BC"
    )
    chinese = WebSettings(wiki_site="https://zh-yue.wikipedia.org/")
    assert "/zh_yuewiki/" in item_address("A", chinese)
    assert item_address("A", WebSettings(wiki_site="https://wiki.example/")) == ""
