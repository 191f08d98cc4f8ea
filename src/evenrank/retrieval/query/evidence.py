"""Why an article is in a list: which of the question's keywords are in it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.retrieval.engine.protocol import (
    POSITION_FIELDS,
    Engine,
    MatchingEngine,
    Query,
    Restriction,
    TextField,
    WeightedTerm,
)
from evenrank.retrieval.query.confirmation import TopicWords, are_confirmed, distinct_keywords
from evenrank.retrieval.query.people import are_biographies, leaning
from evenrank.retrieval.query.topic_query import (
    ENGLISH,
    analysed_forms,
    gender_words,
    names_like_plurals,
    number_forms,
    qualifying_words,
    split_words,
    subject_words,
    topic_words,
)
from evenrank.retrieval.word_lists import word_list

MAX_WORDS = 12
"""Title and keywords that are looked up, the first ones."""
TEXT_FIELDS: tuple[TextField, ...] = ("text", "categories", "infobox")
FIXED = 0.6
"""Share of pages with the words of a fixed phrase that have them in a row."""
LEAD_FIELDS: tuple[TextField, ...] = ("lead", "categories", "infobox", "kind")


@dataclass(frozen=True)
class Reasons:
    """Keywords of a question, and for each page a bit for each keyword that it has."""

    words: tuple[str, ...]
    bits: NDArray[np.uint16]

    def at(self, places: NDArray[np.integer] | NDArray[np.bool_]) -> Reasons:
        """The reasons of some of the pages."""
        return Reasons(self.words, self.bits[places])

    def of(self, index: int) -> list[str]:
        """The keywords of one page."""
        return [word for place, word in enumerate(self.words) if int(self.bits[index]) >> place & 1]


def keyword_parts(topic: Topic, language: str = "en") -> dict[str, tuple[str, ...]]:
    """Title and keywords with the words that must all be in an article; a phrase is one reason, not several."""
    found: dict[str, tuple[str, ...]] = {}
    for text, is_name in ((topic.title, True), *((keyword, False) for keyword in topic.keywords)):
        words = tuple(dict.fromkeys(subject_words(text, is_name=is_name, language=language)))
        if words and words not in found.values():
            found[text] = words
    return dict(list(found.items())[:MAX_WORDS])


class Evidence(NamedTuple):
    """What pages have of a question's keywords; arrays run beside the pages."""

    reasons: Reasons
    in_text: NDArray[np.bool_]
    """Whether the page has a keyword anywhere; of several words, all of them and one in the lead."""
    in_lead: NDArray[np.bool_]
    """Whether it has all words of a keyword in its lead or in what it is filed under; a fixed phrase, in a row."""
    has_two_in_lead: NDArray[np.bool_]
    """Whether it has two different ones in its lead or in what it is filed under."""
    has_name: NDArray[np.bool_]
    """Whether it begins with the name in the title, such as Scotland; where the title has none, all do."""
    is_confirmed: NDArray[np.bool_]
    """Whether it confirms that the keyword means what the title does: it also has words of the title, or a second
    keyword; where the title has a name, such as Scotland, it begins with that name and has in its lead what else is
    asked for."""
    words_in_text: Mapping[str, NDArray[np.bool_]] = {}
    """For each word of title and keywords, whether each page has it anywhere."""
    words_in_lead: Mapping[str, NDArray[np.bool_]] = {}
    """The same for its lead and what it is filed under."""


def find_reasons(engine: Engine, topic: Topic, page_ids: NDArray[np.int32]) -> Reasons:
    """Which of the topic's keywords each page has."""
    return find_evidence(engine, topic, page_ids).reasons


