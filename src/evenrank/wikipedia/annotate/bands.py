"""Bands of the 2022 track: age of a topic, first letter of a title, number of languages, date of creation."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

DATE_PROPERTIES = {
    "P569": "date of birth",
    "P570": "date of death",
    "P571": "inception",
    "P575": "time of discovery or invention",
    "P576": "dissolved, abolished or demolished",
    "P577": "publication date",
    "P580": "start time",
    "P582": "end time",
    "P585": "point in time",
    "P1191": "date of first performance",
    "P1619": "date of official opening",
}
"""Properties that say when a topic was."""

BEFORE_1900, CENTURY_20, CENTURY_21 = "Pre-1900s", "20th century", "21st century"


def age_categories(years: Iterable[int]) -> list[str]:
    """Categories of some years, earliest first, without repetition."""
    found = {BEFORE_1900 if year < 1900 else CENTURY_20 if year < 2000 else CENTURY_21 for year in years}
    return [name for name in (BEFORE_1900, CENTURY_20, CENTURY_21) if name in found]


LETTER_BANDS = {"a-d": "abcd", "e-k": "efghijk", "l-r": "lmnopqr", "s-": "stuvwxyz"}
OTHER_LETTERS = "s-"
"""Band of digits, signs and other scripts, so that every page is in one."""


def first_letter(title: str) -> str:
    """First character of a title in lower case, accents removed; empty for an empty title."""
    return unicodedata.normalize("NFKD", title)[:1].lower()


def letter_band(title: str) -> str:
    """Band of a title's first letter."""
    letter = first_letter(title)
    return next((band for band, letters in LETTER_BANDS.items() if letter and letter in letters), OTHER_LETTERS)


NO_LANGUAGE = frozenset(
    f"{name}wiki"
    for name in (
        *("commons", "species", "meta", "wikidata", "mediawiki", "sources", "incubator", "outreach"),
        *("foundation", "wikimania", "wikifunctions", "wikiversitybeta", "betawikiversity", "testwikidata", "test"),
    )
)
"""Sites whose name ends like a Wikipedia's but that are none."""


def count_languages(sites: Iterable[str]) -> int:
    """Number of Wikipedias among the sites of an item's sitelinks."""
    return sum(1 for site in sites if site.endswith("wiki") and site not in NO_LANGUAGE)


def languages_band(n_languages: int) -> str:
    """Band of a number of languages; the page's own wiki counts as one."""
    return "English only" if n_languages <= 1 else "2-4 languages" if n_languages <= 4 else "5+ languages"


DATE_BANDS = (("2001-2006", 2006), ("2007-2011", 2011), ("2012-2016", 2016), ("2017-2022", 2022))
LAST_DATES = "2017-2022"
"""The track's last band; pages made later are in it too."""


def creation_band(date: str) -> str:
    """Band of a date such as `2004-05-17`."""
    year = int(date[:4])
    return next((band for band, last in DATE_BANDS if year <= last), LAST_DATES)
