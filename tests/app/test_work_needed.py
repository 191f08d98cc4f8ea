"""Work that people can see: counts as a column, filters, orders and exports; what is not known is never a number."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from evenrank.app.articles.article import ArticleFacts, open_facts, save_facts
from evenrank.app.lists.wiki_counts import save_wiki_counts
from evenrank.app.lists.work_list import load_list, load_wiki_counts
from evenrank.app.state import AppState, LRUCache, open_state
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.indexing import build_index
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import ImportFiles, import_collection
from evenrank.wikipedia.annotate.work_counts import WorkCounts
from evenrank.wikipedia.mediawiki.article_work import WikiFacts
from tests.app.conftest import UNLIMITED, client_of, posted

RIVERS = {"title": "Rivers", "keywords": "river", "fairness": "1", "best": "FA"}
TEXTS = {
    1: "The first river. {{citation needed}} {{cn|date=May 2020}} {{Unreferenced}}",
    2: "The second river.<ref>A</ref> {{citation needed}}\n== Course ==\n[[File:River.jpg|thumb|It]] [[Sea]]",
    3: "The third river.<ref>A</ref><ref>B</ref>\n== Course ==\n[[File:River.jpg|thumb|It]] [[Sea]]",
}


def rivers(folder: Path, texts: dict[int, str], quality: str = "Stub") -> Collection:
    folder.mkdir()
    pages = [
        {"page_id": page, "quality_score": page / 50, "quality_score_disc": quality, "geographic_locations": ["Asia"]}
        for page in texts
    ]
    articles = [{"id": page, "title": f"River {page}", "url": "", "text": text} for page, text in texts.items()]
    for name, records in {"metadata": pages, "corpus": articles}.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    files = ImportFiles(metadata=folder / "metadata.jsonl", corpus=folder / "corpus.jsonl")
    collection = import_collection(folder / "collection", files)
    build_index(collection, FaultLog(), n_threads=1).close()
    save_facts(collection, 100, n_workers=1)
    return Collection.open(folder / "collection")


@pytest.fixture
def state(tmp_path: Path) -> Iterator[AppState]:
    made = open_state(rivers(tmp_path / "rivers", TEXTS).path, replace(UNLIMITED, store=tmp_path / "desk.sqlite"))
    yield made
    made.close()


@pytest.fixture
def client(state: AppState) -> TestClient:
    return client_of(state)


def shown(client: TestClient, path: str, query: str = "") -> list[str]:
    return [article["title"] for article in client.get(f"{path}.json{query}").json()["articles"]]


def test_counts_are_on_the_page_and_in_every_export(client: TestClient) -> None:
    path = posted(client, "/lists", RIVERS)
    html = " ".join(client.get(path).text.split())
    assert "2 citations needed, 1 maintenance template, sections (0), sources (0), images (0), links (0)" in html
    [first] = [one for one in client.get(f"{path}.json").json()["articles"] if one["page_id"] == 1]
    assert first["work"] == {
        "citations_needed": 2,
        "maintenance_templates": 1,
        "sources": 0,
        "images": 0,
        "sections": 0,
    }
    assert first["importance"] is None
    assert first == next(one for one in client.get(f"/api{path}").json()["articles"] if one["page_id"] == 1)
    rows = {row["page_id"]: row for row in csv.DictReader(io.StringIO(client.get(f"{path}.csv").text))}
    assert (rows["1"]["citations_needed"], rows["3"]["sources"], rows["3"]["page_views"]) == ("2", "2", "")
    wikitext = client.get(f"{path}.table.wiki").text
    assert "! Article !! Class !! Size !! Region !! Citations needed !! Maintenance templates !!" in wikitext
    assert "Page views" not in wikitext


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?needs=citations", {"River 1", "River 2"}),
        ("?needs=maintenance", {"River 1"}),
        ("?needs=sources", {"River 1"}),
        ("?needs=sections", {"River 1"}),
        ("?needs=nonsense", {"River 1", "River 2", "River 3"}),
    ],
)
def test_filters(client: TestClient, query: str, found: set[str]) -> None:
    path = posted(client, "/lists", RIVERS)
    assert set(shown(client, path, query)) == found
    draw = posted(client, f"{posted(client, '/searches', RIVERS)}/draws")
    assert set(shown(client, draw, query)) == found
    for title in found:
        assert title in client.get(draw + query).text


def test_orders(client: TestClient) -> None:
    draw = posted(client, f"{posted(client, '/searches', RIVERS)}/draws")
    for path in (posted(client, "/lists", RIVERS), draw):
        assert shown(client, path, "?sort=citations") == ["River 1", "River 2", "River 3"]
        assert shown(client, path, "?sort=sources") == ["River 1", "River 2", "River 3"]
        assert "Most citations needed first" in client.get(path).text
        assert "Most important first" not in client.get(path).text


def test_bots_are_told_which_filters_there_are(client: TestClient) -> None:
    path = posted(client, "/lists", RIVERS)
    assert len(client.get(f"/api{path}?needs=citations").json()["articles"]) == 2
    answer = client.get(f"/api{path}?needs=nonsense")
    assert answer.status_code == 400
    assert "needs must be one of: citations, maintenance, sources" in answer.json()["detail"]


def test_of_plain_text_only_the_length_is_known(tmp_path: Path) -> None:
    collection = rivers(tmp_path / "plain", {page: f"A river, number {page}." for page in (1, 2)})
    facts = open_facts(collection)
    assert facts is not None
    assert not facts.has_markup
    made = open_state(collection.path, replace(UNLIMITED, store=tmp_path / "desk.sqlite"))
    client = client_of(made)
    path = posted(client, "/lists", RIVERS)
    work = client.get(f"{path}.json").json()["articles"][0]["work"]
    assert set(work.values()) == {None}
    assert 'name="needs"' not in client.get(path).text
    assert shown(client, path, "?needs=citations") == []
    made.close()


def test_what_was_not_counted_is_unknown(state: AppState) -> None:
    uncounted = ArticleFacts(np.full((3, len(WorkCounts._fields)), -1, np.int32), np.ones(5))
    client = client_of(replace(state, facts=uncounted, cell_cache=LRUCache()))
    html = client.get(posted(client, "/lists", RIVERS)).text
    assert html.count('<span class="quiet">unknown</span>') == 3


def test_importance_is_that_of_the_banner(state: AppState, client: TestClient) -> None:
    path = posted(client, "/lists", RIVERS)
    brought = '{"reports": [], "importance": {"1": "Low", "2": "Top"}}'
    token = path.rpartition("/")[2]
    with state.store.transaction() as connection:
        connection.execute("UPDATE work_list SET brought = ? WHERE token = ?", (brought, token))
    assert shown(client, path, "?sort=importance") == ["River 2", "River 1", "River 3"]
    assert shown(client, path, "?importance=Top") == ["River 2"]
    assert shown(client, path, "?importance=Unknown") == ["River 3"]
    rows = csv.DictReader(io.StringIO(client.get(f"{path}.csv?sort=importance").text))
    assert [row["importance"] for row in rows] == ["Top", "Low", ""]
    assert "Most important first" in client.get(path).text
    assert "!! Importance !!" in client.get(f"{path}.table.wiki").text


def test_counts_of_the_wiki_replace_those_of_the_corpus(state: AppState, client: TestClient) -> None:
    path = posted(client, "/lists", RIVERS)
    work_list = load_list(state.store, path.rpartition("/")[2])
    assert work_list is not None
    save_wiki_counts(state.store, work_list, {1: WikiFacts(WorkCounts(900, 2, 4, 1, 9, 0, 0))})
    assert load_wiki_counts(state.store, work_list)[1].work.sources == 4
    assert set(shown(client, path, "?needs=citations")) == {"River 2"}
    [first] = [one for one in client.get(f"{path}.json").json()["articles"] if one["page_id"] == 1]
    assert first["work"]["sources"] == 4


def test_page_views_and_importance_of_the_wiki(state: AppState, client: TestClient) -> None:
    """A column, filters and orders once the wiki has said them; what it did not say stays unknown."""
    path = posted(client, "/lists", RIVERS)
    assert ">Views</th>" not in client.get(path).text
    work_list = load_list(state.store, path.rpartition("/")[2])
    assert work_list is not None
    counted = WorkCounts(900, 2, 4, 1, 9, 0, 0)
    said = {1: WikiFacts(counted, 70, "Low"), 2: WikiFacts(counted, 5_000, "Top"), 3: WikiFacts(counted)}
    save_wiki_counts(state.store, work_list, said)
    assert load_wiki_counts(state.store, work_list) == said
    html = client.get(path).text
    assert ">Views</th>" in html
    assert "5,000</td>" in html
    assert shown(client, path, "?sort=views") == ["River 2", "River 1", "River 3"]
    assert shown(client, path, "?views=few") == ["River 1"]
    assert shown(client, path, "?sort=importance") == ["River 2", "River 1", "River 3"]
    assert shown(client, path, "?importance=Top") == ["River 2"]
    rows = {row["page_id"]: row for row in csv.DictReader(io.StringIO(client.get(f"{path}.csv").text))}
    assert [rows[page]["page_views"] for page in "123"] == ["70", "5000", ""]
    assert [rows[page]["importance"] for page in "123"] == ["Low", "Top", ""]
    assert "!! Page views !!" in client.get(f"{path}.table.wiki").text
    again = posted(client, f"{path}/refresh").removesuffix("/changes")  # of whatever version
    assert shown(client, again, "?sort=views")[0] == "River 2"


def test_views_of_the_collection_are_not_mixed_with_those_of_the_wiki(state: AppState) -> None:
    """They are of different times."""
    known = replace(state, collection=replace(state.collection, page_views=np.array([3, 2, -1], np.int64)))
    client = client_of(replace(known, results=LRUCache(), cell_cache=LRUCache()))
    path = posted(client, "/lists", RIVERS)
    work_list = load_list(state.store, path.rpartition("/")[2])
    assert work_list is not None
    save_wiki_counts(state.store, work_list, {2: WikiFacts(WorkCounts(900, 2, 4, 1, 9, 0, 0), 5_000)})
    assert {one["page_id"]: one["page_views"] for one in client.get(f"{path}.json").json()["articles"]} == {
        1: 3,
        2: 2,
        3: None,
    }


def test_counts_that_were_kept_before_views_are_read(state: AppState, client: TestClient) -> None:
    path = posted(client, "/lists", RIVERS)
    work_list = load_list(state.store, path.rpartition("/")[2])
    assert work_list is not None
    with state.store.transaction() as connection:
        row = (work_list.series, 1, "[900,2,4,1,9,0,0]", "2026-01-01 00:00:00")
        connection.execute("INSERT INTO wiki_count (series, page_id, counts, created) VALUES (?, ?, ?, ?)", row)
    assert load_wiki_counts(state.store, work_list) == {1: WikiFacts(WorkCounts(900, 2, 4, 1, 9, 0, 0))}


def test_a_bracket_here_and_there_is_no_wikitext(tmp_path: Path) -> None:
    texts = {page: f"River {page}." for page in range(1, 41)} | {7: "A river [[of links]]."}
    facts = open_facts(rivers(tmp_path / "mostly-plain", texts))
    assert facts is not None
    assert not facts.has_markup


def test_without_a_wiki_nothing_can_be_counted_there(client: TestClient) -> None:
    path = posted(client, "/lists", RIVERS)
    assert f'action="{path}/counts"' not in client.get(path).text
    assert client.post(f"{path}/counts").status_code == 400
