"""The web app on a collection that is updated: what is known of unchanged articles is kept, texts are those of now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest

from evenrank.app.app import make_app, reload
from evenrank.app.articles.article import count_articles, open_facts, save_facts
from evenrank.app.assess.texts import find_contents, source_mark
from evenrank.app.settings import WebSettings
from evenrank.app.state import open_state
from evenrank.errors import DamagedCollectionError
from evenrank.retrieval.engine.indexing import build_index
from evenrank.retrieval.update import update_collection
from evenrank.trec import updated_data
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import import_collection
from evenrank.trec.releases import pack_collection
from tests.robustness.small_files import small_files


def updated(folder: Path, collection: Collection, text: str) -> Collection:
    """Page 1 with another text, page 2 deleted, page 3 without its article."""
    lines = [
        {"op": "put", "id": 1, "article": {"title": "Other", "text": text}},
        {"op": "delete", "id": 2},
        {"op": "put", "id": 3, "article": None},
    ]
    (folder / "changes").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    return update_collection(collection.path, folder / "changes").collection


def small(folder: Path) -> Collection:
    made = import_collection(folder / "c", small_files(folder / "files", 30))
    build_index(made, n_threads=1).close()
    return Collection.open(made.path)


def test_an_update_counts_only_the_articles_that_it_changed(tmp_path: Path) -> None:
    collection = small(tmp_path)
    save_facts(collection, 10_000)
    known = open_facts(collection)
    assert known is not None
    marked = known.counts + 1  # would be lost if unchanged articles were counted again
    text = "A long article about something else. " * 40
    fresh = updated(tmp_path, collection, text)
    counts = count_articles(fresh, 1, (collection, replace(known, counts=marked)))
    assert counts[0, 0] == len(text)
    assert counts[1, 0] == count_articles(fresh, 1)[1, 0] < 0
    np.testing.assert_array_equal(counts[2:], marked[3:])
    np.testing.assert_array_equal(count_articles(fresh, 1)[2:], known.counts[3:])
    np.testing.assert_array_equal(count_articles(fresh, 1, (fresh, known))[2:], known.counts[3:])


def test_counts_are_right_where_articles_of_updates_were_put_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that is two updates behind, of which the second put articles into files with other numbers."""
    monkeypatch.setattr(updated_data, "MOST_FILES", 1)
    first = updated(tmp_path, small(tmp_path), "One text.")
    save_facts(first, 10_000)
    known, latest = open_facts(first), first
    for page in (5, 6):
        line = {"op": "put", "id": page, "article": {"title": "Other", "text": f"A longer text. {'More. ' * page}"}}
        (tmp_path / "changes").write_bytes(orjson.dumps(line))
        latest = update_collection(first.path, tmp_path / "changes").collection
    assert (first.n_changes, latest.n_changes) == (1, 2)
    np.testing.assert_array_equal(count_articles(latest, 1, (first, known)), count_articles(latest, 1))


def test_assessors_see_the_texts_of_the_updated_collection(tmp_path: Path) -> None:
    collection = small(tmp_path)
    mark = source_mark(collection)
    fresh = updated(tmp_path, collection, "A wholly new text.")
    wanted = {page: page for page in (1, 2, 3, 4)}
    assert [row["page"] for rows in find_contents(fresh.open_corpus(), wanted) for row in rows] == [4, 1]
    assert source_mark(fresh) != mark


@pytest.mark.parametrize("part", ["titles.npy", "mask-geography.npy"])
@pytest.mark.parametrize("n_bytes", [None, 10])
def test_a_release_that_is_still_being_copied_is_not_served(tmp_path: Path, part: str, n_bytes: int | None) -> None:
    collection, releases = small(tmp_path), tmp_path / "releases"
    pack_collection(collection.path, releases)
    app = make_app(open_state(releases, WebSettings(store=tmp_path / "desk.sqlite", facts_folder=tmp_path)))
    updated(tmp_path, collection, "A river in Asia.")
    pack_collection(collection.path, releases)
    path = releases / "data-2" / part
    content = path.read_bytes()
    path.unlink()
    if n_bytes:
        path.write_bytes(content[:n_bytes])
    with pytest.raises(DamagedCollectionError, match=part):
        reload(app)
    assert app.state.current.collection.data.name == "data-1"
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    reload(app)
    assert app.state.current.collection.data.name == "data-2"
    app.state.current.close()
