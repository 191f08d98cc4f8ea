"""Page views: how often each page was read, from a table of two columns or from Wikimedia's own dumps of counts."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import input_error
from evenrank.io.compressed import open_compressed
from evenrank.io.faults import FaultLog

UNKNOWN_VIEWS = -1
MAX_FAULTS = 50
MOST_VIEWS = 2**53
"""Largest number that is believed."""
FIX = "give two columns (page id or title, views), or a file of Wikimedia's pageview_complete or pageviews"
_COMPLETE = re.compile(r"(?P<wiki>\S+) (?P<title>\S+) (?P<page>\d+|null) \S+ (?P<views>\d{1,15})(?: \S+)?")
"""A line of pageview_complete: wiki, title, page id, access, views of the day or month, and of its parts."""
_HOURLY = re.compile(r"(?P<wiki>\S+) (?P<title>\S+) (?P<page>)(?P<views>\d{1,15}) \d+")
"""A line of an hour's pageviews: wiki, title, no page id, views, and what once were bytes."""


@dataclass(frozen=True)
class PageViews:
    """Views of each page of a collection."""

    views: NDArray[np.int64]
    """Beside the page ids; `UNKNOWN_VIEWS` for a page that the file does not have."""
    n_elsewhere: int
    """Lines of pages that are not in the collection, or of other wikis."""


def read_page_views(
    path: str | os.PathLike[str], page_ids: NDArray[np.int32], titles: Iterable[str] | None, language: str = "en"
) -> PageViews:
    """The views in a file, for pages with ascending ids. Several lines of a page are added up.

    Lines are `page id or title, views` with a comma or tab between them, or `wiki title page-id access views …` or
    `wiki title views bytes` with blanks, as Wikimedia writes them for days and months and for hours; of those, the
    lines of the language's Wikipedia count. Titles can be matched only where the collection has articles.
    """
    row_of_id = {int(page): row for row, page in enumerate(page_ids.tolist())}
    row_of_title = {title: row for row, title in enumerate(titles or ()) if title}
    views = np.full(len(page_ids), UNKNOWN_VIEWS, np.int64)
    faults = FaultLog(MAX_FAULTS)
    n_elsewhere = 0
    for number, title, count in _entries(path, language, faults):
        row = row_of_id.get(int(number)) if number.isascii() and number.isdecimal() else None
        row = row_of_title.get(title.replace("_", " ")) if row is None else row
        if row is None:
            n_elsewhere += 1
        else:
            views[row] = max(views[row], 0) + count
        if faults.n_faults >= MAX_FAULTS:
            break
    faults.raise_if_any()
    if not (views >= 0).any():
        raise input_error(path, 0, f"no page of the collection among its {n_elsewhere:,} lines", FIX)
    return PageViews(views, n_elsewhere)


def _entries(path: str | os.PathLike[str], language: str, faults: FaultLog) -> Iterator[tuple[str, str, int]]:
    """Page id, if any, title and views of each entry; what cannot be read goes to `faults`."""
    with open_compressed(path) as raw, io.TextIOWrapper(raw, "utf-8", errors="replace", newline="") as file:
        first = next((text for text in file if text.strip()), "")
        lines = chain([first], file)
        ours = {_COMPLETE: {f"{language}.wikipedia"}, _HOURLY: {language, f"{language}.m", f"{language}.zero"}}
        for form, wikis in ours.items():
            if form.fullmatch(first.rstrip("\r\n")):
                for text in lines:
                    found = form.fullmatch(text.rstrip("\r\n"))
                    if found and found["wiki"] in wikis:
                        yield found["page"], found["title"], int(found["views"])
                return
        yield from _of_a_table(path, csv.reader(lines, delimiter="\t" if "\t" in first else ","), faults)


def _of_a_table(
    path: str | os.PathLike[str], rows: Iterable[list[str]], faults: FaultLog
) -> Iterator[tuple[str, str, int]]:
    """The entries of a table of two columns, the first of which is an id or a title."""
    for line, row in enumerate(rows, 1):
        if not row:
            continue
        page, count = row[0].strip(), row[1].strip().replace(",", "") if len(row) == 2 else ""
        if count.isascii() and count.isdecimal() and int(count) <= MOST_VIEWS:
            yield page, page, int(count)
        elif line > 1:  # the first line may be a head
            faults.add(path, line, f"no page and views, but {','.join(row)[:60]!r}", FIX)
