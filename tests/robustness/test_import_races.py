"""Imports into one folder at the same time, and readers beside them."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from evenrank.errors import EvenrankError
from evenrank.io.locking import LOCK_NAME
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import import_collection
from evenrank.trec.manifest import locked_folder
from tests.robustness.commands import leftovers, run, start
from tests.robustness.small_files import import_words, small_files


def test_two_imports_at_once_leave_one_whole_collection(tmp_path: Path) -> None:
    """B ended with 0, then A failed and removed B's data: each import may delete only what it made itself."""
    one, two = small_files(tmp_path / "one", 4000), small_files(tmp_path / "two", 3000)
    folder = tmp_path / "c"
    for _ in range(3):
        both = [start(import_words(folder, files)) for files in (one, two)]
        answers = [process.communicate(timeout=120) for process in both]
        codes = [process.returncode for process in both]
        assert set(codes) <= {0, 2}
        assert 0 in codes, answers
        for code, (_, stderr) in zip(codes, answers, strict=True):
            assert code == 0 or "another evenrank process is writing it" in stderr
        collection = Collection.open(folder)
        assert len(collection) in {4000, 3000}
        assert len(collection.topics) == 5
        assert leftovers(folder) == []


def test_an_import_waits_for_nobody_and_changes_nothing(tmp_path: Path) -> None:
    files = small_files(tmp_path / "files")
    folder = tmp_path / "c"
    import_collection(folder, files)
    before = (folder / "manifest.json").read_bytes()
    with locked_folder(folder):
        for words in (import_words(folder, files), ["collection", "generate", folder, "--pages", 100, "--force"]):
            refused = run(words)
            assert refused.returncode == 2
            assert "another evenrank process is writing it" in refused.stderr
    assert (folder / "manifest.json").read_bytes() == before
    assert not (folder / LOCK_NAME).exists()


def test_the_lock_of_a_killed_import_is_no_obstacle(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / LOCK_NAME).touch()
    import_collection(folder, small_files(tmp_path / "files"))
    assert leftovers(folder) == []


def test_readers_beside_imports_see_the_old_or_the_new_collection(tmp_path: Path) -> None:
    sizes = (300, 500)
    files = [small_files(tmp_path / f"files{n}", n) for n in sizes]
    folder = tmp_path / "c"
    import_collection(folder, files[0])
    wrong: list[object] = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            try:
                collection = Collection.open(folder)
                if len(collection) not in sizes or len(collection.topics) != 5 or collection.titles is None:
                    wrong.append(collection)
            except EvenrankError as error:
                wrong.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for turn in range(12):
        import_collection(folder, files[turn % 2])
    is_over.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_an_open_collection_keeps_its_files_through_an_import(tmp_path: Path) -> None:
    """Topics and titles are read late: the data folder must still be there then, and go with the next import."""
    folder = tmp_path / "c"
    opened = import_collection(folder, small_files(tmp_path / "old", 60))
    import_collection(folder, small_files(tmp_path / "new", 80, shift=1))
    assert len(opened) == 60
    assert len(opened.topics) == 5
    assert opened.titles is not None
    assert opened.titles[59] == "Page 60"
    assert np.array_equal(opened.page_ids, np.arange(1, 61))
    assert (folder / "data-1").exists()
    del opened
    import_collection(folder, small_files(tmp_path / "new", 80))
    assert [path.name for path in folder.glob("data-*")] == ["data-3"]


def test_a_failed_import_removes_the_folders_it_made(tmp_path: Path) -> None:
    files = small_files(tmp_path / "files")
    files.metadata.write_text("junk\n")
    with pytest.raises(EvenrankError, match=r"metadata\.json:1"):
        import_collection(tmp_path / "new" / "folder", files)
    assert not (tmp_path / "new").exists()
