"""Reading from a real MediaWiki: categories, banners, links, titles."""

from __future__ import annotations

import sqlite3

import pytest

from evenrank.wikipedia.mediawiki.categories import banner_pages, category_members
from evenrank.wikipedia.mediawiki.client import WikiClient, records
from evenrank.wikipedia.mediawiki.settings import WikiApiError, WikiError, WikiSettings, WikiUnreachableError
from evenrank.wikipedia.mediawiki.titles import page_links, resolve_titles
from tests.mediawiki import MediaWiki
from tests.wikipedia.mediawiki.conftest import CHESS, ODD_TITLES, real_articles

pytestmark = pytest.mark.xdist_group("mediawiki")


@pytest.fixture(scope="session")
def page_ids(wiki: MediaWiki) -> dict[str, int]:
    """Ids as the wiki's own database has them."""
    with sqlite3.connect(f"file:{wiki.data}/wiki.sqlite?mode=ro", uri=True) as connection:
        rows = connection.execute("SELECT page_title, page_id FROM page WHERE page_namespace = 0").fetchall()
    return {title.decode() if isinstance(title, bytes) else title: page_id for title, page_id in rows}


def test_a_category_and_what_each_level_adds(reader: WikiClient) -> None:
    flat = category_members(reader, "chess")
    assert {page.title for page in flat.pages} == set(CHESS)
    assert flat.title == "Category:Chess"
    assert all(page.size_bytes and page.page_id for page in flat.pages)
    deep = category_members(reader, "Category:Games", 3)
    assert [level.categories for level in deep.levels] == [
        ("Category:Games",),
        ("Category:Chess",),
        ("Category:Circle",),
    ]
    assert [level.n_added for level in deep.levels] == [1, len(CHESS), 0]
    assert deep.is_complete


def test_categories_of_assessments_give_articles(reader: WikiClient) -> None:
    members = category_members(reader, "GA-Class chess articles")
    assert [page.title for page in members.pages] == ["Chess"]


def test_what_is_no_category(reader: WikiClient) -> None:
    with pytest.raises(WikiError, match="not a category"):
        category_members(reader, "Talk:Chess")
    assert category_members(reader, "No such category").pages == ()
    with pytest.raises(WikiError, match="depth 4"):
        category_members(reader, "Chess", 4)


def test_a_real_category_tree(reader: WikiClient, category_tree: dict[str, set[str]]) -> None:
    roots = ["Zineiba", "Muoksla", "Viesture", "Geografeja", "Ļaudeiba"]
    for root in roots:
        for depth in (0, 1, 3):
            members = category_members(reader, root, depth)
            assert {page.title for page in members.pages} == expected_members(category_tree, root, depth), (root, depth)
            assert sum(level.n_added for level in members.levels) == len(members.pages)


def expected_members(tree: dict[str, set[str]], root: str, depth: int) -> set[str]:
    """Articles down to a depth, by sets."""
    names, found = {root}, set()
    for _ in range(depth + 1):
        found |= set().union(*(tree.get(name, set()) for name in names))
        names |= {title.partition(":")[2] for title in found if title.startswith("Category:")}
    return {title for title in found if not title.startswith("Category:")}


def test_a_banner_with_class_and_importance(reader: WikiClient, page_ids: dict[str, int]) -> None:
    found = banner_pages(reader, "WPChess")
    assert found.template == "Template:WikiProject Chess"
    assert {page.title: (page.quality, page.importance) for page in found.pages} == {
        "Chess": ("GA", "Top"),
        "Chess opening": ("Start", "High"),
        "Chess endgame": ("Stub", "Unknown"),
        "Chess problem": ("Unassessed", "Unknown"),
    }
    assert {page.title.replace(" ", "_"): page.page_id for page in found.pages}.items() <= page_ids.items()
    assert found.n_without_article == 2
    games = banner_pages(reader, "{{WikiProject Games|class=B}}")
    assert {page.title: page.quality for page in games.pages} == {"Chess": "B", "Chess opening": "C", "Go": "B"}


def test_what_is_no_banner(reader: WikiClient) -> None:
    with pytest.raises(WikiError, match="not a template"):
        banner_pages(reader, "WikiProject Nothing")


