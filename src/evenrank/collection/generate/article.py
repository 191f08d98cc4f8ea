"""Articles as wikitext; how much there is follows the quality score."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from evenrank.collection.generate import tables
from evenrank.collection.generate.lexicon import Pattern
from evenrank.collection.generate.markup import categories, image, infobox, plain, reference, table
from evenrank.collection.generate.plan import Plan
from evenrank.collection.generate.prose import Prose, Voice, say, with_articles
from evenrank.collection.generate.subject import Subject

SENTENCES_OF_STUB, SENTENCES_OF_BEST = 3, 120
"""Sentences of the poorest and of the best article."""


def write_article(plan: Plan, prose: Prose, subject: Subject) -> str:
    """The wikitext of one article."""
    rng, score = prose.rng, subject.score
    n = round((SENTENCES_OF_STUB + SENTENCES_OF_BEST * score**1.6) * rng.lognormal(0, 0.2)) + 1
    sentences = _sentences(prose, subject, n)
    n_lead = min(n, 2 + round(4 * score))
    parts = [*_top(subject, rng), " ".join([_opening(subject, rng), *sentences[:n_lead]])]
    parts += _sections(subject, sentences[n_lead:], rng)
    return with_articles("\n\n".join(parts + _bottom(plan, subject, rng)))


def _sentences(prose: Prose, subject: Subject, n: int) -> list[str]:
    """`n` sentences, general ones and such about the themes, some with references."""
    rng = prose.rng
    patterns = prose.lexicon.patterns
    general = patterns[subject.kind, "general", subject.located]
    topical = patterns[subject.kind, "topical", subject.located]
    source = subject.theme_parts.searchsorted(rng.random(n), side="right").tolist()
    picks = rng.integers(0, 1 << 20, n).tolist()
    is_cited = (rng.random(n) < 0.08 + 0.5 * subject.score).tolist()
    n_themes = len(subject.theme_voices)
    sentences = []
    for theme, pick, cited in zip(source, picks, is_cited, strict=True):
        if theme < n_themes:
            text = say(topical[pick % len(topical)], subject.theme_voices[theme])
        else:
            text = say(general[pick % len(general)], subject.voice)
        sentences.append(text + reference(subject.voice, pick, pick >> 5) if cited else text)
    return sentences


def _opening(subject: Subject, rng: np.random.Generator) -> str:
    """The first sentence, with the title in bold; a second continent is named in a second one."""
    choices = _openings(subject.kind, subject.located)
    voice = subject.shown_voice | {"born": lambda: _life(subject.voice, rng)}
    text = say(choices[rng.integers(len(choices))], voice)
    if subject.second_country:
        text += f" It is also connected with [[{_bare(subject.second_country.name)}]]."
    return text


def _life(voice: Voice, rng: np.random.Generator) -> str:
    """Dates of a life."""
    year, day = int(rng.integers(1800, 1998)), int(rng.integers(1, 29))
    born = f"{day} {voice['month']()} {year}"
    return f"born {born}" if year > 1940 else f"{born} – {year + int(rng.integers(30, 95))}"


@cache
def _openings(kind: str, located: bool) -> list[Pattern]:
    entry = tables.toml("articles")[kind]
    return [Pattern.parse(text) for text in entry["openings" if located else "openings_unlocated"]]


def _top(subject: Subject, rng: np.random.Generator) -> list[str]:
    """Short description and infobox, for all but the poorest articles."""
    voice = subject.shown_voice
    if rng.random() > 0.35 + 2 * subject.score:
        return []
    place = plain(voice["place"]()) + (f", [[{_bare(subject.country.name)}]]" if subject.located else "")
    fields = {"image": f"{subject.title.replace(' ', '_')}.jpg"} if rng.random() < subject.score else {}
    if subject.kind == "person":
        fields |= {"birth_place": place, "occupation": plain(voice["role"]()), "years_active": f"{voice['year']()}–"}
    else:
        fields |= {"location": place, "established": voice["year"](), "type": plain(voice["site"]())}
    kind = tables.toml("articles")[subject.kind]["infobox"]
    return ["{{Use dmy dates|date=May 2021}}\n" + infobox(kind, subject.title, fields)]


def _sections(subject: Subject, sentences: list[str], rng: np.random.Generator) -> list[str]:
    """Headings, paragraphs, images and tables."""
    headings = _headings(subject.kind, rng)
    parts: list[str] = []
    done = 0
    while done < len(sentences):
        n_section = int(rng.integers(4, 11))
        n_done = len(parts)
        parts.append(_heading(headings, len(parts)))
        if rng.random() < 0.15 + 0.6 * subject.score:
            parts.append(image(subject.voice, subject.title, n_done))
        middle = done + max(3, n_section // 2)
        end = done + n_section
        parts += [" ".join(part) for part in (sentences[done:middle], sentences[middle:end]) if part]
        done = end
    if subject.score > 0.4 and rng.random() < 0.5:
        parts.append(table(subject.voice, int(rng.integers(3, 9))))
    if parts and rng.random() < 0.05:
        parts.append(f"<!-- Please do not change the {subject.voice['noun']()} without a source. -->")
    return parts


def _headings(kind: str, rng: np.random.Generator) -> list[str]:
    """Headings in an order of their own, the kind's before the general ones."""
    known: dict[str, Any] = tables.toml("articles")
    own, general, sub = known[kind]["headings"], known["headings"]["general"], known["headings"]["sub"]
    main = [own[i] for i in np.sort(rng.permutation(len(own))[:5])] + [
        general[i] for i in rng.permutation(len(general))
    ]
    below = [sub[i] for i in rng.permutation(len(sub))]
    lines = []
    for i, heading in enumerate(dict.fromkeys(main)):
        lines.append(f"== {heading} ==")
        lines += [f"=== {below[i]} ==="] if i < len(below) and i % 2 else []
    return lines


def _heading(headings: list[str], number: int) -> str:
    return headings[number % len(headings)]


def _bottom(plan: Plan, subject: Subject, rng: np.random.Generator) -> list[str]:
    """Links, references, sort key, categories and stub notice."""
    voice, parts = subject.voice, []
    if subject.score > 0.2:
        parts.append("== See also ==\n" + "\n".join(f"* [[{plain(voice['place']())}]]" for _ in range(3)))
    parts.append("== References ==\n{{reflist}}")
    if rng.random() < subject.score:
        parts.append("== External links ==\n* [https://example.org/ Official website]")
    if subject.sort_key:
        parts.append(f"{{{{DEFAULTSORT:{subject.sort_key}}}}}")
    parts.append(categories(_category_names(plan, subject, rng)))
    if subject.score < 1 / 6:
        parts.append("{{stub}}")
    return parts


def _category_names(plan: Plan, subject: Subject, rng: np.random.Generator) -> list[str]:
    """Categories by theme, country and year; themes are left out now and then."""
    themes = [plan.themes[theme] for theme in subject.belongs_to]
    names = [theme.subject for theme in themes if rng.random() < 0.5]
    if subject.located:
        people = f"{subject.country.demonym} people"
        names.append(people if subject.kind == "person" else f"{subject.kind}s in {subject.country.name}")
    year = subject.voice["year"]()
    names.append(f"{year} births" if subject.kind == "person" else f"{year} establishments")
    return [*names, *(f"{subject.voice['adj']()} {subject.voice['nouns']()}" for _ in range(round(3 * subject.score)))]


def _bare(country: str) -> str:
    """A country's name without its article."""
    return country.removeprefix("the ")
