"""`tools/audit.py` reads the lock file and what an index says, and does not take silence for good news."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tools.audit import LOCK, last_release, locked_versions


def test_every_locked_package_is_read() -> None:
    found = locked_versions(LOCK.read_text())
    assert {"numpy", "starlette", "tantivy", "uvicorn"} <= set(found)
    assert all(version[0].isdigit() for version in found.values())


@pytest.mark.parametrize(
    "files, date",
    [
        ([], None),
        ([{"filename": "a-1.tar.gz"}], None),
        ([{"upload-time": "2024-05-01T00:00:00Z"}, {"upload-time": "2026-05-01T00:00:00Z"}], (2026, 5, 1)),
    ],
)
def test_the_last_release_is_the_newest_file(files: list[dict[str, str]], date: tuple[int, int, int] | None) -> None:
    assert last_release({"files": files}) == (datetime(*date, tzinfo=UTC) if date else None)


def test_what_cannot_be_asked_is_no_success(tmp_path: Path) -> None:
    words = [sys.executable, "tools/audit.py", "--index", (tmp_path / "nowhere").as_uri()]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=LOCK.parent.parent)
    assert done.returncode == 3, done.stdout
    assert "dates of 0 of" in done.stdout
