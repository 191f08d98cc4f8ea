"""What long commands tell about their work."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import orjson
import pytest

from evenrank.errors import EvenrankError
from evenrank.io.work_report import NAME, Work, read_work, reported
from evenrank.progress import track


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As much of a collection as a report needs."""
    (tmp_path / "manifest.json").touch()
    return tmp_path


def test_work_goes_on_where_nothing_can_be_told_of_it(folder: Path) -> None:
    (folder / NAME).mkdir()  # so that no file can take the name
    with reported(folder, "index"):
        pass
    with pytest.raises(EvenrankError, match="why it failed"), reported(folder, "index"):
        raise EvenrankError("why it failed")


def test_progress_is_written_while_the_work_is_done(folder: Path) -> None:
    seen = []
    with reported(folder, "index"):
        seen.extend(read_work(folder) for _ in track(range(4), "articles", 4))
    first, second, *_ = seen
    assert first is not None
    assert (first.command, first.stage, first.is_running) == ("index", "", True)
    assert second is not None
    assert (second.stage, second.done, second.total, second.share) == ("articles", 1.0, 4.0, 0.25)
    last = read_work(folder)
    assert last is not None
    assert (last.done, last.is_running, last.error) == (4.0, False, "")
    assert last.ended >= last.started


def test_a_failure_is_told_without_passwords_and_goes_on(folder: Path) -> None:
    with pytest.raises(EvenrankError), reported(folder, "index"):
        raise EvenrankError("opensearch://me:secret@host:9200 is away")
    work = read_work(folder)
    assert work is not None
    assert (work.is_running, work.error) == (False, "opensearch://me@host:9200 is away")


def test_a_command_that_was_killed_no_longer_runs(folder: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    work = Work("index", process=ended.pid)
    assert work.is_running or ended.poll() is not None
    ended.wait()
    assert not work.is_running
    assert replace(work, host="another-machine").is_running


def test_the_report_of_a_command_at_work_is_left_alone(folder: Path) -> None:
    at_work = Work("collection import", process=os.getppid())
    (folder / NAME).write_bytes(orjson.dumps(asdict(at_work)))
    with reported(folder, "index"):
        assert read_work(folder) == at_work
    assert read_work(folder) == at_work


def test_what_is_no_collection_gets_no_report_and_what_is_no_report_is_none(folder: Path, tmp_path: Path) -> None:
    (folder / "manifest.json").unlink()
    with reported(folder, "collection import"):
        pass
    assert list(tmp_path.iterdir()) == []
    (folder / NAME).write_text('{"command": 1, "more": 2}')
    assert read_work(folder) is None
