"""Titles that ask for the past, such as "History of Brazil" and "Former countries", and the articles that are about it.

Articles of today's teams and ministries name a country just as those about its history do. English says which is which:
the first sentence is in the past tense, or has words of historians.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evenrank.retrieval.engine.analysis import first_sentence
from evenrank.retrieval.engine.protocol import Engine
from evenrank.retrieval.query.topic_query import ENGLISH, singular, split_words

HISTORY = "history"
GONE = frozenset(("former", "defunct", "extinct", "ancient", "abolished", "medieval"))
"""Words of titles that ask for what is no more, and of first sentences that say so."""
_OF_HISTORY = frozenset(
    (
        *("history", "historic", "historical", "historian", "prehistory"),
        *(
            "archaeologist",
            "archaeological",
            "archaeology",
            "ancient",
            "medieval",
            "colonial",
            "empire",
            "kingdom",
            "dynasty",
            "caliphate",
            "treaty",
            "revolution",
        ),
        *("rebellion", "uprising", "slavery", "genocide", "holocaust", "independence"),
    )
)
"""Words of articles about the past."""
LAST_YEAR = 1970
"""Something is past if its first sentence names no year, or one before this one other than that of a birth."""
_VERB = re.compile(r"\b(is|are|was|were|has been)\b")
_BORN = re.compile(r"\bborn\b[^)]*")
_YEAR = re.compile(r"\b1\d{3}\b|\b20\d{2}\b|\b[1-9]\d{2}(?= (?:AD|BC|CE|BCE)\b)")


def asks_for_past(title: str) -> bool:
    """Whether a title asks for the history of something, or for what is no more."""
    words = [singular(word) for word in split_words(title)]
    return (HISTORY in words and len(words) > 1) or asks_for_gone(title)


def asks_for_gone(title: str) -> bool:
    """Whether a title asks for what is no more: "Former countries"."""
    return not GONE.isdisjoint(split_words(title))


def are_past(engine: Engine, title: str, page_ids: NDArray[np.int32], titles: Sequence[str]) -> NDArray[np.bool_]:
    """Whether each article is about the past that a title asks for; none where it asks for none."""
    if engine.layout.language != ENGLISH or not asks_for_past(title):
        return np.zeros(len(page_ids), bool)
    is_about = is_gone if asks_for_gone(title) else is_history
    openings = ("" if page is None else page.opening for page in engine.stored(page_ids.tolist()))
    return np.array(
        [is_about(name, first_sentence(opening)) for name, opening in zip(titles, openings, strict=True)], bool
    )


def is_gone(title: str, sentence: str) -> bool:
    """Whether something is no more: its first sentence is in the past tense, or says so."""
    verb = _VERB.search(sentence)
    is_past = verb is not None and verb[1] in ("was", "were")
    return is_past or not GONE.isdisjoint(split_words(f"{title} {sentence}"))


def is_history(title: str, sentence: str) -> bool:
    """Whether an article is about history: words of historians, or the past tense and years that are long ago."""
    if not _OF_HISTORY.isdisjoint(singular(word) for word in split_words(f"{title} {sentence}")):
        return True
    verb = _VERB.search(sentence)
    if verb is None or verb[1] not in ("was", "were"):
        return False
    years = [int(year) for year in _YEAR.findall(_BORN.sub("", sentence))]
    return not years or min(years) < LAST_YEAR
