"""Gender of the person a page is about, as Wikidata states it (P21) for humans (P31: Q5).

Assigning gender identities to people has errors, biases and ethical concerns. The values serve aggregate statistics;
nothing here prints the gender of a single person. The raw labels are what is written; the track's four categories
are derived from them by whoever reads the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from evenrank.wikipedia.annotate.facts import item_number, read_csv

PROPERTY = "P21"


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
