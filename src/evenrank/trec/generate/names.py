"""Invented names of people and places, from syllables by continent."""

from __future__ import annotations

from functools import cache
from math import gcd, prod

import numpy as np

from evenrank.trec.generate import tables


@cache
def syllables(continent: str) -> dict[str, list[str]]:
    """Syllable lists of a continent."""
    lists: dict[str, list[str]] = tables.toml("names")[continent]
    return lists


def place_names(continent: str, n: int, rng: np.random.Generator) -> list[str]:
    """`n` names of places, different ones as far as the syllables reach."""
    lists = syllables(continent)
    parts = [lists["starts"], lists["middles"], lists["place_ends"]]
    size = len(parts[0]) * len(parts[1]) * len(parts[2])
    numbers = rng.choice(size, n, replace=n > size)
    return ["".join(_digits(int(number), parts)) for number in numbers]


def person_names(continent: str, n: int, rng: np.random.Generator) -> list[str]:
    """`n` full names of women and men."""
    lists = syllables(continent)
    given_ends = lists["female_ends"] + lists["male_ends"]
    parts = [lists["starts"], given_ends, lists["starts"], lists["middles"], lists["surname_ends"]]
    columns = [rng.integers(0, len(part), n) for part in parts]
    picked = ([part[i] for i in column] for part, column in zip(parts, columns, strict=True))
    return [f"{a}{b} {c}{d}{e}" for a, b, c, d, e in zip(*picked, strict=True)]


def unique_person(continent: str, gender: str, number: int, offset: int) -> tuple[str, str]:
    """Given name and surname of page `number`: no two pages of a continent and gender share both.

    People outside female and male draw from both lists of given names.
    """
    lists = syllables(continent)
    ends = {"female": lists["female_ends"], "male": lists["male_ends"]}
    given_ends = ends.get(gender, lists["female_ends"] + lists["male_ends"])
    parts = (lists["starts"], given_ends, lists["starts"], lists["middles"], lists["surname_ends"])
    turn, digits = _scrambled(number, offset, parts)
    extra = lists["middles"][turn % len(lists["middles"])]
    return digits[0] + digits[1], digits[2] + digits[3] + extra + digits[4]


def unique_place(continent: str, number: int, offset: int) -> str:
    """Name of a place for page `number`; a further syllable for every turn through the list of names."""
    lists = syllables(continent)
    turn, digits = _scrambled(number, offset, (lists["starts"], lists["middles"], lists["place_ends"]))
    middles = lists["middles"]
    extra = middles[turn % len(middles)] + (middles[turn // len(middles) % len(middles)])
    return digits[0] + digits[1] + extra + digits[2]


def _scrambled(number: int, offset: int, parts: tuple[list[str], ...]) -> tuple[int, list[str]]:
    """How often the names were used up before `number`, and its syllables: the number, scrambled, is their index."""
    size = prod(len(part) for part in parts)
    turn, rest = divmod(number, size)
    return turn, _digits((rest + offset) * _multiplier(size) % size, parts)


@cache
def _multiplier(size: int) -> int:
    """A number without a common factor with `size`, so that multiplying by it only reorders the names."""
    return next(m for m in range(int(size * 0.618) | 1, 2 * size, 2) if gcd(m, size) == 1)


def _digits(number: int, parts: tuple[list[str], ...] | list[list[str]]) -> list[str]:
    """One syllable of each list, by the mixed-radix digits of `number`."""
    picked = []
    for part in parts:
        number, digit = divmod(number, len(part))
        picked.append(part[digit])
    return picked
