"""What search finds for the training topics, kept with the index: what lists would find, of this version alone."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest

import evenrank
from evenrank.app.settings import WebSettings
from evenrank.app.state import AppState, open_state
from evenrank.ranking.sources import SearchSource
from evenrank.retrieval.engine.engines import index_folder
from evenrank.retrieval.training_pages import FILE_NAME, is_training, list_settings, read_training_pages
from evenrank.trec.collection import Collection
from tests.desk_collections import shared_generated
from tests.retrieval.test_update import write_lines


@pytest.fixture
def collection(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Collection:
    shutil.copytree(shared_generated(tmp_path_factory).path, tmp_path / "made")
    return Collection.open(tmp_path / "made")


def opened(collection: Collection, folder: Path) -> AppState:
    folder.mkdir(exist_ok=True)
    return open_state(collection.path, WebSettings(store=folder / "desk.sqlite", facts_folder=folder))


def assert_as_searched(collection: Collection, folder: Path) -> None:
    state = opened(collection, folder)
    training = list(filter(is_training, collection.topics))
    known = read_training_pages(index_folder(collection), state.source.candidates(), collection.topics)
    assert known.keys() == {topic.id for topic in training}
    for topic in training:
        searched = state.source.pages(topic)
        for name in ("page_ids", "scores", "probabilities"):
            np.testing.assert_array_equal(getattr(known[topic.id], name), getattr(searched, name))
    state.close()


def test_a_build_and_an_update_keep_what_lists_would_find(collection: Collection, tmp_path: Path) -> None:
    assert_as_searched(collection, tmp_path / "before")
    first = (index_folder(collection) / FILE_NAME).read_bytes()
    pages = collection.page_ids[:40].tolist()
    changes = [{"op": "put", "id": page, "article": {"title": f"Page {page}", "text": "A page."}} for page in pages]
    updated = evenrank.update_collection(collection.path, write_lines(tmp_path / "changes.jsonl", changes)).collection
    assert (index_folder(updated) / FILE_NAME).read_bytes() != first
    assert_as_searched(updated, tmp_path / "after")


def test_a_first_start_searches_for_no_training_topic_and_learns_the_same(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(SearchSource, "pages", lambda *_: pytest.fail("searched"))
        first = opened(collection, tmp_path / "first")
        known = first.learned()
    (index_folder(collection) / FILE_NAME).unlink()
    second = opened(collection, tmp_path / "second")
    assert second.learned().goals == known.goals
    one, two = known.source.calibration, second.learned().source.calibration
    assert one is not None
    assert two is not None
    np.testing.assert_array_equal(one.coefficients, two.coefficients)
    first.close()
    second.close()


def test_a_release_that_can_only_be_read_has_them(collection: Collection, tmp_path: Path) -> None:
    evenrank.pack_collection(collection.path, tmp_path / "releases")
    released = Collection.open(tmp_path / "releases")
    assert_as_searched(released, tmp_path / "state")


def test_other_topics_and_settings_are_searched_for(collection: Collection) -> None:
    names = tuple(one.name for one in collection.dimensions if not one.is_personal)
    usual = list_settings(2000, names, ())
    folder = index_folder(collection)
    topics = [topic for topic in collection.topics if is_training(topic)]
    assert len(read_training_pages(folder, usual, topics)) == len(topics)
    assert not read_training_pages(folder, replace(usual, n_pages=1000), topics)
    other = [replace(topics[0], title="Rivers"), *topics[1:]]
    assert read_training_pages(folder, usual, other).keys() == {topic.id for topic in topics[1:]}


@pytest.mark.parametrize("content", ["", "{", "[]", "7", '{"MARK": {"page_ids": [1]}}'])
def test_a_damaged_file_is_not_used(collection: Collection, content: str) -> None:
    path = index_folder(collection) / FILE_NAME
    settings = list_settings(2000, tuple(one.name for one in collection.dimensions if not one.is_personal), ())
    (mark, *_) = orjson.loads(path.read_bytes())
    path.write_text(content.replace("MARK", mark))
    assert not read_training_pages(path.parent, settings, collection.topics)
