"""Everything that text is made of, prepared once: words with their weights, names, sentence patterns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from evenrank.core.rng import derive
from evenrank.trec.generate import tables
from evenrank.trec.generate.names import person_names, place_names
from evenrank.trec.generate.pages import N_ASPECTS
from evenrank.trec.generate.picker import Picker, zipf_weights
from evenrank.trec.generate.plan import CONTINENTS, Plan, Theme

LINKED = 0.12
"""Part of the words of a theme that are links."""
N_PLACES, N_PEOPLE = 80, 400
"""Places of a country and people of a continent that articles mention."""
KINDS = ("person", "place", "organisation", "work", "event", "concept")
"""Kinds of articles."""
TOPICAL_KINDS = ("thing", "field", "role", "site", "jargon")
"""Slots that a theme fills."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A sentence with %s for each slot."""

    text: str
    slots: tuple[str, ...]

    @classmethod
    def parse(cls, sentence: str) -> Pattern:
        """A pattern from text with {slots}."""
        slots = tuple(re.findall(r"\{(\w+)\}", sentence))
        return cls(re.sub(r"\{\w+\}", "%s", sentence.replace("%", "%%")), slots)


@dataclass(frozen=True, slots=True)
class SyntheticCountry:
    """A country with synthetic places."""

    name: str
    demonym: str
    places: Picker


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """Pickers and patterns for all articles of a collection."""

    general: dict[str, Picker]
    """By slot of the general sentences."""
    countries: dict[int, tuple[SyntheticCountry, ...]]
    """By continent."""
    people: dict[int, Picker]
    """Names of people by continent."""
    themes: tuple[tuple[dict[str, Picker], ...], ...]
    """By theme and aspect, then by slot; the aspect after the last is that of a page that only mentions."""
    patterns: dict[tuple[str, str, bool], list[Pattern]]
    """By kind of article, "general" or "topical", and whether the geography is known."""


@lru_cache(maxsize=2)
def make_lexicon(plan: Plan) -> Lexicon:
    """The lexicon of a plan."""
    seed = plan.settings.seed
    return Lexicon(
        general=_general_pickers(),
        countries={code: _countries(seed, name) for code, name in enumerate(CONTINENTS) if code},
        people={
            code: Picker.zipf(_sometimes_linked(person_names(name, N_PEOPLE, derive(seed, "people", name))))
            for code, name in enumerate(CONTINENTS)
            if code
        },
        themes=tuple(_theme_pickers(seed, theme) for theme in plan.themes),
        patterns=_patterns(),
    )


def _general_pickers() -> dict[str, Picker]:
    pickers = {slot: Picker.zipf(words) for slot, words in tables.toml("words").items()}
    return pickers | {"number": Picker.zipf([str(n) for n in [*range(11, 100), *range(100, 1000, 7)]])}


def _countries(seed: int, continent: str) -> tuple[SyntheticCountry, ...]:
    return tuple(
        SyntheticCountry(
            name=row["country"],
            demonym=row["demonym"],
            places=Picker.zipf(
                _sometimes_linked(place_names(continent, N_PLACES, derive(seed, "places", row["country"])))
            ),
        )
        for row in tables.table_rows("countries")
        if row["continent"] == continent
    )


def _sometimes_linked(names: list[str]) -> list[str]:
    """Every fourth name as a link."""
    return [f"[[{name}]]" if i % 4 == 0 else name for i, name in enumerate(names)]


def _theme_pickers(seed: int, theme: Theme) -> tuple[dict[str, Picker], ...]:
    """Pickers of each aspect: the theme's own frequencies, some words raised; then those of mere mentions."""
    rng = derive(seed, "words", theme.title)
    words = {kind: getattr(theme, kind if kind == "jargon" else f"{kind}s") for kind in TOPICAL_KINDS}
    base = {kind: zipf_weights(len(known)) for kind, known in words.items()}
    raised = [
        {kind: base[kind] * rng.choice([1.0, 8.0], len(known), p=[0.7, 0.3]) for kind, known in words.items()}
        for _ in range(N_ASPECTS)
    ]
    return tuple(
        {kind: _linked_picker(words[kind], aspect[kind]) for kind in TOPICAL_KINDS} for aspect in [*raised, base]
    )


def _linked_picker(words: tuple[str, ...], weights: np.ndarray) -> Picker:
    """Words, and the same words as links to their articles."""
    links = [f"[[{word[0].upper()}{word[1:]}|{word}]]" for word in words]
    return Picker.weighted([*words, *links], np.concatenate([weights * (1 - LINKED), weights * LINKED]))


def _patterns() -> dict[tuple[str, str, bool], list[Pattern]]:
    """Sentence patterns for each kind of article; those of the kind itself count twice."""
    table = tables.toml("sentences")
    patterns = {}
    for kind in KINDS:
        for located in (False, True):
            levels = ["any", *["impersonal"] * (kind != "person")]
            levels += [{"any": "located", "impersonal": "impersonal_located"}[level] for level in levels if located]
            plain = [s for part in ("general", kind, kind) for level in levels for s in table[part].get(level, [])]
            topical = [s for level in levels for s in table["topical"][level]] + table[kind].get("topical", [])
            patterns[kind, "general", located] = [Pattern.parse(s) for s in plain]
            patterns[kind, "topical", located] = [Pattern.parse(s) for s in topical]
    return patterns
