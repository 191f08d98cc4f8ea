"""Articles: what each is about (kind, title, country, voice, themes), and its wikitext, as long as its quality asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import cycle, pairwise
from math import ceil
from typing import Any
from urllib.parse import quote

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.core.rng import derive
from evenrank.trec.generate import tables
from evenrank.trec.generate.lexicon import Pattern, SyntheticCountry, make_lexicon
from evenrank.trec.generate.names import unique_person, unique_place
from evenrank.trec.generate.pages import BLOCK, N_ASPECTS, PageBlock
from evenrank.trec.generate.plan import CONTINENTS, GENDERS, Plan
from evenrank.trec.generate.prose import (
    Prose,
    Voice,
    Years,
    capitalised,
    categories,
    constant,
    draw_start,
    image,
    infobox,
    make_sentence,
    plain_text,
    reference,
    wikitext_table,
    with_articles,
)
from evenrank.wikipedia.annotate.quality import quality_models

WIKI = "https://example.org/wiki/"
MIN_STRENGTH = 0.1
"""Strength from which the first sentence, the title and the infobox may show a theme."""
SETTLED = [code for code, name in enumerate(CONTINENTS) if name not in ("Unknown", "Antarctica")]
"""Continents that lend names to pages without a geography."""
MAX_TOPICAL = 0.85
"""Largest part of an article that speaks about its themes."""
BOTTOM = ((5, "See also"), (1, "References"), (7, "External links"))
"""Sections at the end of articles with at least so many headings."""
SENTENCE_BYTES, REFERENCE_BYTES, FRAME_BYTES = 95, 150, 150
"""Typical lengths in wikitext; the frame is infobox, headings, categories and notices."""
MANY_REFERENCES = 0.833
"""Score from which on articles have more references than the model counts."""


@dataclass(frozen=True, slots=True, eq=False)
class Amounts:
    """Counts for each article."""

    sentences: NDArray[np.int64]
    references: NDArray[np.int64]
    headings: NDArray[np.int64]
    """All headings, those of the references and of the links among them."""
    images: NDArray[np.int64]


def expected_sentences(score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sentences of articles with these quality scores, on average."""
    rows = tables.table_rows("amounts")
    knots = ([float(row["score"]) for row in rows], [float(row["sentences"]) for row in rows])
    return np.interp(score, *knots)


def draw_amounts(score: NDArray[np.float64], rng: np.random.Generator) -> Amounts:
    """Amounts for articles with these scores: length first, then references, headings make up the rest."""
    n = len(score)
    worth = _worth()
    sentences = np.maximum(np.rint(expected_sentences(score) * rng.lognormal(0, 0.15, n)), 1)
    images = rng.poisson(6 * score**2)
    n_bytes = SENTENCE_BYTES * (sentences + 1) + FRAME_BYTES * (score > 1 / 6) + REFERENCE_BYTES * 10 * score
    rest = score - worth["log_length"] * np.log10(n_bytes) - worth["media"] * np.minimum(images, 5)
    references = np.rint(rest * rng.uniform(0.55, 0.75, n) / worth["references"]).clip(0)
    references += np.where(score > MANY_REFERENCES, np.rint(120 * (score - MANY_REFERENCES)), 0)
    references = np.minimum(references, sentences)
    headings = np.rint((rest - worth["references"] * np.minimum(references, 10)) / worth["headings"]).clip(0, 14)
    return Amounts(*(amount.astype(np.int64) for amount in (sentences, references, headings, images)))


def _worth() -> dict[str, float]:
    """By feature of the track's quality model: score for one unit, below the cap."""
    model = quality_models()["v1"]
    percentiles = model.published_percentiles()
    return {feature.name: feature.weight / feature.cap(percentiles) for feature in model.features}


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


def corpus_lines(plan: Plan, pages: PageBlock, block: int) -> bytes:
    """One JSON record a line (id, title, url, text) for each page of the block."""
    seed = plan.settings.seed
    prose = Prose(make_lexicon(plan), derive(seed, "text", block))
    offset = int(derive(seed, "names").integers(1 << 30))
    first = block * (BLOCK + ceil(BLOCK * plan.settings.unlisted_share))
    amounts = draw_amounts(pages.score, derive(seed, "amounts", block))
    lines = []
    for row, page_id in enumerate(pages.page_id.tolist()):
        subject = make_subject(prose, pages, amounts, row, first + row, offset)
        url = WIKI + quote(subject.title.replace(" ", "_"))
        text = write_article(plan, prose, subject)
        lines.append(orjson.dumps({"id": page_id, "title": subject.title, "url": url, "text": text}))
    return b"\n".join([*lines, b""])


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
    strength, relevant, theme = members.shown_strength[mine], members.is_relevant[mine], members.theme[mine]
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
        belongs_to=theme[relevant & (strength > MIN_STRENGTH / 2)].tolist(),
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
    if not len(strength) or strength.max() < MIN_STRENGTH:
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
