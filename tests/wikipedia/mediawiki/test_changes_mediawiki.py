"""A collection that follows a real MediaWiki: edits, new pages, other titles, deletions, restorations, redirects."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.errors import EvenrankError, InputError
from evenrank.io.articles import read_articles
from evenrank.io.faults import FaultLog
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import ImportFiles, import_collection
from tests import mediawiki
from tests.mediawiki import EDITOR, MediaWiki

pytest.importorskip("urllib3", reason="needs the extra wiki")

from evenrank.retrieval.sync import read_sync_state, sync
from evenrank.trec.wiki_changes import api_time, changed_since, read_events, write_wiki_changes
from evenrank.wikipedia.mediawiki.client import WikiClient, records
from evenrank.wikipedia.mediawiki.settings import WikiSettings

CONTACT = "tests@example.org"
TITLES = ("Tea", "Coffee", "Cocoa", "Water", "Milk", "Juice")


@pytest.fixture
def wiki() -> Iterator[MediaWiki]:
    """A wiki of its own, because what changes on it is what is tested."""
    if reason := mediawiki.missing():
        pytest.skip(reason)
    made = MediaWiki()
    try:
        made.import_pages([(title, f"'''{title}''' is a drink. [[Category:Drinks]]") for title in TITLES])
        yield made
    finally:
        made.stop()


@pytest.fixture
def client(wiki: MediaWiki) -> Iterator[WikiClient]:
    with WikiClient(WikiSettings(wiki.api_url, CONTACT)) as made:
        yield made


@pytest.fixture
def collection(wiki: MediaWiki, client: WikiClient, tmp_path: Path) -> Collection:
    """The wiki's articles as they are now."""
    ids = page_ids(client)
    folder = tmp_path / "files"
    folder.mkdir()
    pages = [{"page_id": page, "quality_score": 0.5} for page in ids.values()]
    articles = [{"id": page, "title": title, "url": "", "text": wiki.text(title)} for title, page in ids.items()]
    for name, rows in (("metadata.jsonl", pages), ("corpus.jsonl", articles)):
        (folder / name).write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    made = import_collection(tmp_path / "c", ImportFiles(folder / "metadata.jsonl", corpus=folder / "corpus.jsonl"))
    evenrank.build_index(made, n_threads=1).close()
    return Collection.open(made.path)


def page_ids(client: WikiClient) -> dict[str, int]:
    found = {}
    for part in client.query(list="allpages", aplimit="max", apfilterredir="nonredirects"):
        found |= {page["title"]: page["pageid"] for page in records(part, "allpages")}
    return found


def change_much(wiki: MediaWiki, n: int = 1) -> None:
    """Everything that can happen to articles."""
    wiki.maintain("edit", "--user", EDITOR[0], "Tea", text=f"'''Tea''' is a hot drink, the {n}th.")
    wiki.maintain("edit", "--user", EDITOR[0], f"Beer {n}", text="'''Beer''' is brewed.")
    wiki.maintain("edit", "--user", EDITOR[0], f"Talk:Beer {n}", text="Not an article.")
    wiki.maintain("moveBatch", "--u", EDITOR[0], text="Coffee|Filter coffee\n")
    wiki.maintain("deleteBatch", "-u", "Admin", text="Cocoa\n")
    wiki.maintain("edit", "--user", EDITOR[0], "Water", text="#REDIRECT [[Tea]]")
    wiki.maintain("moveBatch", "--u", EDITOR[0], text="Milk|Project:Milk\n")


def assert_same_as_wiki(wiki: MediaWiki, client: WikiClient, collection: Collection) -> None:
    articles = {one.page_id: (one.title, one.text) for one in read_articles(collection.open_corpus(), FaultLog())}
    expected = {page: (title, wiki.text(title).rstrip("\n")) for title, page in page_ids(client).items()}
    assert {page: (title, text.rstrip("\n")) for page, (title, text) in articles.items()} == expected
    assert collection.page_ids.tolist() == sorted(expected)


def an_hour_ago() -> str:
    return api_time(datetime.now(UTC) - timedelta(hours=1))


def test_a_collection_follows_its_wiki(
    wiki: MediaWiki, client: WikiClient, collection: Collection, tmp_path: Path
) -> None:
    change_much(wiki)
    settings = WikiSettings(wiki.api_url, CONTACT)
    metrics = tmp_path / "evenrank.prom"
    state = sync(collection.path, settings, since=an_hour_ago(), n_rounds=1, metrics=metrics)
    updated = Collection.open(collection.path)
    assert_same_as_wiki(wiki, client, updated)
    assert "Beer 1" in [row["title"] for row in evenrank.search(updated, "brewed", k=3).rows]
    assert state.n_updates == 1
    assert state.n_deleted == 3
    assert f"evenrank_sync_pages {len(updated)}.0\n" in metrics.read_text()
    wiki.maintain("edit", "--user", EDITOR[0], "Juice", text="'''Juice''' was changed later.")
    resumed = sync(collection.path, settings, n_rounds=1)
    assert resumed.n_updates == 2
    assert_same_as_wiki(wiki, client, Collection.open(collection.path))
    assert read_sync_state(collection.path) == resumed


