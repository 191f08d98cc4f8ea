"""Hashes of titles, kept with the index: those of the collection's own titles, and computed again where damaged."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import evenrank
from evenrank.retrieval.engine.engines import index_folder
from evenrank.trec import title_keys
from evenrank.trec.checksums import write_checksums
from evenrank.trec.collection import Collection
from evenrank.trec.title_keys import read_title_keys
from tests.desk_collections import shared_generated
from tests.retrieval.test_update import write_lines


@pytest.fixture
def collection(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Collection:
    shutil.copytree(shared_generated(tmp_path_factory).path, tmp_path / "made")
    return Collection.open(tmp_path / "made")


def key_files(collection: Collection) -> list[Path]:
    return sorted(index_folder(collection).glob("title-keys-*"))


def assert_kept(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read, and not computed, and are what would be computed."""
    wanted = title_keys.title_keys(collection)
    with monkeypatch.context() as patch:
        patch.setattr(title_keys, "title_keys", lambda *_: pytest.fail("computed"))
        found = read_title_keys(collection, index_folder(collection))
    assert len(found) == len(collection)
    np.testing.assert_array_equal(found, wanted)


def test_a_build_an_update_and_a_release_keep_them(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_kept(collection, monkeypatch)
    pages = collection.page_ids[:40].tolist()
    changes = [{"op": "put", "id": page, "article": {"title": f"Page {page}", "text": "A page."}} for page in pages]
    updated = evenrank.update_collection(collection.path, write_lines(tmp_path / "changes.jsonl", changes)).collection
    assert [path.name for path in key_files(updated)] != [path.name for path in key_files(collection)]
    assert_kept(updated, monkeypatch)
    evenrank.pack_collection(collection.path, tmp_path / "releases")
    assert_kept(Collection.open(tmp_path / "releases"), monkeypatch)


def damage(path: Path, content: bytes | None) -> None:
    """Another content; without one, two keys are swapped."""
    if content is None:
        keys = np.load(path)
        keys[[0, 1]] = keys[[1, 0]]
        np.save(path, keys)
    else:
        path.write_bytes(content)


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"{}", None])
def test_damaged_ones_are_computed_again(
    collection: Collection, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    (path,) = key_files(collection)
    wanted = np.load(path)
    damage(path, content)
    np.testing.assert_array_equal(read_title_keys(collection, path.parent), wanted)
    assert f"{path}: not used, and computed again" in caplog.text


def test_ones_that_no_array_can_be_read_from_are_computed_again(collection: Collection) -> None:
    (path,) = key_files(collection)
    wanted = np.load(path)
    path.write_bytes(b"no array")
    write_checksums(path.parent)
    np.testing.assert_array_equal(read_title_keys(collection, path.parent), wanted)


def test_missing_ones_are_computed_again(collection: Collection, caplog: pytest.LogCaptureFixture) -> None:
    (path,) = key_files(collection)
    wanted = np.load(path)
    path.unlink()
    np.testing.assert_array_equal(read_title_keys(collection, path.parent), wanted)
    np.testing.assert_array_equal(read_title_keys(collection, path.parent / "none"), wanted)
    assert not caplog.text


def test_those_of_other_titles_are_not_used(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = index_folder(collection)
    for name in ("titles.npy", "title_offsets.npy"):
        files = {**collection.manifest.files, name: replace(collection.manifest.files[name], crc32="00000000")}
        other = replace(collection, manifest=replace(collection.manifest, files=files))
        monkeypatch.setattr(title_keys, "title_keys", lambda _: np.arange(3, dtype=np.uint64))
        assert len(read_title_keys(other, folder)) == 3
