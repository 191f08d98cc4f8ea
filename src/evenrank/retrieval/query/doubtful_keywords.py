"""Keywords that fit neither the title nor the other keywords: "jacobite" of *World War II military history*.

Lists of keywords are gathered by people and by programs, and one stray word of them can bring articles of its own. A
keyword fits a title if the articles that the title alone finds have it more often than any articles do, and the other
keywords if it is in some of the articles that all of them find. One that does neither counts half; it may still be
right, so it is never left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.retrieval.engine.protocol import Engine, WeightedTerm
from evenrank.retrieval.query.evidence import have_terms
from evenrank.retrieval.query.topic_query import (
    QuerySettings,
    analysed_forms,
    build_terms,
    subject_words,
    topic_words,
)

FEWEST_KEYWORDS = 4
"""With fewer keywords, none is in doubt: there is nothing to compare it with."""
N_LOOKED_AT, FEWEST_FOUND = 100, 20
"""Articles, best by the title and by everything, that are looked at; and how many the title must find to tell."""
SHARE_OF_FOUND = 0.02
"""A keyword fits the others if more than this share of the articles that all of them find have it."""


def doubtful_keywords(engine: Engine, topic: Topic, settings: QuerySettings) -> tuple[str, ...]:
    """The keywords of a topic that fit neither its title nor its other keywords, in their order."""
    language = engine.layout.language
    if len(topic.keywords) < FEWEST_KEYWORDS or not topic.title.strip():
        return ()
    in_text = replace(settings, fields={"text": 1.0}, phrase_fields={}, together_fields={})
    words = topic_words(replace(topic, keywords=(), scope=""), in_text, language)
    by_title = engine.search(build_terms(words, engine, in_text), N_LOOKED_AT).page_ids
    if len(by_title) < FEWEST_FOUND:
        return ()
    parts = {text: tuple(subject_words(text, is_name=False, language=language)) for text in topic.keywords}
    forms = {word: analysed_forms(engine, "text", word) for words_of in parts.values() for word in words_of}
    forms = {word: found for word, found in forms.items() if found}
    usual = _usual_shares(engine, forms)
    shares = _shares(engine, parts, forms, by_title)
    stray = {text: parts[text] for text, share in shares.items() if share < min(usual[word] for word in parts[text])}
    if not stray:
        return ()
    terms = [WeightedTerm("text", found) for found in forms.values()]
    by_all = engine.search(terms, N_LOOKED_AT).page_ids
    shares = _shares(engine, stray, forms, by_all)
    return tuple(text for text in stray if shares[text] <= SHARE_OF_FOUND)


def _usual_shares(engine: Engine, forms: Mapping[str, tuple[str, ...]]) -> dict[str, float]:
    """Share of all pages that have each word."""
    n_pages = max(engine.statistics().n_pages, 1)
    n_with = iter(engine.document_frequencies("text", [one for found in forms.values() for one in found]))
    return {word: max(next(n_with) for _ in found) / n_pages for word, found in forms.items()}


def _shares(
    engine: Engine, parts: Mapping[str, Sequence[str]], forms: Mapping[str, tuple[str, ...]], found: NDArray[np.int32]
) -> dict[str, float]:
    """Share of some pages that have all words of each text; texts without a word are left out."""
    words = dict.fromkeys(word for words_of in parts.values() for word in words_of if word in forms)
    has_words = have_terms(engine, [[WeightedTerm("text", forms[word])] for word in words], found)
    has_word = dict(zip(words, has_words, strict=True))
    asked = {text: words_of for text, words_of in parts.items() if words_of and all(word in forms for word in words_of)}
    return {
        text: float(np.logical_and.reduce([has_word[word] for word in words_of]).mean())
        for text, words_of in asked.items()
    }
