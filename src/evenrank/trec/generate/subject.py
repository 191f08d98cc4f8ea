"""What one article is about: kind, title, country, voice and themes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from evenrank.trec.generate import tables
from evenrank.trec.generate.amounts import Amounts
from evenrank.trec.generate.lexicon import SyntheticCountry
from evenrank.trec.generate.names import unique_person, unique_place
from evenrank.trec.generate.pages import N_ASPECTS, PageBlock
from evenrank.trec.generate.plan import GENDERS
from evenrank.trec.generate.prose import Prose, Voice, capitalised, constant, plain_text, with_articles
from evenrank.trec.generate.themes import CONTINENTS
from evenrank.trec.generate.years import Years, draw_start

SHOWN = 0.1
"""Strength from which the first sentence, the title and the infobox may show a theme."""
SETTLED = [code for code, name in enumerate(CONTINENTS) if name not in ("Unknown", "Antarctica")]
"""Continents that lend names to pages without a geography."""
MAX_TOPICAL = 0.85
"""Largest part of an article that speaks about its themes."""


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """The subject of an article with everything needed to write about it."""

    kind: str
    title: str
    sort_key: str
    """For DEFAULTSORT; empty when the title will do."""
    gender: str
    located: bool
    """Whether the text names the country."""
    country: SyntheticCountry
    second_country: SyntheticCountry | None
    score: float
    n_sentences: int
    """Sentences after the opening one."""
    n_references: int
    n_headings: int
    n_images: int
    start: int
    """Year of birth or foundation."""
    voice: Voice
    shown_voice: Voice
    """The voice of the theme that the opening shows, or the plain voice."""
    theme_voices: list[Voice]
    theme_parts: np.ndarray
    """Cumulated parts of the sentences that go to each theme voice."""
    belongs_to: list[int]
    """Themes whose categories the article carries."""


def make_subject(prose: Prose, pages: PageBlock, amounts: Amounts, row: int, number: int, offset: int) -> Subject:
    """The subject of page `row`; `number` is the page's own number in the collection."""
    rng = prose.rng
    gender = GENDERS[pages.gender[row]]
    known = int(pages.geography[row])
    continent = known or int(rng.choice(SETTLED))
    country = _country(prose, continent)
    second = int(pages.second_geography[row])
    kind = "person" if pages.gender[row] else _kind(bool(known), rng)
    members = pages.members
    mine = slice(*members.page.searchsorted([row, row + 1]))
    strength, relevant, theme = members.strength[mine], members.is_relevant[mine], members.theme[mine]
    aspect = np.where(relevant, members.aspect[mine], N_ASPECTS)
    start = draw_start(rng)
    bare = prose.page_voice(continent, country, gender, Years(start + (20 if gender != "unknown" else 0), rng))
    theme_voices = [prose.theme_voice(bare, int(t), int(a)) for t, a in zip(theme, aspect, strict=True)]
    shown = _shown(strength * relevant, theme_voices, bare)
    title, calls, sort_key = _naming(kind, gender, CONTINENTS[continent], number, offset, shown)
    naming = prose.naming(title, calls) | {"born": constant(_life(start, bare))}
    return Subject(
        kind=kind,
        title=title,
        sort_key=sort_key,
        gender=gender,
        located=bool(known),
        country=country,
        second_country=_country(prose, second) if second else None,
        score=float(pages.score[row]),
        n_sentences=int(amounts.sentences[row]),
        n_references=int(amounts.references[row]),
        n_headings=int(amounts.headings[row]),
        n_images=int(amounts.images[row]),
        start=start,
        voice=bare | naming,
        shown_voice=shown | naming,
        theme_voices=[voice | naming for voice in theme_voices],
        theme_parts=np.cumsum(strength) * min(1.0, MAX_TOPICAL / max(strength.sum(), 1e-9)),
        belongs_to=theme[relevant & (strength > SHOWN / 2)].tolist(),
    )


def _country(prose: Prose, continent: int) -> SyntheticCountry:
    countries = prose.lexicon.countries[continent]
    return countries[int(len(countries) * prose.rng.random() ** 2)]


def _kind(located: bool, rng: np.random.Generator) -> str:
    kinds, located_parts, unlocated_parts = _kinds()
    parts = located_parts if located else unlocated_parts
    return kinds[int(parts.searchsorted(rng.random(), side="right").clip(max=len(kinds) - 1))]


@cache
def _kinds() -> tuple[list[str], np.ndarray, np.ndarray]:
    """Kinds of articles and their cumulated shares, with and without a known geography."""
    entries = {kind: entry for kind, entry in tables.toml("articles").items() if kind != "headings"}
    shares = [np.array([e[key] for e in entries.values()]) for key in ("weight", "weight_unlocated")]
    return list(entries), np.cumsum(shares[0]) / shares[0].sum(), np.cumsum(shares[1]) / shares[1].sum()


def _shown(strength: np.ndarray, voices: list[Voice], bare: Voice) -> Voice:
    """The voice of the strongest theme that the page belongs to."""
    if not len(strength) or strength.max() < SHOWN:
        return bare
    return voices[int(strength.argmax())]


def _naming(
    kind: str, gender: str, continent: str, number: int, offset: int, voice: Voice
) -> tuple[str, list[str], str]:
    """Title, what later sentences call the subject, and the sort key."""
    if kind == "person":
        first, last = unique_person(continent, gender, number, offset)
        return f"{first} {last}", [last], f"{last}, {first}"
    entry = tables.toml("articles")[kind]
    stem = unique_place(continent, number, offset)
    pattern = entry["titles"][number // 7 % len(entry["titles"])]
    title = _title(pattern, stem, voice)
    return title, [title if len(title) < 25 else stem, *entry["calls"]], ""


def _life(start: int, voice: Voice) -> str:
    """Dates of a life that began in year `start`."""
    born = f"{start * 13 % 28 + 1} {voice['month']()} {start}"
    return f"born {born}" if start > 1935 else f"{born} – {start + 66 + start * 7 % 25}"


def _title(pattern: str, stem: str, voice: Voice) -> str:
    words = {slot: plain_text(voice[slot]()) for slot in ("site", "field", "thing", "role", "object", "adj", "year")}
    capitals = {slot.capitalize(): capitalised(word) for slot, word in words.items()}
    capitals |= {slot.capitalize(): _headline(words[slot]) for slot in ("site", "role")}
    return with_articles(pattern.format(stem=stem, **words, **capitals))


def _headline(words: str) -> str:
    """Words with capitals, small words without."""
    return " ".join(word if word in ("of", "for", "the") else capitalised(word) for word in words.split(" "))