def find_evidence(
    engine: Engine, topic: Topic, page_ids: NDArray[np.int32], titles: Sequence[str] | None = None
) -> Evidence:
    """Which of the topic's keywords each page has and where, asked of the index word by word.

    A keyword of several words is a reason when they are together: in a row or, unless they are a fixed phrase, in the
    lead; a word of a title that is such a phrase ("Human rights") tells nothing alone. Whom the text speaks of counts
    for a subject like "women scientists", and is never given as a reason. With `titles`, a keyword that is part of a
    person's name is no evidence that the page is about it.
    """
    language = engine.layout.language
    parts = keyword_parts(topic, language)
    words = list(dict.fromkeys(word for parts_of in parts.values() for word in parts_of))
    like_plurals = names_like_plurals(topic_words(topic, language=language), engine)
    in_text, in_lead, in_a_row = _having(
        engine,
        (
            {word: _word_terms(engine, word, TEXT_FIELDS) for word in words},
            {word: _word_terms(engine, word, LEAD_FIELDS, like_plurals) for word in words},
            {text: _phrase_terms(engine, text) for text in parts if len(parts[text]) > 1},
        ),
        page_ids,
    )
    qualifying = {text: qualifying_words(text, parts_of, language) for text, parts_of in parts.items()}
    of_gender = _of_gender(parts.get(topic.title, ()), language)
    fits = {
        word: _fit(engine, word, in_lead[word], page_ids)
        for word in dict.fromkeys([*of_gender, *(word for words_of in qualifying.values() for word in words_of)])
    }
    named = _named(engine, words, page_ids, titles or ())
    names = names_among(topic, language)
    none = np.zeros(len(page_ids), bool)
    reasons, is_in_text, is_in_lead = [], [none], [none]
    of_phrase: frozenset[str] = frozenset()
    for text, parts_of in parts.items():
        subject = [word for word in parts_of if word not in qualifying[text]]
        text_has, lead_has = (np.logical_and.reduce([where[word] for word in subject]) for where in (in_text, in_lead))
        if text not in in_a_row:
            reasons.append(text_has)
            is_apart = parts_of[0] in of_phrase
            is_in_lead.append(none if is_apart else lead_has & ~named.get(parts_of[0], none))
            is_in_text.append(none if is_apart else text_has)
            continue
        together = np.logical_and.reduce([in_lead[word] for word in parts_of])
        is_loose = not (parts_of in names or is_fixed(in_a_row[text], together))
        if text == topic.title and not is_loose:
            of_phrase = frozenset(parts_of)
        is_fitting = np.logical_and.reduce([~none, *(fits[word] for word in qualifying[text])]) & is_loose
        reasons.append(in_a_row[text] | (together & is_loose))
        is_in_lead.append(in_a_row[text] | (lead_has & is_fitting))
        is_in_text.append(text_has & is_fitting & np.logical_or.reduce([in_lead[word] for word in subject]))
    is_qualified = bool(qualifying.get(topic.title))
    of_title = np.logical_and.reduce([~none, *(fits[word] | (in_lead[word] & ~is_qualified) for word in of_gender)])
    has_lead = of_title & np.logical_or.reduce(is_in_lead)
    has_text = of_title & np.logical_or.reduce(is_in_text)
    asked = TopicWords(topic.title, parts, names, frozenset(of_gender))
    alike = distinct_keywords(parts.values(), language)
    n_in_lead = np.sum([np.logical_or.reduce([is_in_lead[1 + place] for place in places]) for places in alike], axis=0)
    return Evidence(
        Reasons(tuple(parts), _bits(reasons, len(page_ids))),
        has_text | has_lead,
        has_lead,
        of_title & (n_in_lead >= 2),
        *are_confirmed(engine, asked, page_ids, in_text, in_lead),
        in_text,
        in_lead,
    )


def _of_gender(words: Sequence[str], language: str) -> tuple[str, ...]:
    """The words for women or men of a title that also names something else: "women scientists", "women's football"."""
    found = tuple(word for word in words if gender_words(word)) if language == ENGLISH else ()
    return found if len(found) < len(words) else ()


def _bits(reasons: Sequence[NDArray[np.bool_]], n: int) -> NDArray[np.uint16]:
    bits = np.zeros(n, np.uint16)
    for place, is_reason in enumerate(reasons):
        bits |= (is_reason.astype(np.uint16) << place).astype(np.uint16)
    return bits


