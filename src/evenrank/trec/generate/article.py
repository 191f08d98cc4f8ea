"""Articles as wikitext; how much there is follows the quality score (amounts.py)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import cycle, pairwise
from typing import Any

import numpy as np

from evenrank.trec.generate import tables
from evenrank.trec.generate.lexicon import Pattern
from evenrank.trec.generate.markup import categories, image, infobox, reference, wikitext_table
from evenrank.trec.generate.plan import Plan
from evenrank.trec.generate.prose import Prose, constant, make_sentence, with_articles
from evenrank.trec.generate.subject import Subject

BOTTOM = ((5, "See also"), (1, "References"), (7, "External links"))
"""Sections at the end of articles with at least so many headings."""


def write_article(plan: Plan, prose: Prose, subject: Subject) -> str:
    """The wikitext of one article."""
    rng = prose.rng
    n_headings = subject.n_headings
    sentences = [_opening(subject, rng), *_sentences(prose, subject)]
    bottom = [name for least, name in BOTTOM if n_headings >= least]
    n_sections = min(n_headings - len(bottom), len(sentences) // 3)
    n_lead = len(sentences) if n_sections < 1 else min(6, 1 + len(sentences) // 5)
    parts = [*_top(subject, rng), " ".join(sentences[:n_lead])]
    if n_sections > 0:
        parts += _sections(subject, sentences[n_lead:], n_sections, rng)
    return with_articles("\n\n".join(parts + _bottom(plan, subject, bottom, rng)))


def _sentences(prose: Prose, subject: Subject) -> list[str]:
    """General sentences and such about the themes, some with references."""
    rng = prose.rng
    n = subject.n_sentences
    patterns = prose.lexicon.patterns
    general = patterns[subject.kind, "general", subject.located]
    topical = patterns[subject.kind, "topical", subject.located]
    source = subject.theme_parts.searchsorted(rng.random(n), side="right").tolist()
    picks = rng.integers(0, 1 << 20, n).tolist()
    cited = set(rng.permutation(n)[: subject.n_references].tolist())
    n_themes = len(subject.theme_voices)
    sentences = []
    for place, (theme, pick) in enumerate(zip(source, picks, strict=True)):
        if theme < n_themes:
            text = make_sentence(topical[pick % len(topical)], subject.theme_voices[theme])
        else:
            text = make_sentence(general[pick % len(general)], subject.voice)
        sentences.append(text + reference(subject.voice, pick, pick >> 5) if place in cited else text)
    return sentences


def _opening(subject: Subject, rng: np.random.Generator) -> str:
    """The first sentence, with the title in bold; a second continent is named in a second one."""
    choices = _openings(subject.kind, subject.located)
    text = make_sentence(choices[rng.integers(len(choices))], subject.shown_voice)
    if subject.second_country:
        text += f" It is also connected with [[{_bare(subject.second_country.name)}]]."
    return text


@cache
def _openings(kind: str, located: bool) -> list[Pattern]:
    entry = tables.toml("articles")[kind]
    return [Pattern.parse(text) for text in entry["openings" if located else "openings_unlocated"]]


def _top(subject: Subject, rng: np.random.Generator) -> list[str]:
    """The infobox, for all but the poorest articles."""
    if rng.random() > 6 * subject.score - 1:
        return []
    voice = subject.shown_voice
    home = voice["town"]() + (f", [[{_bare(subject.country.name)}]]" if subject.located else "")
    fields = {"image": f"{subject.title.replace(' ', '_')}.jpg"} if rng.random() < subject.score else {}
    kind, patterns = _infobox(subject.kind)
    said = {field: make_sentence(pattern, voice | {"home": constant(home)}) for field, pattern in patterns.items()}
    return ["{{Use dmy dates|date=May 2021}}\n" + infobox(kind, subject.title, fields | said)]


@cache
def _infobox(kind: str) -> tuple[str, dict[str, Pattern]]:
    """Template and parameters of a kind's infobox."""
    entry = tables.toml("articles")[kind]
    return entry["infobox"], {field: Pattern.parse(text) for field, text in entry["fields"].items()}


def _sections(subject: Subject, sentences: list[str], n: int, rng: np.random.Generator) -> list[str]:
    """`n` headings with paragraphs; images and tables among them."""
    headings = _headings(subject.kind, rng)
    ends = np.rint(np.arange(n + 1) * len(sentences) / n).astype(int).tolist()
    n_images = np.bincount(rng.integers(0, n, subject.n_images), minlength=n).tolist()
    parts: list[str] = []
    for section, (start, end) in enumerate(pairwise(ends)):
        parts.append(next(headings))
        parts += [image(subject.voice, subject.title, start + i) for i in range(n_images[section])]
        parts += [" ".join(sentences[i : min(i + 5, end)]) for i in range(start, end, 5)]
    if subject.score > 0.4 and rng.random() < 0.5:
        parts.append(wikitext_table(subject.voice, int(rng.integers(3, 9))))
    if rng.random() < 0.05:
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


def _bottom(plan: Plan, subject: Subject, sections: list[str], rng: np.random.Generator) -> list[str]:
    """Links, references, sort key, categories and stub notice."""
    voice = subject.voice
    texts = {
        "See also": "\n".join(f"* [[{voice['town']()}]]" for _ in range(3)),
        "References": "{{reflist}}",
        "External links": "* [https://example.org/ Official website]",
    }
    parts = [f"== {name} ==\n{texts[name]}" for name in sections]
    if subject.sort_key and sections:
        parts.append(f"{{{{DEFAULTSORT:{subject.sort_key}}}}}")
    parts.append(categories(_category_names(plan, subject, rng)))
    if subject.score < 1 / 6:
        parts.append("{{stub}}")
    return parts


def _category_names(plan: Plan, subject: Subject, rng: np.random.Generator) -> list[str]:
    """Categories by theme, country and year; themes are left out now and then."""
    themes = [plan.themes[theme] for theme in subject.belongs_to]
    names = [theme.subject for theme in themes if rng.random() < 0.5]
    if subject.located and subject.score > 0.12:
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
