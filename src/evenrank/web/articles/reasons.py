"""Why an article is in a list: which of the question's keywords are in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.records import Topic
from evenrank.search.engine.protocol import Engine, Query, Restriction, TextField
from evenrank.search.query.topic_query import QueryWords, build_terms, subject_words

MAX_WORDS = 12
"""Title and keywords that are looked up, the first ones."""
FIELDS: tuple[TextField, ...] = ("text", "categories", "infobox")


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


def find_reasons(engine: Engine, topic: Topic, page_ids: NDArray[np.int32]) -> Reasons:
    """Which of the topic's keywords each page has, asked of the index word by word."""
    parts = keyword_parts(topic, engine.layout.language)
    order = np.argsort(page_ids)
    only = Restriction(page_ids=page_ids.tolist())
    words = list(dict.fromkeys(word for parts_of in parts.values() for word in parts_of))
    asked = [[t for t in build_terms(QueryWords({word: 1.0}), engine) if t.field in FIELDS] for word in words]
    found = engine.search_many([Query(terms, len(page_ids), only) for terms in asked])
    has_word = {word: np.zeros(len(page_ids), bool) for word in words}
    for word, hits in zip(words, found, strict=True):
        has_word[word][order[np.searchsorted(page_ids[order], hits.page_ids)]] = True
    return Reasons(tuple(parts), _bits(list(parts.values()), has_word, len(page_ids)))


def _bits(parts: Sequence[tuple[str, ...]], has_word: dict[str, NDArray[np.bool_]], n: int) -> NDArray[np.uint16]:
    bits = np.zeros(n, np.uint16)
    for place, words in enumerate(parts):
        has_all = np.logical_and.reduce([has_word[word] for word in words])
        bits |= (has_all.astype(np.uint16) << place).astype(np.uint16)
    return bits
