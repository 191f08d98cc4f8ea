"""How old the data of a collection are, from the sources themselves; copying changes the dates of files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from evenrank.errors import EvenrankError

_DUMP = re.compile(r"[a-z0-9_]+-(?P<year>20\d\d)(?P<month>\d\d)(?P<day>\d\d)?-[a-z]")
"""Names of Wikimedia dumps: `enwiki-20211001-pages-articles.xml.bz2`, sometimes without the day."""

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
    """The oldest date among the sources that have one: nothing newer is complete. None when none has."""
    dates = [found for path in sources if path is not None and (found := dump_date(path.name))]
    return min(dates, default=None)
