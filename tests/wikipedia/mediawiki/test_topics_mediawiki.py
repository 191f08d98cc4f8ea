"""Topics from the banners of a real MediaWiki: by its API, and from the dump that it writes of itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import evenrank
from evenrank.wikipedia.topics.make import FILES, TopicSettings
from tests import mediawiki
from tests.mediawiki import MediaWiki
from tests.wikipedia.topics.small_wiki import THEMES, project_pages

pytestmark = pytest.mark.xdist_group("mediawiki")
SETTINGS = TopicSettings(min_pages=5, recent=1.0)


@pytest.fixture(scope="module")
def project_wiki() -> Iterator[MediaWiki]:
    """A wiki with four projects, whose banners sort talk pages into categories of class and importance."""
    reason = mediawiki.missing()
    if reason:
        pytest.skip(reason)
    made = MediaWiki()
    try:
        made.import_pages(project_pages(list(THEMES)[:4], n_pages=8))
        yield made
    finally:
        made.stop()


def page_ids(wiki: MediaWiki, project: str) -> list[int]:
    """Articles of a project as the wiki's own database has them."""
    with sqlite3.connect(f"file:{wiki.data}/wiki.sqlite?mode=ro", uri=True) as connection:
        rows = connection.execute("SELECT page_id, page_title FROM page WHERE page_namespace = 0").fetchall()
    named = [(number, title.decode() if isinstance(title, bytes) else title) for number, title in rows]
    return sorted(number for number, title in named if title.startswith(f"{project}_article"))


def test_topics_by_the_api(project_wiki: MediaWiki, tmp_path: Path) -> None:
    made = evenrank.make_topics(
        tmp_path / "topics", api=project_wiki.api_url, contact="tests@example.org", settings=SETTINGS
    )
    assert sorted(topic.title for topic in made.topics) == sorted(list(THEMES)[:4])
    for topic in made.topics:
        assert topic.rel_docs.tolist() == page_ids(project_wiki, topic.title)
        assert topic.scope == f"This project covers {topic.title.lower()} of all kinds."
        assert set(THEMES[topic.title].split()) & set(topic.keywords[:5])
        assert topic.homepage.endswith(f":WikiProject_{topic.title}")
    lists = (tmp_path / "topics" / FILES[3]).read_text().splitlines()[1:]
    assert {line.split("\t")[2] for line in lists} == {"Stub", "Start", "C", "B", "GA"}


def test_the_wikis_own_dump_has_the_same_topics(project_wiki: MediaWiki, tmp_path: Path) -> None:
    dump = tmp_path / "wiki.xml"
    dump.write_text(project_wiki.maintain("dumpBackup", "--current", "--quiet"), "utf-8")
    by_dump = evenrank.make_topics(tmp_path / "dump", corpus=dump, source="banners", settings=SETTINGS)
    by_api = evenrank.make_topics(
        tmp_path / "api", api=project_wiki.api_url, contact="tests@example.org", corpus=dump, settings=SETTINGS
    )
    one, other = ({topic.title: topic for topic in made.topics} for made in (by_dump, by_api))
    assert set(one) == set(other)
    for title, topic in one.items():
        assert topic.rel_docs.tolist() == other[title].rel_docs.tolist()
        assert topic.keywords == other[title].keywords
        assert topic.scope == other[title].scope


def test_only_the_projects_that_are_named(project_wiki: MediaWiki, tmp_path: Path) -> None:
    settings = TopicSettings(min_pages=5, recent=1.0, only=("Chess",))
    made = evenrank.make_topics(
        tmp_path / "topics", api=project_wiki.api_url, contact="tests@example.org", settings=settings
    )
    assert [topic.title for topic in made.topics] == ["Chess"]
