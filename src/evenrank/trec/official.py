"""The track's own files: is a file what it says it is?"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

LARGE = 2 << 30
"""Files over this size are not read a second time for a checksum."""


@dataclass(frozen=True, slots=True)
class OfficialFile:
    """Facts about one file of the track."""

    name: str
    about: str
    size_bytes: int | None = None
    """None where it is not known, so that it cannot be checked."""
    md5: str | None = None
    """None where it is not known."""
    url: str | None = None
    """Address of its own; None for the one that the paper gives for all."""
    year: int = 2021
    """Year of the track."""


@cache
def _table() -> dict[str, object]:
    return tomllib.loads(files("evenrank.trec").joinpath("official.toml").read_text("utf-8"))


def official_files() -> dict[str, OfficialFile]:
    """The track's files by name."""
    table = _table()["files"]
    assert isinstance(table, dict)
    return {name: OfficialFile(name, **facts) for name, facts in table.items()}


def official_counts() -> dict[str, int]:
    """How much the track's files hold."""
    counts = _table()["counts"]
    assert isinstance(counts, dict)
    return counts


def base_url() -> str:
    """The address that the paper gives for the files."""
    return str(_table()["base_url"])


def md5_of(path: Path) -> str:
    """The file's md5, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def is_official(name: str, size_bytes: int, md5: str | None) -> bool | None:
    """Whether a file of that name has the official size and md5; None when the track has none or they are not known.

    Without an md5 (a file too large to be read twice) the size decides.
    """
    facts = official_files().get(name)
    if facts is None or facts.size_bytes is None:
        return None
    return size_bytes == facts.size_bytes and md5 in (facts.md5, None)
