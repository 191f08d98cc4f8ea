"""Our wikitext in the real parser: rows, templates of the wiki, and nothing that acts before or after saving."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from evenrank.app.articles.article import ListedArticle
from evenrank.app.articles.collection_view import CLASSES
from evenrank.app.exports.listing import Listing, numbered_list, sortable_table
from evenrank.wikipedia.mediawiki.client import WikiClient
from evenrank.wikipedia.mediawiki.publish import draft, publish_draft
from evenrank.wikipedia.mediawiki.settings import WikiSettings
from evenrank.wikipedia.mediawiki.titles import PLAIN, idiom_of
from tests.desk_collections import HOSTILE_TITLES
from tests.mediawiki import BOT, MediaWiki, preview

pytestmark = pytest.mark.xdist_group("mediawiki")
WIKI_URL = "https://en.wikipedia.org/wiki/"
HOSTILE = "~~~~ ~~~~~ __NOINDEX__ __NOTOC__ {{subst:PAGENAME}} {{{1}}} <nowiki> '''x''' [[y]] <!-- z --> &lt; {{x}}"


@pytest.fixture
def bot(wiki: MediaWiki) -> Iterator[WikiClient]:
    with WikiClient(WikiSettings(wiki.api_url, "tests@example.org")) as client:
        client.log_in(*BOT)
        yield client


def listing(titles: list[str], text: str = "", importances: Mapping[int, str] | None = None, **more: object) -> Listing:
    articles = [
        ListedArticle(
            rank=at + 1,
            page_id=at + 1,
            title=title,
            quality=CLASSES[at % len(CLASSES)],
            size_bytes=at * 100,
            views=None,
            groups={"geography": ("Africa", "Europe")},
            lacking=(text or "sources",),
            reasons=("chess", text) if text else ("chess",),
            relevance=0.5,
            importance=(importances or {}).get(at + 1, ""),
        )
        for at, title in enumerate(titles)
    ]
    address = f"https://desk.example.org/lists/new?{urlencode({'title': text, 'scope': '~~~ __NOINDEX__'})}"
    fields = {"title": text or "Chess", "updated": "2026-11-15 12:00:00", "address": address, "edit_address": address}
    return Listing(task=1, topic=1, repeat=1, articles=articles, wiki_url=WIKI_URL, **fields, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("write", [sortable_table, numbered_list])
def test_nothing_in_a_list_acts(bot: WikiClient, wiki: MediaWiki, write: object) -> None:
    title = f"Project:Hostile {write.__name__}"  # type: ignore[attr-defined]
    text = write(listing([*HOSTILE_TITLES, *HOSTILE.split()], HOSTILE))  # type: ignore[operator]
    made = draft(bot, title, text, create=True)
    publish_draft(bot, made, "Hostile list", BOT[0].partition("@")[0])
    assert wiki.text(title).rstrip("\n") == made.new_text.rstrip("\n")
    answer = bot.call(action="parse", page=title, prop="text|templates|properties|externallinks|categories")["parse"]
    assert answer["templates"] == []
    assert answer["categories"] == []
    assert "noindex" not in answer["properties"]
    shown = html.unescape(re.sub("<[^>]+>", "", answer["text"]))
    assert HOSTILE.replace("  ", " ") in shown.replace("\xa0", " ")
    assert "Evenrank bot" not in shown
    addresses = re.findall(r"\[(https?://\S+) ", text)
    assert len(addresses) == 2
    assert not any("~" in address or "__" in address for address in addresses)
    assert {parse_qs(urlsplit(address).query)["title"][0] for address in answer["externallinks"]} == {HOSTILE}


def test_a_long_list_has_sections_and_no_ranks(bot: WikiClient) -> None:
    text = sortable_table(listing([f"Article {at}" for at in range(250)]))
    assert re.findall("^=== (.+) ===$", text, re.M) == ["1–100", "101–200", "201–250"]
    assert "Rank" not in text
    shown = preview(bot, draft(bot, "Project:Long", text, create=True))
    assert shown.count("<table") == 3
    assert shown.count("<tr>") == 253
    assert shown.count('title="Talk:Article') == 250


def test_a_refresh_changes_only_the_rows_that_moved(bot: WikiClient) -> None:
    titles = [f"Article {at}" for at in range(100)]
    before, after = (sortable_table(listing(some)) for some in (titles, ["New", *titles[1:]]))
    changed = set(before.splitlines()) ^ set(after.splitlines())
    assert len(changed) == 2


def test_class_and_importance_by_the_templates_of_the_wiki(bot: WikiClient, wiki: MediaWiki) -> None:
    assert idiom_of(bot) == PLAIN
    wiki.put("Template:Start-Class", 'style="background: orange" | [[:Category:Start-Class articles|Start]]')
    wiki.put("Template:Stub-Class", "'''Stub'''")
    wiki.put("Template:High-importance", 'style="background: pink" | High')
    idiom = idiom_of(bot)
    assert idiom.templates == {"Stub-Class": False, "Start-Class": True, "High-importance": True}
    text = sortable_table(listing(["A", "B", "C"], statuses={1: "done"}, importances={1: "High", 2: "Low"}), idiom)
    shown = preview(bot, draft(bot, "Project:Idiom", text, create=True))
    rows = [re.findall(r"<td([^>]*)>(.*?)\s*(?=<td|</td>)", row, re.S) for row in shown.split("<tr>")[2:]]
    assert [row[1] for row in rows] == [
        (' data-sort-value="0"', "<b>Stub</b>"),
        (' data-sort-value="1" style="background: orange"', rows[1][1][1]),
        (' data-sort-value="2"', "C"),
    ]
    assert [row[2][0] for row in rows] == [
        ' data-sort-value="1" style="background: pink"',
        ' data-sort-value="3"',
        ' data-sort-value="4"',
    ]
    assert [row[-1][1] for row in rows] == ["done", "open", "open"]
    for name in ("Start-Class", "Stub-Class", "High-importance"):
        wiki.put(f"Template:{name}", "#REDIRECT [[Template:Gone]]")


def test_a_list_without_a_server_has_no_links_to_one() -> None:
    text = sortable_table(Listing("Chess", 1, 1, 1, "2026-11-15 12:00:00", "", "", listing(["A"]).articles, WIKI_URL))
    assert "[http" not in text
    assert "Last updated 2026-11-15 12:00:00 UTC" in text
