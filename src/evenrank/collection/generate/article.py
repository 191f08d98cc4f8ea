"""Articles as wikitext; how much there is follows the quality score."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenrank.collection.generate import tables
from evenrank.collection.generate.lexicon import Pattern
from evenrank.collection.generate.markup import categories, image, infobox, reference, table
from evenrank.collection.generate.plan import Plan
from evenrank.collection.generate.prose import Prose, constant, plain, say, with_articles
from evenrank.collection.generate.subject import Subject

SENTENCES_OF_STUB, SENTENCES_OF_BEST = 3, 120
"""Sentences of the poorest and of the best article."""


def expected_sentences(score: ArrayLike) -> NDArray[np.float64]:
    """Sentences of an article with this quality score, on average."""
    amount: NDArray[np.float64] = SENTENCES_OF_STUB + SENTENCES_OF_BEST * np.asarray(score, np.float64) ** 1.6
    return amount


def write_article(plan: Plan, prose: Prose, subject: Subject) -> str:
    """The wikitext of one article."""
    rng, score = prose.rng, subject.score
    n = round(float(expected_sentences(score)) * rng.lognormal(0, 0.2)) + 1
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
    text = say(choices[rng.integers(len(choices))], subject.shown_voice)
    if subject.second_country:
        text += f" It is also connected with [[{_bare(subject.second_country.name)}]]."
    return text


@cache
def _openings(kind: str, located: bool) -> list[Pattern]:
    entry = tables.toml("articles")[kind]
    return [Pattern.parse(text) for text in entry["openings" if located else "openings_unlocated"]]


def _top(subject: Subject, rng: np.random.Generator) -> list[str]:
    """The infobox, for all but the poorest articles."""
    if rng.random() > 0.35 + 2 * subject.score:
        return []
    voice = subject.shown_voice
    home = voice["town"]() + (f", [[{_bare(subject.country.name)}]]" if subject.located else "")
    fields = {"image": f"{subject.title.replace(' ', '_')}.jpg"} if rng.random() < subject.score else {}
    kind, patterns = _infobox(subject.kind)
    said = {field: say(pattern, voice | {"home": constant(home)}) for field, pattern in patterns.items()}
    return ["{{Use dmy dates|date=May 2021}}\n" + infobox(kind, subject.title, fields | said)]


@cache
def _infobox(kind: str) -> tuple[str, dict[str, Pattern]]:
    """Template and parameters of a kind's infobox."""
    entry = tables.toml("articles")[kind]
    return entry["infobox"], {field: Pattern.parse(text) for field, text in entry["fields"].items()}


def _sections(subject: Subject, sentences: list[str], rng: np.random.Generator) -> list[str]:
    """Headings, paragraphs, images and tables."""
    headings = _headings(subject.kind, rng)
    parts: list[str] = []
    done = 0
    while done < len(sentences):
        middle, end = done + int(rng.integers(3, 6)), done + int(rng.integers(4, 11))
        parts.append(next(headings))
        if rng.random() < 0.15 + 0.6 * subject.score:
            parts.append(image(subject.voice, subject.title, done))
        parts += [" ".join(part) for part in (sentences[done:middle], sentences[middle:end]) if part]
        done = max(middle, end)
    if subject.score > 0.4 and rng.random() < 0.5:
        parts.append(table(subject.voice, int(rng.integers(3, 9))))
    if parts and rng.random() < 0.05:
        parts.append(f"<!-- Please do not move the {subject.voice['object']()} without a source. -->")
    return parts


def _headings(kind: str, rng: np.random.Generator) -> Iterator[str]:
    """Headings: those of the kind in their order, then general ones; some have headings below them."""
    known: dict[str, Any] = tables.toml("articles")
    own, general, below = known[kind]["headings"], known["headings"]["general"], known["headings"]["sub"]
    chosen = [own[i] for i in np.sort(rng.permutation(len(own))[:6])]
    main = dict.fromkeys([*chosen, *(general[i] for i in rng.permutation(len(general)))])
    lower = iter([below[i] for i in rng.permutation(len(below))])
    for heading in cycle(main):
        yield f"== {heading} =="
        for _ in range(max(0, int(rng.integers(-2, 3)))):
            if (sub := next(lower, None)) is not None:
                yield f"=== {sub} ==="


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
    names.append(f"{subject.start} births" if subject.kind == "person" else f"{subject.start} establishments")
    return [
        *names,
        *(f"{subject.voice['adj']()} {subject.voice['objects']()}" for _ in range(round(3 * subject.score))),
    ]


def _bare(country: str) -> str:
    """A country's name without its article."""
    return country.removeprefix("the ")
