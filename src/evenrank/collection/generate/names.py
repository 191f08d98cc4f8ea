"""Invented names of people and places, from syllables by continent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import gcd, prod

import numpy as np

from evenrank.collection.generate import tables


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


@dataclass(frozen=True, slots=True)
class UniqueName:
    """Names that differ from page to page: a page's number, scrambled, written in syllables."""

    parts: tuple[list[str], ...]
    """Syllable lists; a name takes one from each."""
    offset: int
    """Where the numbering starts, from the seed."""

    def of(self, number: int) -> list[str]:
        """The syllables of page `number`; a numeral is added when the syllables are used up."""
        size = prod(len(part) for part in self.parts)
        scrambled = ((number + self.offset) * _multiplier(size)) % size
        digits = _digits(scrambled, self.parts)
        turn = number // size
        return [*digits[:-1], digits[-1] + (f" {turn + 1}" if turn else "")]


def surname_parts(continent: str) -> tuple[list[str], ...]:
    """Syllable lists of surnames."""
    lists = syllables(continent)
    return lists["starts"], lists["middles"], lists["middles"][1:], lists["surname_ends"]


def given_parts(continent: str, gender: str) -> tuple[list[str], ...]:
    """Syllable lists of given names; people outside female and male draw from both lists."""
    lists = syllables(continent)
    ends = {"female": lists["female_ends"], "male": lists["male_ends"]}
    return lists["starts"], ends.get(gender, lists["female_ends"] + lists["male_ends"])


def stem_parts(continent: str) -> tuple[list[str], ...]:
    """Syllable lists of places with unique names."""
    lists = syllables(continent)
    return lists["starts"], lists["middles"], lists["middles"][1:], lists["place_ends"]


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
