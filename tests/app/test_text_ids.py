"""The web app on a collection whose page ids are text: lists, draws, marks, exports, sources and judging."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import evenrank
from evenrank.app.articles.article import open_facts, save_facts
from evenrank.app.state import open_state
from evenrank.errors import EvenrankError
from evenrank.trec.assessment.assessors import add_assessor, assign_pages, load_pool
from evenrank.trec.assessment.files import export_qrels
from evenrank.trec.assessment.votes import create_store
from tests.app.conftest import UNLIMITED, client_of
from tests.own_data import import_news, story, write_news

QUESTION = {"title": "Climate", "keywords": ["rain", "storm", "heat"]}
N_STORIES = 120


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> evenrank.Collection:
    folder = tmp_path_factory.mktemp("news")
    write_news(folder, story, N_STORIES)
    return import_news(folder)


@pytest.fixture
def client(news: evenrank.Collection, tmp_path: Path) -> Iterator[TestClient]:
    with client_of(open_state(news.path, replace(UNLIMITED, store=tmp_path / "desk.sqlite"))) as client:
        yield client


def test_a_list_and_its_exports_have_the_text(client: TestClient) -> None:
    made = client.post("/api/lists", json=QUESTION).json()
    shown = client.get(f"/api/lists/{made['token']}").json()
    ids = [article["page_id"] for article in shown["articles"]]
    assert set(ids) <= {story(number) for number in range(1, N_STORIES + 1)}
    assert shown["articles"][0]["url"] == ids[0]
    page = client.get(f"/lists/{made['token']}")
    assert page.status_code == 200
    assert shown["articles"][0]["title"] in page.text
    run = client.get(f"/lists/{made['token']}.run").text.splitlines()
    assert [line.split("\t")[-1] for line in run] == ids
    csv = client.get(f"/lists/{made['token']}.csv").text
    assert all(one in csv for one in ids)
    for form in ("table.wiki", "list.wiki"):
        assert f"[{ids[0]} " in client.get(f"/lists/{made['token']}.{form}").text


def test_draws_and_marks_by_text(client: TestClient) -> None:
    token = client.post("/api/searches", json=QUESTION).json()["token"]
    first = client.post(f"/api/searches/{token}/draws", json={"editor": "Ada"}).json()
    page = first["articles"][0]["page_id"]
    mark = {"page_id": page, "mark": "done", "editor": "Ada"}
    assert client.post(f"/api/searches/{token}/marks", json=mark).json() == {"page_id": page, "mark": "done"}
    second = client.post(f"/api/searches/{token}/draws", json={"editor": "Ada"}).json()
    assert page not in [article["page_id"] for article in second["articles"]]
    for wrong, status in ((7, 400), ("nobody", 404)):
        assert client.post(f"/api/searches/{token}/marks", json={**mark, "page_id": wrong}).status_code == status
    schemas = client.get("/api/openapi.json").json()["components"]["schemas"]
    assert schemas["Article"]["properties"]["page_id"] == {"type": "string"}


def test_people_bring_stories_by_id(client: TestClient) -> None:
    wanted = [story(number) for number in (5, 6, 7)]
    for text in ("\n".join(wanted), "page_id,note\n" + "\n".join(f"{one},x" for one in wanted)):
        question = {**QUESTION, "sources": [{"kind": "titles", "text": text}]}
        made = client.post("/api/lists", json=question)
        assert made.status_code == 201, made.text
        shown = client.get(f"/api/lists/{made.json()['token']}").json()
        assert {article["page_id"] for article in shown["articles"]} <= set(wanted)
        assert shown["articles"]


def test_what_articles_have_is_counted(news: evenrank.Collection, tmp_path: Path) -> None:
    save_facts(news, N_STORIES, n_workers=1, folder=tmp_path)
    facts = open_facts(news, tmp_path)
    assert facts is not None
    assert (facts.counts[:, 0] > 0).all()


def test_a_story_is_judged_on_a_page_that_shows_it(news: evenrank.Collection, tmp_path: Path) -> None:
    run_path = tmp_path / "run.tsv"
    evenrank.write_run(evenrank.oracle_run(news, 1, 0.5).run, run_path)
    pool = evenrank.pool(news, run_path, tiers=["1:2"], topics=[1])
    evenrank.write_pool(tmp_path / "pool.jsonl", pool)
    with create_store(tmp_path / "judgments.sqlite") as store:
        load_pool(store, pool, {1: "climate"})
        secrets = {name: add_assessor(store, name, role) for name, role in (("Ada", "assessor"), ("Olga", "organiser"))}
        assign_pages(store, ["Ada"])
    settings = replace(
        UNLIMITED,
        store=tmp_path / "desk.sqlite",
        judgments=tmp_path / "judgments.sqlite",
        pool=tmp_path / "pool.jsonl",
        runs=(run_path,),
    )
    assert pool.ids is not None
    texts = {entry.page: pool.ids.text(entry.page) for entry in pool.pages}
    with client_of(open_state(news.path, settings)) as client:
        for page in (1, 2):
            address = f"/judge/{secrets['Ada']}/1/{page}"
            shown = client.get(address)
            assert shown.status_code == 200
            assert " story " in shown.text
            assert "no longer in the collection" not in shown.text
            assert client.post(address, data={"answer": "1", "nonce": f"{page}" * 16}).status_code == 303
        assert client.get(f"/organise/{secrets['Olga']}/scores").status_code == 200
    with create_store(tmp_path / "judgments.sqlite") as store:
        export_qrels(store, tmp_path / "qrels")
    assert (tmp_path / "qrels").read_text("utf-8").splitlines() == [f"1 0 {text} 1" for text in sorted(texts.values())]


def test_a_store_of_other_ids_is_refused(news: evenrank.Collection, tmp_path: Path) -> None:
    settings = replace(UNLIMITED, store=tmp_path / "desk.sqlite")
    write_news(tmp_path, lambda number: f"other-{number}", 30)
    other = import_news(tmp_path)
    open_state(other.path, settings).close()  # nothing in it yet: any collection will do
    with client_of(open_state(news.path, settings)) as client:
        assert client.post("/api/lists", json=QUESTION).status_code == 201
    open_state(news.path, settings).close()
    with pytest.raises(EvenrankError, match="its lists are of a collection with other page ids"):
        open_state(other.path, settings)
