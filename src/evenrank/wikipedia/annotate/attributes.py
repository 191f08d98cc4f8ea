"""Attributes of a page's topic as the track has them: class, gender, occupation, bands of dates, letters, languages.

Classes (P31) are named as the wiki's pages about them are titled, so the names are in the language of the wiki and no
labels have to be read. For people, only "human" is kept: whatever else a person is said to be an instance of is not
written.

Assigning gender identities to people has errors, biases and ethical concerns. The values serve aggregate statistics;
nothing here prints the gender of a single person. The raw labels (P21, of humans only) are what is written; the track's
four categories are derived from them by whoever reads the file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from itertools import islice

from evenrank.wikipedia.annotate.facts import item_number, read_csv

INSTANCE_OF = "P31"
HUMAN = 5
MAX_NAMES = 5
"""Most names written for a page: most items have one class, a few have dozens."""
_DISAMBIGUATION = re.compile(r"\s*\([^()]*\)$")

ClassTitle = Callable[[int], str | None]
"""Item → title of its page in the wiki; None when it has none."""


def kept_classes(classes: list[int]) -> list[int]:
    """Classes of an item that are kept: all of them, but of a person only "human"."""
    return [HUMAN] if HUMAN in classes else classes


def class_names(classes: Iterable[int], title_of: ClassTitle, namespaces: frozenset[str] = frozenset()) -> list[str]:
    """Names of the first classes that have an article, in the order stated; "human" is not among them."""
    titles = (title_of(number) for number in classes if number != HUMAN)
    names = (_name(title, namespaces) for title in titles if title)
    return list(islice(dict.fromkeys(filter(None, names)), MAX_NAMES))


def _name(title: str, namespaces: frozenset[str]) -> str:
    """The title of the article about a class, `Single` of `Single (music)`; empty for pages about the wiki itself.

    The capital letter stays, because wikis differ in which words begin with one, and searches do not.
    """
    namespace, colon, _ = title.partition(":")
    if colon and namespace in namespaces:
        return ""
    return _DISAMBIGUATION.sub("", title) or title


GENDER = "P21"


@cache
def _labels() -> dict[int, str]:
    return {item_number(row["wikidata_id"]): row["label"] for row in read_csv("genders.csv")}


@cache
def _categories() -> dict[str, str]:
    return {row["label"]: row["category"] for row in read_csv("genders.csv")}


def gender_labels(values: Iterable[int]) -> list[str]:
    """Labels as in the track's metadata; a value without one is written as its item, e.g. `Q1234`."""
    return [_labels().get(value, f"Q{value}") for value in values]


def gender_category(label: str) -> str:
    """The track's category of a label: female, male, or third for all other identities."""
    return _categories().get(label, "third")


OCCUPATION = "P106"
SUBCLASS_OF = "P279"
MAX_STEPS = 8
"""Steps up the subclass relation, as in the track."""

Superclasses = Callable[[int], Iterable[int]]


@cache
def _heads() -> dict[int, str]:
    return {item_number(row["wikidata_id"]): row["occupation"] for row in read_csv("occupations.csv")}


@cache
def _too_general() -> frozenset[int]:
    return frozenset(item_number(row["wikidata_id"]) for row in read_csv("too_general.csv"))


def occupation_names(value: int, superclasses: Superclasses) -> frozenset[str]:
    """The track's occupations that a value of P106 belongs to; a way up ends at the first one found."""
    heads = _heads()
    level = {value}
    seen = {value}
    found: set[str] = set()
    for _ in range(MAX_STEPS + 1):
        found |= {heads[item] for item in level if item in heads}
        upward = (item for item in level if item not in heads and item not in _too_general())
        level = {parent for item in upward for parent in superclasses(item)} - seen
        seen |= level
        if not level:
            break
    return frozenset(found)


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


def is_wikipedia(site: str) -> bool:
    """Whether a site of an item's sitelinks is a Wikipedia."""
    return site.endswith("wiki") and site not in NO_LANGUAGE


def count_languages(sites: Iterable[str]) -> int:
    """Number of Wikipedias among the sites of an item's sitelinks."""
    return sum(map(is_wikipedia, sites))


LANGUAGE_BANDS = ("English only", "2-4 languages", "5+ languages")


def languages_band(n_languages: int) -> str:
    """Band of a number of languages; the page's own wiki counts as one."""
    return LANGUAGE_BANDS[(n_languages > 1) + (n_languages > 4)]


DATE_BANDS = (("2001-2006", 2006), ("2007-2011", 2011), ("2012-2016", 2016), ("2017-2022", 2022))
LAST_DATES = "2017-2022"
"""The track's last band; pages made later are in it too."""


def creation_band(date: str) -> str:
    """Band of a date such as `2004-05-17`."""
    year = int(date[:4])
    return next((band for band, last in DATE_BANDS if year <= last), LAST_DATES)
