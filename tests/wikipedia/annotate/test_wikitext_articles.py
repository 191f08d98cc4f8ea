"""Real articles: known facts, and agreement with another parser."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.real_dump import dump_path, load_benchmark

from evenrank.core.records import Article
from evenrank.io.articles import read_articles
from evenrank.io.faults import FaultLog
from evenrank.wikipedia.annotate.wikitext import parse_wikitext

FACTS = tomllib.loads((Path(__file__).parent / "wikitext_facts.toml").read_text("utf-8"))["article"]


@pytest.fixture(scope="module")
def articles() -> dict[int, Article]:
    return {article.page_id: article for article in read_articles(dump_path(), FaultLog())}


def test_there_are_facts_of_many_articles() -> None:
    assert len(FACTS) >= 20


@pytest.mark.parametrize("facts", FACTS, ids=[facts["title"] for facts in FACTS])
def test_facts(articles: dict[int, Article], facts: dict[str, Any]) -> None:
    article = articles[facts["page_id"]]
    page = parse_wikitext(article.text)
    assert article.title == facts["title"]
    assert page.lead.startswith(facts["first_sentence"])
    assert [section.title for section in page.sections if section.level == 2] == facts["sections"]
    assert page.counts.headings(3) == facts["n_level_3"]
    assert page.counts.n_references == facts["n_references"]
    assert page.counts.n_categories == len(page.categories) == facts["n_categories"]


def test_no_markup_is_left_in_the_text(articles: dict[int, Article]) -> None:
    for article in articles.values():
        page = parse_wikitext(article.text)
        for mark in ("{{", "}}", "{|", "<ref", "'''", "[[Category", "[[File"):
            assert mark not in page.body, (article.title, mark)


def test_words_agree_with_mwparserfromhell(articles: dict[int, Article]) -> None:
    pytest.importorskip("mwparserfromhell")
    benchmark = load_benchmark("wikitext")
    texts = [article.text for article in articles.values()][::5]
    ours = [parse_wikitext(text).body for text in texts]
    recall, precision = benchmark.agreement(ours, [benchmark.oracle_text(text) for text in texts])
    assert recall >= 0.95
    assert precision >= 0.95
