"""Themes: what pages are about. Some themes are topics, the rest is background."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from evenrank.core.rng import derive
from evenrank.errors import EvenrankError
from evenrank.trec.dimensions import GEOGRAPHY
from evenrank.trec.generate import tables
from evenrank.trec.generate.names import place_names
from evenrank.trec.generate.settings import GenerateSettings

CONTINENTS = GEOGRAPHY.groups
"""Continents in the order of their published counts (`tables/groups.csv`); the first is Unknown."""
N_JARGON = 60
"""Invented terms of a theme."""


@dataclass(frozen=True, slots=True)
class Theme:
    """A subject with its words, and how it leans."""

    title: str
    subject: str
    roles: tuple[str, ...]
    things: tuple[str, ...]
    fields: tuple[str, ...]
    sites: tuple[str, ...]
    jargon: tuple[str, ...]
    """Invented terms, seldom among the keywords: what feedback can find."""
    people: float
    """Factor on the share of biographies."""
    women: float
    """Factor on the share of women."""
    home: tuple[str, ...]
    """Continents that are more frequent than elsewhere."""


def make_themes(settings: GenerateSettings) -> tuple[Theme, ...]:
    """Themes of the topics in topic order (titles ascend within a split), then background themes."""
    titles = _titles(settings)
    n_train = settings.n_train_topics
    n_topics = settings.n_topics
    ordered = sorted(titles[:n_train]) + sorted(titles[n_train:n_topics]) + titles[n_topics:]
    return tuple(_theme(settings.seed, *title) for title in ordered)


def _titles(settings: GenerateSettings) -> list[tuple[str, str, str]]:
    """(title, subject, home continent or "") in random order, plain subjects first; enough for all topics."""
    rng = derive(settings.seed, "titles")
    subjects = list(tables.toml("subjects"))
    plain = [(subject, subject, "") for subject in subjects]
    variants = [
        (pattern.format(subject=subject, continent=continent), subject, continent if "{continent}" in pattern else "")
        for subject, pattern in product(subjects, tables.toml("topics")["variants"])
        for continent in (CONTINENTS[1:] if "{continent}" in pattern else ("",))
        if continent != "Antarctica"
    ]
    if settings.n_topics > len(plain) + len(variants):
        raise EvenrankError(
            f"{settings.n_topics:,} topics are too many (at most {len(plain) + len(variants):,} can be made)"
        )
    shuffled = [plain[i] for i in rng.permutation(len(plain))]
    return shuffled + [variants[i] for i in rng.permutation(len(variants))[: max(0, settings.n_topics - len(plain))]]


def _theme(seed: int, title: str, subject: str, continent: str) -> Theme:
    """The theme of one title: the table's words in an order of its own, and its own synthetic terms."""
    entry = tables.toml("subjects")[subject]
    rng = derive(seed, "theme", title)
    region = continent or CONTINENTS[rng.integers(1, len(CONTINENTS))]
    return Theme(
        title=title,
        subject=subject,
        **{kind: _shuffled(entry[kind], rng) for kind in ("roles", "things", "fields", "sites")},
        jargon=tuple(place_names(region, N_JARGON, rng)),
        people=entry["people"],
        women=entry["women"],
        home=(continent,) if continent else tuple(entry["home"]),
    )


def _shuffled(words: list[str], rng: np.random.Generator) -> tuple[str, ...]:
    return tuple(words[i] for i in rng.permutation(len(words)))
