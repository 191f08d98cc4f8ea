"""Articles that people bring: read from any form, matched, combined; what could not be matched is listed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from evenrank.app.articles.source import EntriesError, Source, parse_entries
from evenrank.app.articles.titles import normal_title
from evenrank.app.articles.user_articles import SourceError, WikiArticles, combine_sources, reports_from_json
from evenrank.app.pages.i18n import Message, stored_message
from evenrank.app.state import AppState
from tests.app.conftest import posted
from tests.desk_collections import QUESTION

PETSCAN = {
    "*": [{"a": {"*": [{"id": 7, "title": "Alpha_Beta", "namespace": 0}, {"id": 8, "title": "X", "namespace": 10}]}}]
}


@pytest.mark.parametrize(
    "text, name, wanted",
    [
        (
            "Alpha\n[[Beta|b]] and [[:gamma_delta]]\n* Epsilon\n3. Zeta",
            "",
            ["Alpha", "Beta", "Gamma delta", "Epsilon", "Zeta"],
        ),
        ("1984\nBrave New World", "", ["1984", "Brave New World"]),
        ('title,pageid,namespace\nAlpha,7,0\n"Beta, the second",8,0', "petscan.csv", ["Alpha", "Beta, the second"]),
        ("Alpha, Beta and Gamma", "", ["Alpha, Beta and Gamma"]),
        ("page_title\tlength\nAlpha\t9\nTalk:Beta\t8", "", ["Alpha", "Beta"]),
        (json.dumps({"pages": ["alpha", "Beta_gamma"], "wiki": "enwiki"}), "pile.json", ["Alpha", "Beta gamma"]),
        (json.dumps({"pages": {"alpha": {}, "beta": {}}}), "pile.json", ["Alpha", "Beta"]),
        (json.dumps(PETSCAN), "", ["Alpha Beta", "X"]),
        (json.dumps({"*": [{"a": {"*": ["Alpha", "Beta"]}}]}), "", ["Alpha", "Beta"]),
    ],
)
def test_every_form_gives_its_titles(text: str, name: str, wanted: list[str]) -> None:
    assert [entry.title for entry in parse_entries(text, name)] == wanted


def test_numbers_alone_are_page_ids() -> None:
    assert [entry.page_id for entry in parse_entries("12\n13\n12\n")] == [12, 13]
    assert [entry.page_id for entry in parse_entries("[12, 13]")] == [12, 13]


def test_ids_of_a_table_come_before_titles_and_other_namespaces_are_no_articles() -> None:
    [first, second] = parse_entries(json.dumps(PETSCAN))
    assert first.page_id == 7
    assert first.is_article
    assert not second.is_article


@pytest.mark.parametrize("text", ["{not json", '{"other": 1}', "[true]"])
def test_what_cannot_be_recognised_is_an_error(text: str) -> None:
    with pytest.raises(EntriesError):
        parse_entries(text)


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        entries = parse_entries(text)
    except EntriesError:
        return
    assert all(entry.title == normal_title(entry.title) for entry in entries)


def titles_of(state: AppState, n: int, start: int = 0) -> list[str]:
    return [str(state.collection.titles[row]) for row in range(start, start + n)] if state.collection.titles else []


def test_sources_combine(state: AppState) -> None:
    titles = titles_of(state, 6)
    sources = [
        Source("titles", "\n".join(titles[:3])),
        Source("titles", "\n".join(titles[2:5])),
        Source("titles", "\n".join(titles[1:6]), role="and"),
        Source("titles", titles[4] + "\nNo such article", role="not"),
    ]
    user_articles = combine_sources(state.collection, state.title_index, sources, None)
    assert user_articles.page_ids.tolist() == state.collection.page_ids[[1, 2, 3]].tolist()
    assert user_articles.reports[-1].unmatched == (("No such article", "not in this collection"),)
    assert [report.n_matched for report in user_articles.reports] == [3, 3, 5, 1]


def test_ids_match_as_titles_do(state: AppState) -> None:
    ids = state.collection.page_ids[:4]
    user_articles = combine_sources(
        state.collection, state.title_index, [Source("titles", "\n".join(map(str, [*ids, 2**31 - 5])))], None
    )
    assert user_articles.page_ids.tolist() == ids.tolist()
    assert user_articles.reports[0].n_unmatched == 1


class SmallWiki:
    """A wiki with one category; its ids are not those of the collection."""

    def __init__(self, pages: Sequence[tuple[int, str, str]]) -> None:
        self.pages = pages

    def read(self, source: Source) -> WikiArticles:
        if source.text != "Category:Known":
            raise SourceError("There is no such category.")
        return WikiArticles(
            self.pages, missing=("A red link",), notes=[Message("level %(n)s: %(added)s", n=0, added=2)]
        )

    def resolve(self, titles: Sequence[str]) -> Mapping[str, int]:
        return {}


def test_a_category_is_matched_by_title_when_ids_differ(state: AppState) -> None:
    titles = titles_of(state, 2)
    wiki = SmallWiki([(999_999_999, titles[0], "High"), (int(state.collection.page_ids[5]), titles[1], "")])
    user_articles = combine_sources(state.collection, state.title_index, [Source("category", "Category:Known")], wiki)
    assert user_articles.page_ids.tolist() == state.collection.page_ids[:2].tolist()
    assert user_articles.importance == {int(state.collection.page_ids[0]): "High"}
    assert ("A red link", "no article on the wiki") in user_articles.reports[0].unmatched
    (stored,) = reports_from_json(user_articles.to_json({}))
    assert [stored_message(text, values) for text, values in stored.notes] == ["level 0: 2"]
    with pytest.raises(SourceError):
        combine_sources(state.collection, state.title_index, [Source("category", "Category:Other")], wiki)


def test_a_list_has_only_what_was_brought(client: TestClient, state: AppState) -> None:
    titles = titles_of(state, 120, 300)
    fields = {**QUESTION, "text-1": "\n".join([*titles, "Not here at all"]), "never": titles[0], "best": "FA"}
    path = posted(client, "/lists", fields)
    listed = client.get(f"{path}.txt").text.splitlines()
    assert set(listed) == set(titles[1:])
    html = client.get(path).text
    assert "Not here at all" in html
    assert "not in this collection" in html


def test_articles_without_keywords_are_here_because_they_were_brought(client: TestClient, state: AppState) -> None:
    """The page, the draw and the published table say so; what search found is here for its words."""
    brought = {"title": "Our pasted worklist", "text-1": "\n".join(titles_of(state, 20)), "best": "FA"}
    path = posted(client, "/lists", brought)
    draw = posted(client, f"{posted(client, '/searches', brought)}/draws")
    for page in (path, draw):
        assert client.get(page).text.count("brought by the project") == 40  # in the row and in its menu
        assert client.get(f"{page}.table.wiki").text.count("brought by the project") == 20
    assert "about the subject" not in client.post("/lists/goal", data=brought).text
    found = posted(client, "/lists", QUESTION)
    assert "brought by the project" not in client.get(found).text + client.get(f"{found}.table.wiki").text


def test_never_show_works_without_other_sources(client: TestClient) -> None:
    first = client.get(f"{posted(client, '/lists', QUESTION)}.txt").text.splitlines()
    path = posted(client, "/lists", {**QUESTION, "never": "\n".join(first[:3])})
    assert not set(first[:3]) & set(client.get(f"{path}.txt").text.splitlines())


def test_a_file_is_read_and_checked_before_anything_is_saved(client: TestClient, state: AppState) -> None:
    titles = titles_of(state, 5)
    data = "title\n" + "\n".join([*titles, "Missing one"])
    answer = client.post("/lists/check", data=QUESTION, files={"file-1": ("mine.csv", data.encode())})
    assert answer.status_code == 200
    assert "5 of 6 found" in answer.text
    assert "Missing one" in answer.text
    assert titles[0] in answer.text.partition('name="text-1"')[2]
    broken = client.post("/lists/check", data=QUESTION, files={"file-1": ("mine.csv", b"\xff\xfe\x00")})
    assert broken.status_code == 400


def test_a_source_of_nothing_is_said(client: TestClient) -> None:
    answer = client.post("/lists", data={**QUESTION, "text-1": "No such article"})
    assert answer.status_code == 400
    assert "None of the articles that you brought is in this collection" in answer.text
    asked = client.post("/lists", data={**QUESTION, "kind-1": "category", "text-1": "Chess"})
    assert asked.status_code == 400
    assert "not connected to a wiki" in asked.text


def test_the_preview_says_why_a_source_cannot_be_read(client: TestClient) -> None:
    """And shows nothing that the words would find: the list would be of the source alone."""
    preview = client.post("/lists/preview", data={**QUESTION, "kind-1": "category", "text-1": "Chess"})
    assert preview.status_code == 200
    assert "not connected to a wiki" in preview.text
    assert "some of these words" not in preview.text
    nothing = client.post("/lists/preview", data={**QUESTION, "text-1": "No such article"}).text
    assert "None of the articles that you brought is in this collection" in nothing


@pytest.mark.parametrize("title, words", [("???", "nothing to search for"), ("the of", "in nearly every article")])
def test_a_title_that_names_no_subject_is_refused_with_the_reason(client: TestClient, title: str, words: str) -> None:
    answer = client.post("/lists", data={"title": title})
    assert answer.status_code == 400
    assert words in answer.text
    assert words in client.post("/lists/preview", data={"title": title}).text
    german = client.post("/lists/preview", data={"title": title}, headers={"Accept-Language": "de"}).text
    assert words not in german
    assert "Thema" in german


def test_a_saved_search_draws_from_what_was_brought(client: TestClient, state: AppState) -> None:
    titles = titles_of(state, 80, 500)
    search = posted(client, "/searches", {**QUESTION, "text-1": "\n".join(titles), "best": "FA"})
    drawn = client.get(f"{posted(client, f'{search}/draws')}.txt").text.splitlines()
    assert len(drawn) == 50
    assert set(drawn) <= set(titles)


def test_classes_narrow_a_list(client: TestClient) -> None:
    path = posted(client, "/lists", {**QUESTION, "least": "C", "best": "GA"})
    classes = {article["class"] for article in client.get(f"{path}.json").json()["articles"]}
    assert classes <= {"C", "B", "GA", "Unassessed"}
    assert client.post("/lists", data={**QUESTION, "least": "GA", "best": "C"}).status_code == 400


def test_a_featured_article_is_not_in_a_work_list_unless_asked(client: TestClient) -> None:
    usual = client.get(f"{posted(client, '/lists', QUESTION)}.json").json()["articles"]
    assert not {"GA", "FA"} & {article["class"] for article in usual}
    asked = client.get(f"{posted(client, '/lists', {**QUESTION, 'best': 'FA'})}.json").json()["articles"]
    assert "FA" in {article["class"] for article in asked}


def test_words_that_are_everywhere_are_refused(client: TestClient) -> None:
    answer = client.post("/lists", data={"title": "the", "keywords": "of, and"})
    assert answer.status_code == 400
    assert "nearly every article" in answer.text


@pytest.mark.parametrize("goal", ["track", "field", "equal", "world"])
def test_goals_differ_and_sum_to_one(client: TestClient, goal: str) -> None:
    path = posted(client, "/lists", {**QUESTION, "goal": goal, "dimension-geography": "1"})
    balance = client.get(f"/api{path}/fairness").json()
    assert list(balance["dimensions"]) == ["geography"]
    shares = [row["goal"] for row in balance["dimensions"]["geography"]]
    assert sum(shares) == pytest.approx(1.0, abs=1e-3)
    if goal == "equal":
        known = [share for share in shares if share > 0.02]
        assert np.ptp(known) < 0.05