def test_more_changes_than_an_update_takes_are_taken_in_several(
    wiki: MediaWiki, client: WikiClient, collection: Collection
) -> None:
    for number in range(3):
        wiki.maintain("edit", "--user", EDITOR[0], f"Wine {number}", text=f"Wine number {number}")
        time.sleep(1.1)  # changes have times in whole seconds
    first = changed_since(client, an_hour_ago(), most=2)
    assert (len(first.page_ids), first.is_all) == (2, False) or not first.is_all
    settings = WikiSettings(wiki.api_url, CONTACT)
    waits: list[float] = []
    sync(collection.path, settings, since=an_hour_ago(), n_rounds=4, most=2, sleep=waits.append, every_seconds=60.0)
    assert 0.0 in waits
    assert_same_as_wiki(wiki, client, Collection.open(collection.path))


def test_events_name_what_to_look_at(
    wiki: MediaWiki, client: WikiClient, collection: Collection, tmp_path: Path
) -> None:
    known = page_ids(client)
    change_much(wiki)
    events = tmp_path / "events"
    moved = {"wiki": "wiki", "type": "log", "log_type": "move", "namespace": 0}
    lines = [
        b":ok",
        b"event: message",
        b'id: [{"topic":"eqiad.mediawiki.recentchange"}]',
        b"data: " + orjson.dumps({"wiki": "wiki", "type": "edit", "namespace": 0, "title": "Tea"}),
        b"",
        b"data: " + orjson.dumps({"wiki": "otherwiki", "type": "edit", "namespace": 0, "title": "Juice"}),
        b"data: " + orjson.dumps({"wiki": "wiki", "type": "new", "namespace": 0, "title": "Beer 1"}),
        b"data: " + orjson.dumps({"wiki": "wiki", "type": "categorize", "namespace": 14, "title": "Category:Drinks"}),
        orjson.dumps({**moved, "title": "Coffee", "log_params": {"target": "Filter coffee"}}),
        orjson.dumps({**moved, "title": "Milk", "log_params": {"target": "Project:Milk"}}),
        orjson.dumps({"wiki": "wiki", "type": "log", "log_type": "delete", "namespace": 0, "title": "Cocoa"}),
        orjson.dumps({"wiki_id": "wiki", "page": {"page_id": known["Water"], "namespace_id": 0}}),
        orjson.dumps({"meta": {"domain": "canary"}}),
    ]
    events.write_bytes(b"\n".join(lines))
    changed = read_events(events, "wiki")
    assert changed.titles == {"Tea", "Beer 1", "Coffee", "Filter coffee", "Milk", "Project:Milk", "Cocoa"}
    assert changed.page_ids == {known["Water"]}
    with (tmp_path / "changes").open("wb") as file:
        write_wiki_changes(client, changed, collection, file.write)
    done = evenrank.update_collection(collection.path, tmp_path / "changes")
    assert_same_as_wiki(wiki, client, done.collection)


def test_the_command_line(wiki: MediaWiki, client: WikiClient, collection: Collection, tmp_path: Path) -> None:
    change_much(wiki)
    output = tmp_path / "changes.jsonl"
    words = ["--wiki", wiki.site, "--contact", CONTACT, "--collection", str(collection.path), "-o", str(output)]
    result = CliRunner().invoke(cli, ["collection", "changes", *words, "--since", an_hour_ago()])
    assert result.exit_code == 0, result.output
    result = CliRunner().invoke(cli, ["collection", "update", str(collection.path), "--changes", str(output)])
    assert result.exit_code == 0, result.output
    assert_same_as_wiki(wiki, client, Collection.open(collection.path))
    words = ["sync", str(collection.path), "--wiki", wiki.site, "--contact", CONTACT, "--rounds", "1"]
    result = CliRunner().invoke(cli, [*words, "--since", an_hour_ago()])
    assert result.exit_code == 0, result.output
    state = orjson.loads(result.stdout)
    assert state["n_failures"] == 0
    assert state["wiki"] == wiki.api_url
    result = CliRunner().invoke(cli, [*words, "--since", "2020-01-01"])
    assert "last 30 days" in str(result.exception)


def test_a_wiki_that_is_away_is_asked_again(collection: Collection, wiki: MediaWiki) -> None:
    away = WikiSettings("http://127.0.0.1:9/w/api.php", CONTACT)
    waits: list[float] = []

    class StoppedError(Exception):
        pass

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise StoppedError

    with pytest.raises(StoppedError):
        sync(collection.path, away, since=an_hour_ago(), sleep=sleep)
    assert waits == [30.0, 60.0, 120.0]
    state = read_sync_state(collection.path)
    assert state is not None
    assert state.n_failures == 3
    with pytest.raises(EvenrankError, match="follows"):
        sync(collection.path, WikiSettings(wiki.api_url, CONTACT), n_rounds=1)


def test_faults_of_events_come_all_at_once(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_bytes(b'{"type": "edit"}\nno event\n{"page": {"page_id": 0}}\ndata: {broken\n')
    with pytest.raises(InputError) as error:
        read_events(path)
    assert [fault.line for fault in error.value.faults] == [1, 2, 3, 4]
