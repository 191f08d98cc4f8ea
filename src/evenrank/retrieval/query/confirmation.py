"""Whether a page that has a keyword confirms what the title means by it.

A keyword alone may mean something else: immunity that of sovereigns, battle any battle. The title decides: its telling
words, or a second keyword; and where it has a name, as in "Military history of Scotland", that name in the lead.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.retrieval.engine.analysis import first_sentence
from evenrank.retrieval.engine.protocol import Engine
from evenrank.retrieval.query.feedback import inverse_document_frequencies
from evenrank.retrieval.query.past import HISTORY
from evenrank.retrieval.query.topic_query import ENGLISH, singular, split_words
from evenrank.retrieval.word_lists import lines_of, word_list
from evenrank.wikipedia.annotate.geography import countries

Having = Mapping[str, NDArray[np.bool_]]
"""Whether each page has a word, by word."""
TITLE_SHARE = 0.1
"""Share of the pages with a keyword that must have a word of the title; else the title is but the name of a project."""
TELLING = 0.4
"""Share of the rarity of a title's words that those of a page need: `climate` tells of climate change, `change` does
not."""
DERIVED = 5
"""Letters with which words begin that are taken for forms of each other."""


_NOT_ANOTHER = r"(?<! new)(?<! gulf of)(?<! new south)(?<! papua new)(?<! equatorial)"
"""What does not come before a name: New Mexico and the Gulf of Mexico are not Mexico."""


class TopicWords(NamedTuple):
    """What a topic asks for, word by word."""

    title: str
    parts: Mapping[str, tuple[str, ...]]
    """Title and keywords with their words."""
    whole_names: Collection[tuple[str, ...]]
    """Words of title and keywords that are names as a whole: "Tour de France"."""
    qualifying: frozenset[str]
    """Words of the title that only say of whom it speaks."""

    @property
    def keywords(self) -> list[str]:
        return [text for text in self.parts if text != self.title]


def distinct_keywords(parts: Collection[tuple[str, ...]], language: str = ENGLISH) -> list[list[int]]:
    """Places of texts that are the same but for singular and plural, together."""
    alike: dict[frozenset[str], list[int]] = {}
    for place, words in enumerate(parts):
        forms = frozenset(singular(word) for word in words) if language == ENGLISH else frozenset(words)
        alike.setdefault(forms, []).append(place)
    return list(alike.values())


def names_in_title(title: str) -> list[tuple[str, ...]]:
    """The names in a title, in words: those with capitals after the first, "World War II" in "World War II history".

    In a title with capitals throughout, only what follows its last "of" or "in" is taken for one.
    """
    words = title.replace("/", " / ").split()
    small = word_list("stop_words")
    if len(words) > 1 and all(word[:1].isupper() or word.lower() in small for word in words):
        places = [place for place, word in enumerate(words) if word in ("of", "in", "from")]
        words = ["", *words[places[-1] + 1 :]] if places else []
    runs: list[list[str]] = []
    for place, word in enumerate(words):
        is_name = word[:1].isupper()
        is_first = not place or words[place - 1] == "/"
        if is_name and not is_first and runs and runs[-1]:
            runs[-1].append(word)
        elif is_name:
            runs.append(["" if is_first else "name", word])
        else:
            runs.append([])
    found = [tuple(split_words(" ".join(run))) for kind, *run in filter(None, runs) if kind or len(run) > 1]
    return [name for name in found if name]


def forms_of_name(word: str) -> tuple[str, ...]:
    """A name and the adjectives that are made of it: Brazil, Brazilian. Those of an adjective are its place's."""
    word = _places_by_adjective().get(word, word)
    for line in lines_of("adjectives_of_places"):
        if word in line.split():
            return tuple(line.split())
    return _regular_forms(word)


def _regular_forms(word: str) -> tuple[str, ...]:
    stems = [word, *([word[:-1]] if word[-1:] in "aeiouy" else [])]
    endings = ("n", "an", "ian", "ese", "i", "ish")
    return (word, *(stem + ending for stem in stems for ending in endings))


@cache
def _places_by_adjective() -> Mapping[str, str]:
    """Places of one word by their adjectives: Brazil by Brazilian."""
    lines = [line.split() for line in lines_of("adjectives_of_places")]
    irregular = {word: place for place, *words in lines for word in words}
    names = (country.name for country in countries().values())
    regular = {name.lower() for name in names if name.isalpha()} - {place for place, *_ in lines}
    return {form: place for place in sorted(regular) for form in _regular_forms(place)[1:]} | irregular


class Confirmed(NamedTuple):
    """What pages have of a title; arrays run beside the pages."""

    has_name: NDArray[np.bool_]
    """Whether it begins with the name in the title, or mentions it and has two keywords; where it has none, all do."""
    is_meant: NDArray[np.bool_]
    """Whether it confirms the meaning of its keywords; all do where there are none to confirm."""


