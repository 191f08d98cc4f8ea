"""Page views: how often each page was read, from a table of two columns or from Wikimedia's own counts."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import Fault, InputError, input_error
from evenrank.io.compressed import open_compressed

UNKNOWN_VIEWS = -1
MAX_FAULTS = 50
MOST_VIEWS = 2**53
"""Largest number that is believed."""
FIX = "give two columns (page id or title, views), or a file of Wikimedia's pageview_complete"


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

    Lines are `page id or title, views` with a comma or tab between them, or `wiki title page-id access views …` with
    blanks, as Wikimedia writes them; of those, the lines of `LANGUAGE.wikipedia` count. Titles can be matched only
    where the collection has articles.
    """
    row_of_id = {int(page): row for row, page in enumerate(page_ids.tolist())}
    row_of_title = {title: row for row, title in enumerate(titles or ()) if title}
    views = np.full(len(page_ids), UNKNOWN_VIEWS, np.int64)
    faults: list[Fault] = []
    n_elsewhere = 0
    for key, count in _entries(path, f"{language}.wikipedia", faults):
        row = row_of_id.get(int(key)) if key.isascii() and key.isdecimal() else None
        row = row_of_title.get(key.replace("_", " ")) if row is None else row
        if row is None:
            n_elsewhere += 1
        else:
            views[row] = max(views[row], 0) + count
        if len(faults) >= MAX_FAULTS:
            break
    if faults:
        raise InputError(faults)
    if not (views >= 0).any():
        raise input_error(path, 0, f"no page of the collection among its {n_elsewhere:,} lines", FIX)
    return PageViews(views, n_elsewhere)


def _entries(path: str | os.PathLike[str], wiki: str, faults: list[Fault]) -> Iterator[tuple[str, int]]:
    """Page and views of each entry; what cannot be read goes to `faults`."""
    with open_compressed(path) as raw, io.TextIOWrapper(raw, "utf-8", errors="replace", newline="") as file:
        first = next((text for text in file if text.strip()), "")
        lines = chain([first], file)
        if "\t" not in first and "," not in first and len(first.split(" ")) >= 5:
            cells: Iterator[list[str]] = (_counted(text, wiki) for text in lines)
        else:
            cells = iter(csv.reader(lines, delimiter="\t" if "\t" in first else ","))
        for line, row in enumerate(cells, 1):
            if not row:
                continue
            count = row[1].strip().replace(",", "") if len(row) == 2 else ""
            if count.isascii() and count.isdecimal() and int(count) <= MOST_VIEWS:
                yield row[0].strip(), int(count)
            elif line > 1:  # the first line may be a head
                faults.append(Fault(os.fspath(path), line, f"no page and views, but {','.join(row)[:60]!r}", FIX))


def _counted(text: str, wiki: str) -> list[str]:
    """Page and views of a line of Wikimedia's counts; nothing for another wiki."""
    cells = text.split()
    if len(cells) < 5 or cells[0] != wiki:
        return []
    return [cells[2] if cells[2].isdecimal() else cells[1], cells[4]]
