"""Source files of a collection: whether they are the track's own, and how old their data are."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path

import orjson

from evenrank.errors import EvenrankError
from evenrank.io.compressed import open_compressed

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


_DUMP = re.compile(r"[a-z0-9_]+-(?P<year>20\d\d)(?P<month>\d\d)(?P<day>\d\d)?-[a-z]")
"""Names of Wikimedia dumps: `enwiki-20211001-pages-articles.xml.bz2`, sometimes without the day."""

_EDIT = re.compile(rb"<timestamp>(2[0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]))T")
SEARCHED_BYTES = 1 << 26
"""Content of a dump in which edits are looked for: popular pages are early in a dump and edited every day."""
_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?", re.ASCII)


def dump_date(name: str) -> str | None:
    """The date in the name of a dump, as `2021-10-01` or `2021-10`; None for any other name."""
    found = _DUMP.match(name)
    if found is None:
        return None
    try:
        day = date(int(found["year"]), int(found["month"]), int(found["day"] or 1))
    except ValueError:
        return None
    return day.isoformat() if found["day"] else day.isoformat()[:7]


def check_date(text: str | None) -> None:
    """EvenrankError unless a text is a day or a month as `2021-10-01` or `2021-10`; None is no date."""
    if text is None:
        return
    try:
        is_date = bool(_DATE.fullmatch(text) and date.fromisoformat(f"{text}-01"[: len("2021-10-01")]))
    except ValueError:
        is_date = False
    if not is_date:
        raise EvenrankError(f"{text!r} is not a date; give one as 2021-10-01 or 2021-10")


def data_date(sources: Iterable[Path | None]) -> str | None:
    """The oldest date among the sources that have one: nothing newer is complete. None when none has.

    A source has the date in its name; metadata have those of the dumps that `annotate` made them from, which the
    file beside them names; a dump with neither is as new as the newest edit in its first part. Dates of files are not
    looked at: copying and packing change them.
    """
    given = [path for path in sources if path is not None]
    dates = [found for path in given for name in (path.name, *annotated_from(path)) if (found := dump_date(name))]
    if not dates:
        dates = [found for path in given if (found := newest_edit(path))]
    return min(dates, default=None)


def annotated_from(metadata: Path) -> list[str]:
    """Names of the dumps that `annotate` made metadata from; empty for other files."""
    try:
        inputs = orjson.loads(metadata.with_name(f"{metadata.name}.about.json").read_bytes())["inputs"]
        return [str(entry["name"]) for entry in inputs.values()]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []


def newest_edit(dump: Path) -> str | None:
    """The day of the newest edit in the first part of a MediaWiki XML dump; None for other files."""
    newest, n_read, tail = b"", 0, b""
    try:
        with open_compressed(dump) as file:
            while n_read < SEARCHED_BYTES and (piece := file.read(1 << 20)):
                if not n_read and b"<mediawiki" not in piece[:4096]:
                    return None
                n_read += len(piece)
                newest = max([newest, *_EDIT.findall(tail + piece)])
                tail = piece[-64:]
    except (OSError, EvenrankError):
        return None  # what is wrong with the file is said where it is read
    return date.fromisoformat(newest.decode()).isoformat() if newest else None
