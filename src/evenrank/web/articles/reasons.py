"""Why an article is in a list: which of the question's words stand in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.records import Topic
from evenrank.search.engine.protocol import Engine, Query, Restriction, TextField
from evenrank.search.query.topic_query import QueryWords, build_terms, topic_words

MAX_WORDS = 8
"""Words that are looked up, those that weigh most."""
FIELDS: tuple[TextField, ...] = ("text", "categories", "infobox")


@dataclass(frozen=True)
class Reasons:
    """Words of a question, and for each page a bit for each word that it has."""

    words: tuple[str, ...]
    bits: NDArray[np.uint16]

    def of(self, index: int) -> list[str]:
        """The words of one page."""
        return [word for place, word in enumerate(self.words) if int(self.bits[index]) >> place & 1]


def find_reasons(engine: Engine, topic: Topic, page_ids: NDArray[np.int32]) -> Reasons:
    """Which of the topic's words each page has, asked of the index word by word."""
    weights = topic_words(topic).weights
    words = tuple(sorted(weights, key=lambda word: -weights[word])[:MAX_WORDS])
    order = np.argsort(page_ids)
    only = Restriction(page_ids=page_ids.tolist())
    bits = np.zeros(len(page_ids), np.uint16)
    asked = [[t for t in build_terms(QueryWords({word: 1.0}), engine) if t.field in FIELDS] for word in words]
    found = engine.search_many([Query(terms, len(page_ids), only) for terms in asked])
    for place, hits in enumerate(found):
        bits[order[np.searchsorted(page_ids[order], hits.page_ids)]] |= np.uint16(1 << place)
    return Reasons(words, bits)
