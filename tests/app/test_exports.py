"""Exports: every format, and nothing in a title or keyword that could become markup or a formula."""

from __future__ import annotations

import csv
import html
import io
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import mwparserfromhell
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from evenrank.app.articles.article import ListedArticle
from evenrank.app.exports.formats import FORMATS
from evenrank.app.exports.listing import Listing, escape_plain, external, link, sortable_table
from evenrank.app.exports.publishing import UPDATED
from evenrank.app.pages.i18n import percent
from evenrank.app.state import AppState
from evenrank.cli.publish import command as publish
from evenrank.errors import EvenrankError
from evenrank.io.runs import read_run
from evenrank.scoring.evaluate import evaluate
from tests.app.conftest import client_of, posted
from tests.desk_collections import HOSTILE_TITLES, QUESTION

RIVERS = {"title": "Rivers <b>{{x}}</b> | [[y]]", "keywords": "river, rivers, =1+1, <i>"}


@pytest.mark.parametrize("suffix", list(FORMATS))
def test_every_list_and_draw_has_every_format(
    client: TestClient, list_path: str, search_path: str, suffix: str
) -> None:
    draw = posted(client, f"{search_path}/draws")
    for path in (list_path, draw):
        answer = client.get(f"{path}.{suffix}")
        assert answer.status_code == 200
        assert answer.headers["content-type"].endswith("; charset=utf-8")
        assert len(answer.text.splitlines()) >= 50
        assert f"{path}.{suffix}" in client.get(path).text


def test_formats_agree(client: TestClient, list_path: str, tmp_path: Path) -> None:
    articles = client.get(f"{list_path}.json").json()["articles"]
    titles = [article["title"] for article in articles]
    ids = [article["page_id"] for article in articles]
    assert client.get(f"{list_path}.txt").text.splitlines() == titles
    rows = list(csv.DictReader(io.StringIO(client.get(f"{list_path}.csv").text)))
    assert [int(row["page_id"]) for row in rows] == ids
    tsv = [line.split("\t") for line in client.get(f"{list_path}.tsv").text.splitlines()]
    assert [int(line[1]) for line in tsv[1:]] == ids
    (tmp_path / "list.run").write_text(client.get(f"{list_path}.run").text)
    assert read_run(tmp_path / "list.run").pages.tolist() == ids
    assert client.get(f"{list_path}.list.wiki").text.count("\n# [[:") == 1000
    assert client.get(f"{list_path}.table.wiki").text.count("\n|-\n") == 1000


def urls_of(client: TestClient) -> list[set[str]]:
    """The addresses of articles in every format that has them, and in the JSON interface."""
    work_list, search = posted(client, "/lists", QUESTION), posted(client, "/searches", QUESTION)
    draw = posted(client, f"{search}/draws")
    urls = []
    for path in (work_list, draw):
        urls.append({article["url"] for article in client.get(f"{path}.json").json()["articles"]})
        for suffix, delimiter in {"csv": ",", "tsv": "\t"}.items():
            rows = csv.DictReader(io.StringIO(client.get(f"{path}.{suffix}").text), delimiter=delimiter)
            urls.append({row["url"] for row in rows})
        urls.append({article["url"] for article in client.get(f"/api{path}").json()["articles"]})
    return urls


def test_articles_have_the_addresses_that_pages_lead_to(state: AppState) -> None:
    """Those of a generated collection are on no wiki, and have none unless a wiki is named."""
    assert urls_of(client_of(state)) == [{""}] * 8
    settings = replace(state.settings, wiki_url="https://wiki.example/wiki/")
    for urls in urls_of(client_of(replace(state, settings=settings))):
        assert len(urls) >= 50
        assert all(url.startswith("https://wiki.example/wiki/") for url in urls)


def test_a_draw_is_a_task_2_run(client: TestClient, search_path: str, tmp_path: Path) -> None:
    posted(client, f"{search_path}/draws")
    draw = posted(client, f"{search_path}/draws")
    (tmp_path / "draw.run").write_text(client.get(f"{draw}.run").text)
    run = read_run(tmp_path / "draw.run")
    assert run.task == 2
    assert run.repeats.tolist() == [2]
    assert len(run.pages) == 50