def test_links_of_a_page(reader: WikiClient) -> None:
    links = page_links(reader, "Project:Chess/Requests")
    assert {page.title for page in links.pages} == {"Chess", "Go"}
    assert links.missing == ("Chess boxing",)
    with pytest.raises(WikiError, match="no such page"):
        page_links(reader, "Project:Nothing")


def test_titles_in_every_form(reader: WikiClient, page_ids: dict[str, int]) -> None:
    real = [title for title, _ in real_articles()]
    given = [*ODD_TITLES, *real, "game of kings", "chess_opening", "[[Chess|the game]]", " Go "]
    resolved = resolve_titles(reader, given)
    assert resolved.unmatched == ()
    assert resolved.pages["game of kings"].title == resolved.pages["[[Chess|the game]]"].title == "Chess"
    for title in (*ODD_TITLES, *real):
        assert resolved.pages[title].page_id == page_ids[title.replace(" ", "_")], title


def test_titles_that_name_no_article_say_why(reader: WikiClient) -> None:
    given = ["Chess boxing", "A|B", "<x>", "Talk:Chess", "wikipedia:Chess", "", "x" * 300, "Special:Log"]
    resolved = resolve_titles(reader, given)
    assert not resolved.pages
    reasons = {entry.title: entry.reason for entry in resolved.unmatched}
    assert len(resolved.unmatched) == len(given)
    assert reasons["Chess boxing"] == "missing"
    assert reasons["A|B"] == reasons["<x>"] == reasons[""] == reasons["x" * 300] == "invalid"
    assert reasons["Talk:Chess"] == reasons["Special:Log"] == "not an article"
    assert reasons["wikipedia:Chess"] == "other wiki"


def test_a_thousand_titles_take_twenty_requests(reader: WikiClient) -> None:
    resolved = resolve_titles(reader, [f"Nothing {at}" for at in range(999)] + ["Chess"])
    assert list(resolved.pages) == ["Chess"]
    assert len(resolved.unmatched) == 999
    assert reader.n_requests == 20


def test_5_000_members_take_at_most_20_requests(wiki: MediaWiki, reader: WikiClient) -> None:
    with sqlite3.connect(wiki.data / "wiki.sqlite") as connection:
        connection.execute(
            "INSERT INTO page (page_id, page_namespace, page_title, page_random, page_touched, page_latest, page_len) "
            "SELECT 1000000 + value, 0, 'Large_' || value, 0.5, '20200101000000', 1, 100 FROM "
            "(WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT 5000) SELECT * FROM n)"
        )
        connection.execute(
            "INSERT INTO categorylinks (cl_from, cl_to, cl_sortkey, cl_timestamp, cl_collation, cl_type) "
            "SELECT page_id, 'Large', page_title, '20200101000000', 'uppercase', 'page' FROM page "
            "WHERE page_id > 1000000"
        )
    connection.close()
    members = category_members(reader, "Large", 1)
    assert len({page.page_id for page in members.pages}) == 5000
    assert members.is_complete
    assert reader.n_requests <= 20


def test_a_lagged_wiki_is_waited_for(wiki: MediaWiki) -> None:
    waits: list[float] = []
    client = WikiClient(WikiSettings(wiki.api_url, "x@example.org", maxlag=-2), sleep=waits.append)
    with client, pytest.raises(WikiUnreachableError, match="busy"):
        client.call(action="query", meta="siteinfo")
    assert waits
    assert max(waits) <= 10


def test_errors_have_the_codes_of_the_wiki(reader: WikiClient) -> None:
    with pytest.raises(WikiApiError, match="50") as caught:
        reader.call(action="query", titles="|".join(f"T{at}" for at in range(51)))
    assert caught.value.code == "toomanyvalues"


def test_a_wrong_bot_password(reader: WikiClient) -> None:
    with pytest.raises(WikiApiError, match="sign-in as Evenrank bot@desk failed"):
        reader.log_in("Evenrank bot@desk", "0" * 32)


def test_unknown_properties_are_warnings(reader: WikiClient) -> None:
    answer = reader.call(action="query", titles="Chess", prop="pageassessments|info")
    assert records(answer["query"], "pages")[0]["title"] == "Chess"
    assert "warnings" in answer
