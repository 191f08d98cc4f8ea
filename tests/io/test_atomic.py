"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from evenrank.errors import InputError
from evenrank.io.atomic import atomic_file, atomic_folder


def test_a_file_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "f"
    with atomic_file(path) as file:
        file.write(b"x")
        assert not path.exists()
    assert path.read_bytes() == b"x"
    assert [p.name for p in path.parent.iterdir()] == ["f"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failed_file_leaves_the_old_one(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    with pytest.raises(error), atomic_file(path) as file:
        file.write(b"half")
        raise error
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "d"
    for content in (b"1", b"2"):
        with atomic_folder(path) as fresh:
            (fresh / "data").write_bytes(content)
            (fresh / content.decode()).touch()
    assert (path / "data").read_bytes() == b"2"
    assert sorted(entry.name for entry in path.iterdir()) == ["2", "data"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_folder_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "d"
    path.mkdir()
    (path / "data").write_bytes(b"old")
    with pytest.raises(ValueError, match="half"), atomic_folder(path) as fresh:
        (fresh / "data").write_bytes(b"new")
        raise ValueError("half way")
    assert (path / "data").read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="could not be written"), atomic_file(tmp_path / "file" / "inside"):
        pass


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    with atomic_file(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_file(pipe) as file:
        file.write(b"new")
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_database_is_never_replaced(tmp_path: Path) -> None:
    """`judgments export STORE -o STORE` left the export where the judgments had been; so did `backup`."""
    path = tmp_path / "judgments.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE vote (grade)")
    connection.close()
    content = path.read_bytes()
    (tmp_path / "link").symlink_to(path)
    for name in ("judgments.sqlite", "link"):
        with pytest.raises(InputError, match="a database, which the result"), atomic_file(tmp_path / name) as file:
            file.write(b"x")
    assert path.read_bytes() == content
    assert sorted(one.name for one in tmp_path.iterdir()) == ["judgments.sqlite", "link"]
