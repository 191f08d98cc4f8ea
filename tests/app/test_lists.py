"""Work lists: made from a question, shown page by page, filtered by the address, measured against their goal."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from starlette.testclient import TestClient

import evenrank
from evenrank.app.lists.analysis import list_bars
from evenrank.app.lists.work_list import load_list, make_list
from evenrank.app.request.question import Question
from evenrank.app.state import AppState, LRUCache
from evenrank.core.exposure import discounts
from evenrank.core.protocol import PAPER_2021
from evenrank.core.records import Run, Topic
from evenrank.measures.awrf import awrf
from evenrank.retrieval.find import lexical_part
from evenrank.scoring.ranked_pages import scored_pages
from tests.app.conftest import client_of, posted
from tests.desk_collections import QUESTION

CHESS = Question("Chess", ("chess", "grandmaster", "pawns"))
SHARED_ROWS = replace(PAPER_2021, normalised="all")
"""The desk shares a page between its groups."""


def titles_in(html: str) -> list[str]:
    return re.findall(r'<(?:a|span) class="title"[^>]*>([^<]*)</(?:a|span)>', html)


def token_of(path: str) -> str:
    return path.rsplit("/", 1)[1]


def test_a_list_has_a_thousand_articles_on_ten_pages(client: TestClient, list_path: str) -> None:
    pages = [titles_in(client.get(f"{list_path}?page={number}").text) for number in range(1, 11)]
    assert [len(titles) for titles in pages] == [100] * 10
    exported = client.get(f"{list_path}.json").json()["articles"]
    assert len(exported) == 1000
    assert len({article["page_id"] for article in exported}) == 1000


def first_row(html: str) -> str:
    return html[html.index('<tbody role="rowgroup">') : html.index("</tr>", html.index('<tbody role="rowgroup">'))]


def test_titles_lead_to_the_wiki_of_the_articles(state: AppState) -> None:
    """Those of a generated collection are not on Wikipedia, and lead nowhere unless a wiki is named."""
    elsewhere = replace(
        state, settings=replace(state.settings, wiki_url="https://wiki.example/wiki/"), cell_cache=LRUCache()
    )
    client = client_of(elsewhere)
    html = client.get(posted(client, "/lists", QUESTION)).text
    row = first_row(html)
    assert "https://wiki.example/wiki/" in row
    assert "Talk:" in row
    assert "action=history" in row
    assert "Titles lead to wiki.example." in html
    synthetic = client_of(state)
    made = posted(synthetic, "/lists", QUESTION)
    html = synthetic.get(made).text
    assert set(re.findall(r'href="([^"?]*)', first_row(html))) <= {f"{made}/corrections"}
    assert "These articles are synthetic, so nothing links to a wiki." in html


def test_a_page_shows_what_a_row_needs(client: TestClient, list_path: str) -> None:
    row = first_row(client.get(list_path).text)
    for label in ("Class", "Size", "What is missing", "Region", "Why it is here"):
        assert f'data-label="{label}"' in row
    assert "Chess" in row


def test_the_same_question_gives_the_same_list(client: TestClient, list_path: str) -> None:
    again = posted(client, "/lists", QUESTION)
    assert again != list_path
    assert client.get(f"{again}.run").text.split()[1::2] == client.get(f"{list_path}.run").text.split()[1::2]


@pytest.mark.parametrize(
    "query, is_right",
    [
        ("class=Stub", lambda a: a["class"] == "Stub"),
        ("region=Europe", lambda a: "Europe" in a["regions"]),
        ("size=tiny", lambda a: a["size_bytes"] < 1000),
        ("q=an", lambda a: "an" in a["title"].casefold()),
        ("class=C&region=Asia", lambda a: a["class"] == "C" and "Asia" in a["regions"]),
    ],
)
def test_filters_keep_what_they_say_and_the_order(client: TestClient, list_path: str, query: str, is_right) -> None:
    everything = client.get(f"{list_path}.json").json()["articles"]
    kept = client.get(f"{list_path}.json?{query}").json()["articles"]
    assert kept == [article for article in everything if is_right(article)]
    assert kept
    shown = titles_in(client.get(f"{list_path}?{query}").text)
    assert len(shown) == min(100, len(kept))


@pytest.mark.parametrize("query", ["page=0", "page=-1", "page=999999999999", "page=x", "class=nope&size=nope", "q=%00"])
def test_filters_that_make_no_sense_filter_nothing(client: TestClient, list_path: str, query: str) -> None:
    assert client.get(f"{list_path}?{query}").status_code == 200


def test_sharing_a_filtered_list_shares_what_is_seen(client: TestClient, state: AppState, list_path: str) -> None:
    html = client.get(f"{list_path}?class=Stub&page=2").text
    shared = re.findall(r'id="link-(?:full|read)" readonly value="http://localhost([^"]+)"', html)
    assert [path.partition("?")[2] for path in shared] == ["class=Stub", "class=Stub"]
    n_stubs = len(client.get(f"{list_path}.json?class=Stub").json()["articles"])
    for path in shared:
        seen = client_of(state).get(path).text
        assert f"{n_stubs:,} articles match the filter." in seen


def test_nothing_passes_the_filter(client: TestClient, list_path: str) -> None:
    assert "No article in the list matches the filter" in client.get(f"{list_path}?q=zzzzzzzz").text


def test_fairness_is_that_of_our_own_evaluator(state: AppState, list_path: str) -> None:
    kept = load_list(state.store, token_of(list_path))
    assert kept is not None
    run = Run.from_rankings("desk", 1, iter([(1, 1, kept.page_ids)]))
    ranked = scored_pages(run, state.collection, SHARED_ROWS, state.collection.space())[1]
    exposure = ranked.alignment.total(discounts(len(kept.page_ids)).astype(np.float64))
    assert kept.certificate["AWRF"] == pytest.approx(awrf(exposure[1:], kept.target[1:]), rel=1e-9)


def test_the_balanced_list_is_fairer_than_the_one_by_relevance_and_little_less_relevant(state: AppState) -> None:
    balanced, plain = make_list(state, CHESS), make_list(state, Question(*_words(), policy="relevance"))
    assert balanced.certificate["AWRF"] > plain.certificate["AWRF"]
    assert plain.certificate["relevance_share"] == pytest.approx(1.0)
    assert balanced.certificate["relevance_share"] > 0.9


def test_more_strength_gives_more_fairness(state: AppState) -> None:
    lists = [make_list(state, Question(*_words(), fairness=strength)) for strength in (0.1, 1.0, 10.0)]
    fair = [made.certificate["AWRF"] for made in lists]
    assert fair == sorted(fair)


def test_no_fairness_is_plain_search(state: AppState) -> None:
    without = make_list(state, Question(*_words(), fairness=0.0))
    plain = make_list(state, Question(*_words(), policy="relevance"))
    assert without.page_ids.tolist() == plain.page_ids.tolist()
    assert without.certificate["relevance_share"] == pytest.approx(1.0)
    assert without.comparison is not None
    assert without.comparison.came_in == ()
    assert [group.progress for bars in list_bars(state, without) for group in bars.groups if group.progress] == []


@pytest.mark.parametrize("policy", ["optimal", "relevance-share", "proportional", "relevance"])
def test_every_policy_on_offer_makes_a_list(client: TestClient, policy: str) -> None:
    path = posted(client, "/lists", {**QUESTION, "policy": policy})
    assert len(client.get(f"{path}.txt").text.splitlines()) == 1000
    assert client.get(f"{path}/fairness").status_code == 200


def test_the_trade_off_has_the_list_on_it(client: TestClient, state: AppState, list_path: str) -> None:
    first = client.get(f"/api{list_path}/trade-off").json()
    assert first == client.get(f"/api{list_path}/trade-off").json()
    at_one = next(point for point in first["points"] if point["fairness"] == 1.0)
    assert at_one == pytest.approx(first["here"])
    relevance = [point["relevance"] for point in first["points"]]
    assert relevance == sorted(relevance, reverse=True)
    part = client.get(f"{list_path}/trade-off", headers={"HX-Request": "true"}).text
    assert part.lstrip().startswith('<div class="trade-off">')
    assert "<html" in client.get(f"{list_path}/trade-off").text


@pytest.mark.parametrize("fairness", ["0", "0.1", "1", "10"])
def test_relevance_kept_is_one_figure_on_every_page(client: TestClient, fairness: str) -> None:
    path = posted(client, "/lists", {**QUESTION, "fairness": fairness})
    [said] = re.findall(r"The list keeps ([\d.]+\u00a0%) of the relevance", client.get(f"{path}/fairness").text)
    foot = client.get(f"{path}/trade-off").text.partition("<tfoot")[2]
    assert re.findall(r"[\d.]+\u00a0%", foot)[0] == said
    kept = client.get(f"/api{path}").json()["certificate"]["relevance_share"]
    assert (said == "100.0\u00a0%") == (kept > 1 - 1e-9)


def test_shares_add_up(client: TestClient, list_path: str) -> None:
    balance = client.get(f"/api{list_path}/fairness").json()
    for rows in balance["dimensions"].values():
        assert sum(row["goal"] for row in rows) == pytest.approx(1.0, abs=0.02)  # genders are rounded as on pages
        assert sum(row["share"] or 0.0 for row in rows) <= 1.02
    assert 0.0 < balance["unknown_share"] < 1.0


def test_a_question_without_a_title_is_asked_again(client: TestClient) -> None:
    answer = client.post("/lists", data={**QUESTION, "title": " "})
    assert answer.status_code == 400
    assert "Give the project a title" in answer.text
    assert "grandmaster" in answer.text


def test_a_question_that_finds_nothing_is_asked_again(client: TestClient) -> None:
    answer = client.post("/lists", data={"title": "Xqzvw"})
    assert answer.status_code == 400
    assert "No article has any of these words" in answer.text


def test_the_form_is_filled_from_an_address_and_previews(client: TestClient, state: AppState, list_path: str) -> None:
    edit = client.get(f"{list_path}.json").json()["edit_address"].removeprefix("http://localhost")
    html = client.get(edit).text
    assert 'value="Chess"' in html
    assert "have some of these words" in html
    part = client.get("/lists/preview?title=Chess&keywords=chess,nosuchword").text
    assert "<html" not in part
    assert re.search(r"nosuchword.*none", part)
    assert "Type a title" in client.get("/lists/preview").text


def test_the_preview_names_keywords_that_count_half(client: TestClient, state: AppState) -> None:
    fitting = ("photography", "negatives", "prints", "picture agency", "chess player")
    stray = ("privileges",)  # in articles about other things
    doubtful = lexical_part(state.source.model()).doubtful_keywords(Topic(0, "Photography", (*fitting, *stray)))
    assert doubtful
    assert not set(doubtful) & set(fitting)
    html = client.get(f"/lists/preview?title=Photography&keywords={','.join((*fitting, *stray))}").text
    assert f"neither the title nor the other keywords: {', '.join(doubtful)}<" in html
    assert "Counts half" not in client.get(f"/lists/preview?title=Photography&keywords={','.join(fitting)}").text
    ranked = evenrank.rank(state.collection, 1, query=", ".join(("Photography", *fitting, *stray)))
    assert ranked.topics[0].doubtful_keywords == doubtful
    assert ranked.record["topics"][0]["doubtful_keywords"] == list(doubtful)
    assert 'counts half: "privileges"' in " ".join(ranked.notes)


def test_a_browser_finds_its_lists_on_the_landing_page(client: TestClient, list_path: str) -> None:
    assert list_path in client.get("/").text
    client.cookies.clear()
    assert list_path not in client.get("/").text


def test_what_is_missing_is_counted_where_the_corpus_shows_it(state: AppState) -> None:
    assert state.facts is not None
    rows = np.arange(len(state.collection))
    stubs = state.collection.quality_class == 0
    lacking = np.array([len(missing) for missing in state.facts.missing(rows)])
    assert lacking[stubs].mean() > lacking[~stubs].mean()


def _words() -> tuple[str, tuple[str, ...]]:
    return CHESS.title, CHESS.keywords


@pytest.mark.parametrize("area", ["lists", "searches"])
def test_few_articles_come_with_advice(client: TestClient, area: str) -> None:
    """Who finds less than one draw has is told what finds more."""
    few = {**QUESTION, "min_size": "6000"}
    texts = [client.post(f"/{area}", data=data, follow_redirects=True).text for data in (few, QUESTION)]
    assert ["This question finds few articles." in text for text in texts] == [True, False]


def test_a_list_that_is_shorter_than_asked_says_why(client: TestClient) -> None:
    said = "No other article here fits your question, so the list has fewer than 1,000 articles."
    few = posted(client, "/lists", {**QUESTION, "within-geography": "Oceania", "length": "1000"})
    assert said in client.get(few).text
    assert said not in client.get(posted(client, "/lists", {**QUESTION, "length": "1000"})).text
    assert "No other article here" not in client.get(posted(client, "/lists", {**QUESTION, "length": "10"})).text


def test_a_filter_that_one_article_passes(client: TestClient, list_path: str) -> None:
    title = client.get(f"{list_path}.txt").text.splitlines()[0]
    html = client.get(list_path, params={"q": title, "sort": "title"}).text
    assert "1 article matches the filter." in html


@pytest.mark.parametrize("area", ["lists", "searches"])
def test_a_form_without_groups_that_count_is_asked_again(client: TestClient, area: str) -> None:
    fault = "Choose at least one of the groups that count."
    fields = {**QUESTION, "dimensions-offered": "1"}
    answer = client.post(f"/{area}", data=fields)
    assert answer.status_code == 400
    assert f'<span class="fault" id="dimensions-fault">{fault}</span>' in answer.text
    assert not re.search(r'name="dimension-\w+" value="1" checked', answer.text)
    assert fault in client.post(f"/{area}/goal", data=fields).text
    form = client.get(f"/{area}/new").text
    assert 'name="dimensions-offered" value="1"' in form
    assert re.search(r'name="dimension-gender" value="1" checked', form)
    assert client.post(f"/{area}", data={**fields, "dimension-gender": "1"}).status_code == 303
