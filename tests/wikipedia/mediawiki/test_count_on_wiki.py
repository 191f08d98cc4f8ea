"""Work counted in the present text of articles of a real MediaWiki."""

from __future__ import annotations

import pytest

from evenrank.wikipedia.annotate.work_counts import count_work
from evenrank.wikipedia.mediawiki.article_work import count_on_wiki
from evenrank.wikipedia.mediawiki.client import WikiClient, record_number, records
from tests.mediawiki import MediaWiki

pytestmark = pytest.mark.xdist_group("mediawiki")
TEXT = "A '''work''' page.{{Citation needed}} {{fact}} {{Unreferenced}}\n== Part ==\n[[Chess]]<ref>A</ref>"


def page_id_of(reader: WikiClient, title: str) -> int:
    [part] = list(reader.query(titles=title, prop="info"))
    return record_number(records(part, "pages")[0], "pageid")


def test_the_present_text_is_counted(wiki: MediaWiki, reader: WikiClient) -> None:
    wiki.put("Work counted", TEXT)
    page = page_id_of(reader, "Work counted")
    found = count_on_wiki(reader, {page: "Work counted"})
    assert found == {page: count_work(TEXT)}
    assert found[page].citations == 2
    assert found[page].maintenance == 1
    wiki.put("Work counted", TEXT.replace("{{fact}}", ""))
    assert count_on_wiki(reader, {page: "Work counted"})[page].citations == 1


def test_other_pages_are_left_out(wiki: MediaWiki, reader: WikiClient) -> None:
    """A page that is gone, one with another title, a redirect, a page that is no article."""
    wiki.put("Work moved", "#REDIRECT [[Chess]]")
    redirect, category = page_id_of(reader, "Work moved"), page_id_of(reader, "Category:Chess")
    chess = page_id_of(reader, "Chess")
    asked = {99_999_999: "Gone", chess: "Not chess", redirect: "Work moved", category: "Category:Chess"}
    assert count_on_wiki(reader, asked) == {}


def test_more_articles_than_one_call_takes(wiki: MediaWiki, reader: WikiClient) -> None:
    [*parts] = reader.query(list="allpages", aplimit="max", apfilterredir="nonredirects")
    titles = {record_number(record, "pageid"): str(record["title"]) for part in parts for record in part["allpages"]}
    assert len(titles) > 50
    before = reader.n_requests
    assert set(count_on_wiki(reader, titles)) == set(titles)
    assert reader.n_requests - before <= -(-len(titles) // 50) + 3