def are_confirmed(
    engine: Engine, asked: TopicWords, page_ids: NDArray[np.int32], in_text: Having, in_lead: Having
) -> Confirmed:
    """Which pages confirm what a title means."""
    title, parts = asked.title, asked.parts
    everything = np.ones(len(page_ids), bool)
    if title not in parts or not asked.keywords:
        return Confirmed(everything, everything)
    if names := _names(asked):
        return _named(engine, asked, names, page_ids, in_text, in_lead)
    has_keyword = {text: np.logical_and.reduce([in_text[word] for word in parts[text]]) for text in asked.keywords}
    has_two = np.sum(list(has_keyword.values()), axis=0) >= 2
    of_title = [word for word in parts[title] if word not in asked.qualifying] or list(parts[title])
    derived = [has for text, has in has_keyword.items() if _is_derived(parts[text], of_title)]
    has_title = np.logical_or.reduce([_has_telling(engine, of_title, in_text), *derived])
    is_evident = np.logical_or.reduce(list(has_keyword.values()))
    if has_title[is_evident].sum() < TITLE_SHARE * is_evident.sum():
        return Confirmed(everything, everything)
    return Confirmed(everything, np.asarray(has_title | has_two))


def _names(asked: TopicWords) -> list[tuple[str, ...]]:
    """The names in a title; none in one that is a name as a whole. Its first word is one if it is the adjective of a
    country, or if a keyword says so."""
    words = asked.parts[asked.title]
    if words in asked.whole_names:
        return []
    known = [name for name in names_in_title(asked.title) if words and set(name) <= set(words)]
    first = split_words(asked.title)[:1]
    is_place = any(
        text[:1].isupper() and len(parts) == 1 and parts[0] not in first and _is_derived(parts, first)
        for text, parts in asked.parts.items()
        if text != asked.title
    )
    is_place = is_place or first[0] in _places_by_adjective()
    return known or ([tuple(first)] if is_place and len(words) > 1 else [])


def _named(
    engine: Engine,
    asked: TopicWords,
    names: Sequence[tuple[str, ...]],
    page_ids: NDArray[np.int32],
    in_text: Having,
    in_lead: Having,
) -> Confirmed:
    """A page confirms a name in a title if it begins with it, and has in its lead what else is asked for; or mentions
    the name, and has two keywords there, one of them another name."""
    parts, own = asked.parts, {word for name in names for word in name}
    keywords = {text: np.logical_and.reduce([in_lead[word] for word in parts[text]]) for text in asked.keywords}
    of_name = [text for text in keywords if _is_derived(parts[text], list(own)) or own.issuperset(parts[text])]
    is_mentioned = np.logical_or.reduce([np.logical_and.reduce([in_text[word] for word in name]) for name in names])
    for text in of_name:
        is_mentioned = is_mentioned | np.logical_and.reduce([in_text[word] for word in parts[text]])
    rest = [word for word in parts[asked.title] if word not in own and singular(word) != HISTORY]
    others = [*(in_lead[word] for word in rest), *(has for text, has in keywords.items() if text not in of_name)]
    none = np.zeros(len(page_ids), bool)
    has_other = np.logical_or.reduce([none, *others]) if rest else ~none
    further = [has for text, has in keywords.items() if text[:1].isupper() and text not in of_name]
    has_capital = np.logical_or.reduce([none, *further])
    has_two = np.sum(list(keywords.values()), axis=0) >= 2
    heads = _heads(engine, page_ids)
    begins = _have_words(heads, [*names, *(parts[text] for text in of_name)], engine.layout.language)
    derived = [any(_is_derived([word], rest) for word in head.split()) for head in heads]
    by_keywords = is_mentioned & has_two & has_capital
    return Confirmed(begins | by_keywords, (begins & (has_other | np.array(derived, bool))) | by_keywords)


def _heads(engine: Engine, page_ids: NDArray[np.int32]) -> list[str]:
    """Title and first sentence of each page, word by word."""
    pages = engine.stored(page_ids.tolist())
    texts = ("" if page is None else f"{page.title} {first_sentence(page.opening)}" for page in pages)
    return [f" {' '.join(split_words(text, engine.layout.language))} " for text in texts]


def _have_words(heads: Sequence[str], names: Sequence[tuple[str, ...]], language: str) -> NDArray[np.bool_]:
    """Whether each text has one of some names, its words in a row, or an adjective of it."""
    forms = [forms_of_name(name[0]) if len(name) == 1 and language == ENGLISH else (" ".join(name),) for name in names]
    sought = re.compile(rf"{_NOT_ANOTHER} (?:{'|'.join(re.escape(form) for each in forms for form in each)}) ")
    return np.array([sought.search(head) is not None for head in heads], bool)


def _has_telling(engine: Engine, words: Sequence[str], in_text: Having) -> NDArray[np.bool_]:
    """Whether the words of a title that each page has tell enough of it; words that none has are left aside."""
    words = [word for word in words if in_text[word].any()] or list(words)
    analysed = [(engine.analyse("text", word) or [word])[0] for word in words]
    rarity = np.array(inverse_document_frequencies(engine, "text", analysed))
    found = np.sum([weight * in_text[word] for weight, word in zip(rarity, words, strict=True)], axis=0)
    return np.asarray(found >= TELLING * rarity.sum())


def _is_derived(words: Sequence[str], of_title: Sequence[str]) -> bool:
    """Whether a keyword has a word that begins as one of the title does: Brazilian, of Brazil."""
    starts = tuple(word[:DERIVED] for word in of_title if len(word) >= DERIVED)
    return any(word.startswith(starts) for word in words) if starts else False