def test_no_run_is_taken_for_a_topic_of_the_collection(client: TestClient, state: AppState, tmp_path: Path) -> None:
    """Lists are topics above the collection's, each its own, so that no other subject's judgments score them."""
    found: list[int] = []
    for number in range(2):
        made = posted(client, "/lists", {**QUESTION, "title": f"History {number}"})
        draw = posted(client, f"{posted(client, '/searches', QUESTION)}/draws")
        for path in (made, draw):
            (tmp_path / "made.run").write_text(client.get(f"{path}.run").text)
            found += read_run(tmp_path / "made.run").topic_ids.tolist()
    first = max(state.collection.topic_by_id) + 1
    assert min(found) >= first
    assert found[2:] == [found[0] + 1, found[1] + 1]
    with pytest.raises(EvenrankError, match=f"nothing to score: topics not in the collection, left out: {found[-1]}"):
        evaluate(state.collection, tmp_path / "made.run")


def test_wikitext_says_when_and_how_to_make_it_anew(client: TestClient, list_path: str) -> None:
    for suffix in ("list.wiki", "table.wiki"):
        text = client.get(f"{list_path}.{suffix}").text
        assert re.search(r"Last updated \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", text)
        token = list_path.rpartition("/")[2]
        assert token not in text.replace("%5F", "_")  # what is published can only read
        [reader] = set(re.findall(r"\[http://localhost/lists/(\S+)/refresh regenerate\]", text.replace("%5F", "_")))
        assert f"[http://localhost/lists/new?from={reader} edit the query]" in text.replace("%5F", "_")
        assert client.get(f"/lists/{reader}").status_code == 200


def test_what_is_published_explains_itself(client: TestClient) -> None:
    """How fair it is, of how much that is known, how old the data are, and why each article is listed."""
    path = posted(client, "/lists", {**QUESTION, "fairness": "10"})
    known = percent(1 - client.get(f"/api{path}/fairness").json()["unknown_share"])
    for suffix in ("list.wiki", "table.wiki"):
        text = html.unescape(client.get(f"{path}.{suffix}").text)
        assert "Ordered by relevance and by a fair share of readers’ attention (" in text
        assert re.search(r"here, [\d.]+\u00a0% in plain search, [\d.]+\u00a0% as the goal\)\.", text)
        assert f"Region: known for {known} of the attention; data: synthetic data." in text
    first = html.unescape(client.get(f"{path}.list.wiki").text).partition("\n# ")[2].partition("\n")[0]
    assert first.endswith(")")
    assert "Chess" in first


def test_what_is_published_is_in_the_language_of_the_wiki() -> None:
    article = ListedArticle(1, 7, "Schach", "Stub", 900, None, {}, (), ("Schach",), None)
    made = Listing("Schach", 1, 1, 1, "2026-11-15 12:00:00", "https://e.org/l", "", [article], "", language="de")
    assert "''Zuletzt aktualisiert: 2026-11-15 12:00:00 UTC''" in sortable_table(made)
    assert "! Artikel !! Klasse !! Größe !! Warum hier" in sortable_table(made)
    assert UPDATED.sub("", sortable_table(made)) == UPDATED.sub(
        "", sortable_table(replace(made, updated="2026-11-22 09:30:00"))
    )


def test_filters_count_in_exports(client: TestClient, list_path: str) -> None:
    rows = csv.DictReader(io.StringIO(client.get(f"{list_path}.csv?class=Stub").text))
    assert {row["class"] for row in rows} == {"Stub"}


def test_unknown_formats_are_not_found(client: TestClient, list_path: str) -> None:
    for suffix in ("exe", "..", "csv.gz", "json%00"):
        assert client.get(f"{list_path}.{suffix}").status_code == 404


@pytest.fixture
def rivers(hostile_client: TestClient) -> str:
    return posted(hostile_client, "/lists", RIVERS)


def test_hostile_titles_are_text_in_html(hostile_client: TestClient, rivers: str) -> None:
    search = posted(hostile_client, "/searches", RIVERS)
    draw = posted(hostile_client, f"{search}/draws")
    form = f"/lists/new?{client_query(hostile_client, rivers)}"
    for path in (
        rivers,
        f"{rivers}/fairness",
        f"{rivers}/trade-off",
        search,
        draw,
        form,
        "/",
        "/lists/preview?title=river",
    ):
        html = hostile_client.get(path).text
        assert "<script>alert" not in html
        assert "<img" not in html
        assert "<b>{{x}}</b>" not in html
        assert "49" not in re.findall(r'class="title"[^>]*>([^<]*)<', html)
    shown = hostile_client.get(rivers).text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown


def client_query(client: TestClient, path: str) -> str:
    return str(client.get(f"{path}.json").json()["edit_address"].partition("?")[2])


def test_hostile_titles_are_text_in_wikitext(hostile_client: TestClient, rivers: str) -> None:
    for suffix in ("list.wiki", "table.wiki"):
        text = hostile_client.get(f"{rivers}.{suffix}").text
        code = mwparserfromhell.parse(text)
        assert not code.filter_templates()
        links = [str(found.title) for found in code.filter_wikilinks()]
        assert all(name.startswith((":", "Talk:")) for name in links)
        assert ":File:Cat.jpg" in links
        assert ":Category:Rivers" in links
        assert not any("Special:Log" in name for name in links)
        tags = {str(tag.tag) for tag in code.filter_tags()}
        assert not tags & {"script", "img"}
        assert "<b>" not in text
    table = hostile_client.get(f"{rivers}.table.wiki").text
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert len(rows) == len(HOSTILE_TITLES)
    [header] = [line for line in table.splitlines() if line.startswith("! ")]
    assert {row.count("||") for row in rows} == {header.count("!!")}


def test_hostile_titles_are_text_in_csv_and_tsv(hostile_client: TestClient, rivers: str) -> None:
    rows = list(csv.DictReader(io.StringIO(hostile_client.get(f"{rivers}.csv").text)))
    assert len(rows) == len(HOSTILE_TITLES)
    for row in rows:
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row.values())
    assert '\'=HYPERLINK("http://example.org")' in {row["title"] for row in rows}
    lines = hostile_client.get(f"{rivers}.tsv").text.splitlines()
    assert {line.count("\t") for line in lines} == {16}


@given(st.text(max_size=60))
def test_plain_wikitext_has_no_markup(text: str) -> None:
    code = mwparserfromhell.parse(f"x {escape_plain(text)} y")
    assert not code.filter_templates()
    assert not code.filter_wikilinks()
    assert not code.filter_tags()
    assert not code.filter_external_links()
    assert not code.filter_comments()


@given(st.text(min_size=1, max_size=60))
def test_a_link_is_one_link_or_text(title: str) -> None:
    code = mwparserfromhell.parse(link(title))
    assert len(code.filter_wikilinks()) <= 1
    assert not code.filter_templates()


@given(st.text(max_size=60))
def test_an_external_link_ends_where_it_should(text: str) -> None:
    made = external(f"http://localhost/{text}", "label")
    assert made.count("[") == made.count("]") == 1
    assert made.endswith(" label]")


def test_a_saved_list_is_printed_by_the_command(client: TestClient, state: AppState, list_path: str) -> None:
    assert state.settings.store is not None
    words = ["--list", list_path.rpartition("/")[2], "--store", str(state.settings.store), "--print", "--rows", "20"]
    address = ["--public-url", "https://desk.example.org/evenrank/"]
    result = CliRunner().invoke(publish, [str(state.collection.path), *words, *address])
    assert result.exit_code == 0, result.output
    assert re.search(r"\[https://desk.example.org/evenrank/lists/\S+/refresh regenerate\]", result.output)
    titles = client.get(f"{list_path}.txt").text.splitlines()[:20]
    assert re.findall(r"^\| \[\[:(.+?)\]\]", result.output, re.M) == titles


@pytest.mark.parametrize(
    "title, name",
    [
        ("Tour de France", "Tour_de_France.csv"),
        ('Música / Ärzte: "x"', "Música_Ärzte_x.csv"),
        ("../../etc/passwd", "etc_passwd.csv"),
    ],
)
def test_files_are_named_after_the_list(client: TestClient, title: str, name: str) -> None:
    path = posted(client, "/lists", {**QUESTION, "title": title})
    disposition = client.get(f"{path}.csv").headers["content-disposition"]
    assert disposition.endswith(f"filename*=UTF-8''{quote(name, safe='')}")
    assert disposition.isascii()
