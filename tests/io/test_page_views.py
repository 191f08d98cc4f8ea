"""Page views: two columns, Wikimedia's own counts, and what is refused."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest

from evenrank.errors import InputError
from evenrank.io.page_views import read_page_views

IDS = np.array([3, 12, 40], np.int32)
TITLES = ["Anarchism", "Chess opening", "1984"]


def views_of(path: Path, text: str, **options: str) -> list[int]:
    path.write_text(text, "utf-8")
    return read_page_views(path, IDS, TITLES, **options).views.tolist()


@pytest.mark.parametrize(
    "text",
    ["page_id,views\n3,10\n40,7\n", "title\tviews\nAnarchism\t10\n1984\t7\n", '3,10\n1984,"7"\nElsewhere,5\n'],
)
def test_tables_of_ids_and_titles(tmp_path: Path, text: str) -> None:
    assert views_of(tmp_path / "views", text) == [10, -1, 7]


def test_counts_of_wikimedia_add_up_over_kinds_of_access(tmp_path: Path) -> None:
    lines = (
        "de.wikipedia Anarchism 3 desktop 900 A900\n"
        "en.wikipedia Chess_opening null desktop 4 A4\n"
        "en.wikipedia Chess_opening 12 mobile-web 6 B6\n"
        "en.wikipedia Anarchism 3 desktop 1 C1\n"
    )
    (tmp_path / "views.bz2").write_bytes(bz2.compress(lines.encode()))
    assert read_page_views(tmp_path / "views.bz2", IDS, TITLES).views.tolist() == [1, 10, -1]
    assert views_of(tmp_path / "views", lines, language="de") == [900, -1, -1]


def test_counts_of_hours_add_up_over_the_sites_of_a_language(tmp_path: Path) -> None:
    """Hours are files one behind the other. A title that is a number is no page id."""
    hour = (
        '"" - 1 0\nde Anarchism 900 0\nen - 3 0\nen Anarchism 5 0\nen 1984 7 0\nen 12 900 0\n'
        "en.m Anarchism 6 0\nen.d Anarchism 400 0\nen.m.v Anarchism 50 0\nen Chess_opening 2 0\nen broken line\n"
    )
    (tmp_path / "hours.gz").write_bytes(gzip.compress(hour.encode()) + gzip.compress(b"en Chess_opening 3 0\n"))
    assert read_page_views(tmp_path / "hours.gz", IDS, TITLES).views.tolist() == [11, 5, 7]
    assert views_of(tmp_path / "hour", hour, language="de") == [900, -1, -1]


def test_titles_with_commas_do_not_make_a_table(tmp_path: Path) -> None:
    lines = "aa.wikibooks Main,_Page null desktop 4 A4\nen.wikipedia 12 null desktop 900 A900\n"
    lines += "en.wikipedia 1984 40 desktop 2 A2\n"
    assert views_of(tmp_path / "views", lines) == [-1, -1, 2]


@pytest.mark.parametrize(
    "text, found",
    [
        ("3,10\n12,many\n", "line 2|:2"),
        ("99,10\n", "no page of the collection"),
        ("", "no page of the collection"),
        ("3,10\n12,-4\n40,1,2\n", "no page and views"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, found: str) -> None:
    with pytest.raises(InputError, match=found):
        views_of(tmp_path / "views.csv", text)