def _fit(engine: Engine, word: str, in_lead: NDArray[np.bool_], page_ids: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether each text speaks of women, or of men: a biography by its pronouns, if it has any, and others by the lead;
    the politics of a country are not about women because its minister is one."""
    lean = leaning(engine, word, page_ids)
    return np.where((lean == 0) | ~are_biographies(engine, page_ids), in_lead, lean > 0)


def _named(
    engine: Engine, words: Sequence[str], page_ids: NDArray[np.int32], titles: Sequence[str]
) -> dict[str, NDArray[np.bool_]]:
    """Whether each page is about a person who has a word as a name."""
    forms = {word: frozenset(number_forms(word, engine.layout.language)) for word in words}
    having = {word: np.zeros(len(page_ids), bool) for word in words}
    any_form = re.compile("|".join(re.escape(form) for word in words for form in forms[word]) or "(?!)")
    for place, title in enumerate(titles):
        lower = title.lower()
        if any_form.search(lower):
            name = split_words(title.partition(" (")[0], engine.layout.language)
            for word in words:
                is_possible = any(form in lower for form in forms[word])
                having[word][place] = is_possible and not forms[word].isdisjoint(name)
    is_named = np.logical_or.reduce([np.zeros(len(page_ids), bool), *having.values()])
    is_biography = np.zeros(len(page_ids), bool)
    is_biography[is_named] = are_biographies(engine, page_ids[is_named])
    return {word: has_name & is_biography for word, has_name in having.items()}


def is_fixed(in_a_row: NDArray[np.bool_], together: NDArray[np.bool_]) -> bool:
    """Whether words are a fixed phrase such as "Tour de France": pages with all of them mostly have them in a row.

    Such words mean something else when they are apart.
    """
    return bool(in_a_row.any() and (in_a_row & together).sum() >= FIXED * together.sum())


def names_among(topic: Topic, language: str = "en") -> set[tuple[str, ...]]:
    """Words of title and keywords that somebody wrote as a name: "Benin Empire", "Tour de France".

    A title begins with a capital anyway, so it takes a small word of another language to make it a name.
    """
    stop = word_list("stop_words")
    found = set()
    for text, is_title in ((topic.title, True), *((keyword, False) for keyword in topic.keywords)):
        first, *inner, last = text.split() if len(text.split()) > 1 else ("", "")
        small = [word for word in inner if not word[:1].isupper()]
        is_capital = first[:1].isupper() and last[:1].isupper() and not stop & set(small)
        if is_capital and (small or not is_title):
            found.add(tuple(dict.fromkeys(subject_words(text, is_name=is_title, language=language))))
    return found


def _word_terms(
    engine: Engine, word: str, fields: Sequence[TextField], names: Collection[str] = ()
) -> list[WeightedTerm]:
    found = ((name, analysed_forms(engine, name, word, is_name=word in names)) for name in fields)
    return [WeightedTerm(name, forms) for name, forms in found if forms]


def _phrase_terms(engine: Engine, text: str) -> list[WeightedTerm]:
    return [WeightedTerm(name, tuple(engine.analyse(name, text)), is_phrase=True) for name in POSITION_FIELDS]


def _having(
    engine: Engine, asked: Sequence[Mapping[str, Sequence[WeightedTerm]]], page_ids: NDArray[np.int32]
) -> list[dict[str, NDArray[np.bool_]]]:
    """Whether each page has any of some terms, by what they are asked for; all are asked at once."""
    lists = [terms for mapping in asked for terms in mapping.values()]
    found = iter(have_terms(engine, lists, page_ids))
    return [{name: next(found) for name in mapping} for mapping in asked]


def have_terms(
    engine: Engine, asked: Sequence[Sequence[WeightedTerm]], page_ids: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Whether each page has any of the terms, for each of several lists of terms: list by page."""
    if isinstance(engine, MatchingEngine):
        return engine.matches(asked, page_ids)
    only = Restriction(page_ids=page_ids.tolist())
    found = engine.search_many([Query(terms, len(page_ids), only) for terms in asked])
    return np.array([np.isin(page_ids, hits.page_ids) for hits in found], bool).reshape(len(asked), len(page_ids))
