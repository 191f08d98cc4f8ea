"""Occupations of a person (P106) → the 32 of the 2022 track, by way of what they are subclasses of (P279)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from evenrank.wikipedia.annotate.facts import item_number, read_csv

PROPERTY = "P106"
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
