"""`evenrank publish` on a real MediaWiki, from the wiki's own dump to a page of the same wiki."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import evenrank
from evenrank.app.exports.publishing import UPDATED
from evenrank.cli.main import cli
from evenrank.errors import EvenrankError
from evenrank.trec.collection import Collection
from evenrank.wikipedia.mediawiki.publish import EditedByOthersError
from tests import mediawiki
from tests.mediawiki import BOT, MediaWiki

pytestmark = pytest.mark.xdist_group("mediawiki")
TITLES = ("Chess", "AT&T", "شطرنج", "Category theory", "C++", "Ж" * 127)
PAGE = "Project:Published"


@pytest.fixture(scope="module")
def wiki() -> Iterator[MediaWiki]:
    reason = mediawiki.missing()
    if reason:
        pytest.skip(reason)
    made = MediaWiki()
    try:
        made.import_pages([(title, f"'''{title}''' is a subject. " * 20) for title in TITLES])
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def collection(wiki: MediaWiki, tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """A collection made of the wiki's own dump."""
    folder = tmp_path_factory.mktemp("published")
    dump = folder / "wiki-pages-articles.xml"
    dump.write_text(wiki.maintain("dumpBackup", "--current"))
    done(invoke("annotate", folder / "metadata.jsonl", "--dump", dump))
    files = ["--metadata", folder / "metadata.jsonl", "--corpus", dump]
    done(invoke("collection", "import", folder / "collection", *files))
    return Collection.open(folder / "collection")


@pytest.fixture
def run(collection: Collection, tmp_path: Path) -> Path:
    path = tmp_path / "chess.run"
    path.write_text("".join(f"7\t{page}\n" for page in collection.page_ids.tolist()))
    return path


@pytest.fixture
def options(wiki: MediaWiki, tmp_path: Path) -> list[object]:
    password = tmp_path / "password"
    password.write_text(f"{BOT[1]}\n")
    password.chmod(0o600)
    names = ["--page", PAGE, "--api", wiki.api_url, "--user", BOT[0], "--contact", "tests@example.org"]
    return [*names, "--password-file", password]


def invoke(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


def done(result: Result) -> str:
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def test_page_ids_are_those_of_the_wiki(wiki: MediaWiki, collection: Collection) -> None:
    with sqlite3.connect(f"file:{wiki.data}/wiki.sqlite?mode=ro", uri=True) as connection:
        rows = connection.execute("SELECT page_id, page_title FROM page WHERE page_namespace = 0").fetchall()
    titles = {page: (title.decode() if isinstance(title, bytes) else title).replace("_", " ") for page, title in rows}
    assert collection.titles is not None
    assert {int(page): collection.titles[row] for row, page in enumerate(collection.page_ids)} == titles


def test_publish_then_refresh_then_edit(
    wiki: MediaWiki, collection: Collection, run: Path, options: list[object]
) -> None:
    difference = done(invoke("publish", collection.path, run, *options, "--create", "--dry-run"))
    assert "+! Article !! Class !! Size !! Region" in difference
    with pytest.raises(RuntimeError):
        wiki.text(PAGE)
    assert re.fullmatch(
        r"Test wiki:Published: saved as revision \d+\n",
        done(invoke("publish", collection.path, run, *options, "--create", "--bot")),
    )
    text = wiki.text(PAGE)
    assert all(f"[[:{title.replace('&', '&#38;')}]]" in text for title in TITLES)
    time.sleep(1.1)  # another second, so that the time in the list would differ
    assert "nothing to change" in done(invoke("publish", collection.path, run, *options))
    wiki.put(PAGE, f"Our project.\n{text}\nThanks!")
    done(invoke("publish", collection.path, run, *options, "--rows", "2"))
    assert wiki.text(PAGE).startswith("Our project.\n<!-- Evenrank list ")
    assert wiki.text(PAGE).count("\n|-\n") == 2
    wiki.put(PAGE, wiki.text(PAGE).replace("|}", "|-\n| [[Go]] || added by a human\n|}"))
    refused = invoke("publish", collection.path, run, *options)
    assert isinstance(refused.exception, EditedByOthersError)
    assert "added by a human" in wiki.text(PAGE)
    done(invoke("publish", collection.path, run, *options, "--discard-edits", "--form", "list"))
    assert "added by a human" not in wiki.text(PAGE)
    assert wiki.text(PAGE).count("\n# [[:") == len(collection)


def test_print_asks_no_wiki(collection: Collection, run: Path) -> None:
    printed = done(invoke("publish", collection.path, run, "--print", "--rows", "3"))
    assert printed.count("\n|-\n") == 3
    assert "[http" not in printed


def test_a_run_comes_from_standard_input(collection: Collection, run: Path) -> None:
    words = [sys.executable, "-m", "evenrank.cli.main", "publish", str(collection.path), "-", "--print", "--rows", "3"]
    piped = subprocess.run(words, input=run.read_text(), capture_output=True, text=True, check=True).stdout
    named = done(invoke("publish", collection.path, run, "--print", "--rows", "3"))
    assert UPDATED.sub("", piped).replace("'''stdin'''", "'''chess'''") == UPDATED.sub("", named)


def test_the_same_from_python(wiki: MediaWiki, collection: Collection, run: Path) -> None:
    page = "Project:From Python"
    site = {"api": wiki.api_url, "contact": "tests@example.org"}
    account = {"user": BOT[0], "password": BOT[1]}
    tried = evenrank.publish(collection, run, page, **site, rows=2, create=True, dry_run=True)
    assert tried.revision is None
    assert "+! Article !! Class !! Size !! Region" in tried.difference
    saved = evenrank.publish(collection, evenrank.read_run(run), page, **site, **account, rows=2, create=True)
    assert saved.revision is not None
    assert wiki.text(page).count("\n|-\n") == 2
    assert evenrank.publish(collection, run, page, **site, **account, rows=2).revision is None
    with pytest.raises(EvenrankError, match="needs the name and the text of a bot password"):
        evenrank.publish(collection, run, page, **site)
    with pytest.raises(EvenrankError, match="form is 'tabel'"):
        evenrank.publish(collection, run, page, **site, form="tabel")


def test_the_password_comes_from_the_environment(
    collection: Collection, run: Path, options: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    without = options[:-2]
    monkeypatch.delenv("EVENRANK_WIKI_PASSWORD", raising=False)
    assert "EVENRANK_WIKI_PASSWORD" in str(invoke("publish", collection.path, run, *without).exception)
    monkeypatch.setenv("EVENRANK_WIKI_PASSWORD", BOT[1])
    assert "saved as revision" in done(invoke("publish", collection.path, run, *without, "--create", "--name", "env"))


def test_a_password_that_others_can_read_is_refused(
    wiki: MediaWiki, collection: Collection, run: Path, options: list[object]
) -> None:
    os.chmod(str(options[-1]), 0o644)
    error = invoke("publish", collection.path, run, *options).exception
    assert isinstance(error, EvenrankError)
    assert "chmod 600" in str(error)
    assert BOT[1] not in str(error)


@pytest.mark.parametrize(
    "words, says",
    [
        ([], "either a RUN"),
        (["RUN", "--list", "x"], "either a RUN"),
        (["RUN"], "--page, --api, --contact, --user"),
        (["RUN", "--topic", "8", "--print"], "no topic 8"),
        (["--list", "A" * 22, "--print"], "--store"),
    ],
)
def test_what_is_missing_is_said(collection: Collection, run: Path, words: list[str], says: str) -> None:
    result = invoke("publish", collection.path, *[run if word == "RUN" else word for word in words])
    assert result.exit_code != 0
    assert says in result.output + str(result.exception)
