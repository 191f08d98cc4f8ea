"""A real MediaWiki with real articles, a category tree, banners on talk pages and redirects."""

from __future__ import annotations

import bz2
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import iterparse

import pytest

from tests import mediawiki
from tests.mediawiki import MediaWiki
from tests.real_dump import dump_path

pytest.importorskip("urllib3", reason="needs the extra wiki")

from evenrank.wikipedia.mediawiki.client import WikiClient
from evenrank.wikipedia.mediawiki.settings import WikiSettings

LTGWIKI = Path(__file__).resolve().parents[4] / "shared/data/ltgwiki/ltgwiki-201709-pages-articles.xml.bz2"
ODD_TITLES = ("AT&T", "שחמט", "شطرنج", 'Ålesund\'s "Café" = 1+1', "Ж" * 127, "AC/DC", "C++", "Who? What!", "E=mc²")
CHESS = ("Chess", "Chess opening", "Chess endgame", "Chess problem", "Grandmaster")
BANNER = (
    "A banner.<includeonly>[[Category:{{{class|Unassessed}}}-Class %(name)s articles]]"
    "[[Category:{{{importance|Unknown}}}-importance %(name)s articles]]</includeonly>"
)


@pytest.fixture(scope="session")
def wiki() -> Iterator[MediaWiki]:
    """The wiki that all tests read; what a test writes has a title of its own."""
    reason = mediawiki.missing()
    if reason:
        pytest.skip(reason)
    made = MediaWiki()
    try:
        made.import_pages([*synthetic_pages(), *real_articles()])
        yield made
    finally:
        made.stop()


@pytest.fixture
def reader(wiki: MediaWiki) -> Iterator[WikiClient]:
    """A client that has not signed in."""
    with WikiClient(WikiSettings(wiki.api_url, "tests@example.org")) as client:
        yield client


def synthetic_pages() -> list[tuple[str, str]]:
    """A small project with everything that goes wrong on talk pages, and categories in a circle."""
    chess = [(title, f"'''{title}''' [[Category:Chess]]") for title in CHESS]
    odd = [(title, f"Odd [[Category:Odd titles]] {title}") for title in ODD_TITLES]
    return [
        *chess,
        *odd,
        ("Category:Chess", "[[Category:Games]]"),
        ("Category:Games", "[[Category:Circle]]"),
        ("Category:Circle", "[[Category:Chess]]"),
        ("Go", "[[Category:Games]]"),
        ("Game of kings", "#REDIRECT [[Royal game]]"),
        ("Royal game", "#REDIRECT [[Chess]]"),
        ("Template:WikiProject Chess", BANNER % {"name": "chess"}),
        ("Template:WPChess", "#REDIRECT [[Template:WikiProject Chess]]"),
        ("Template:WikiProject Games", BANNER % {"name": "games"}),
        ("Talk:Chess", "{{WikiProject Chess|class=GA|importance=Top}}{{WikiProject Games|class=B|importance=Low}}"),
        ("Talk:Chess opening", "{{WPChess|class=Start|importance=High}}{{WikiProject Games|class=C}}"),
        ("Talk:Chess endgame", "{{WikiProject Chess|class=Stub}}\n== A question ==\nWhy?"),
        ("Talk:Chess problem", "{{WikiProject Chess}}"),
        ("Talk:Deleted gambit", "{{WikiProject Chess|class=Stub}} its article is gone"),
        ("Talk:Old title", "#REDIRECT [[Talk:Chess]]\n{{WikiProject Chess|class=B}}"),
        ("Talk:Go", "{{WikiProject Games|class=B|importance=Top}}"),
        ("Project:Chess/Requests", "[[Chess]], [[Game of kings]], [[Chess boxing]], [[Go]], [[Talk:Go]], [[:File:X]]"),
    ]  # fmt: skip


def real_articles(n_articles: int = 40) -> list[tuple[str, str]]:
    """The shortest real articles of the dump that comes with gensim."""
    found = dump_pages(dump_path(), "0")
    texts = [(title, text) for title, text in found if not text.lower().startswith("#redirect")]
    return sorted(texts, key=lambda page: len(page[1]))[:n_articles]


def dump_pages(path: Path, *namespaces: str) -> list[tuple[str, str]]:
    """(title, wikitext) of a dump's pages."""
    pages = []
    with bz2.open(path) as file:
        for _, element in iterparse(file):
            if not element.tag.endswith("}page"):
                continue
            fields = {child.tag.rpartition("}")[2]: child.text or "" for child in element.iter()}
            if fields["ns"] in namespaces:
                pages.append((fields["title"], fields["text"]))
            element.clear()
    return pages


@pytest.fixture(scope="session")
def category_tree(wiki: MediaWiki) -> dict[str, set[str]]:
    """A real wiki's category tree with some of its articles: what links to each category, by name without namespace."""
    if not LTGWIKI.is_file():
        pytest.skip("the dump of the Latgalian Wikipedia is not here")
    members: dict[str, set[str]] = {}
    pages = []
    articles, categories = dump_pages(LTGWIKI, "0")[:150], dump_pages(LTGWIKI, "14")[:250]
    for title, text in [*articles, *categories]:
        names = {name.strip() for name in re.findall(r"\[\[\s*(?:Category|Kategoreja)\s*:\s*([^\]|]+)", text)}
        names = {" ".join(name.replace("_", " ").split()) for name in names}
        names = {name[:1].upper() + name[1:] for name in names}
        title = title.replace("Kategoreja:", "Category:")
        links = "".join(f"[[Category:{name}]]" for name in sorted(names))
        pages.append((title, f"{re.sub(r'[{}|<>]', ' ', text[:200]).replace('[[', '').replace('#', '')} {links}"))
        for name in names:
            members.setdefault(name, set()).add(title)
    wiki.import_pages(pages)
    return members
