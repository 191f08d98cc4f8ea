"""Topics about people: when the title names people, biographies come before other pages on the subject."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.retrieval.engine.definition import BIOGRAPHY
from evenrank.retrieval.engine.protocol import Engine, Hits, Restriction, WeightedTerm
from evenrank.retrieval.query.feedback import inverse_document_frequencies
from evenrank.retrieval.query.plurals import singular
from evenrank.retrieval.query.topic_query import ENGLISH, GENDER_WORDS, gender_words, split_words
from evenrank.retrieval.word_lists import word_list


def names_people(title: str) -> bool:
    """Whether a word of a title denotes people."""
    people = word_list("person_words")
    return any(word in people or singular(word) in people for word in split_words(title))


def are_biographies(engine: Engine, page_ids: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether each page is a biography."""
    if not len(page_ids):
        return np.zeros(0, bool)
    restriction = Restriction(page_ids=page_ids.tolist())
    found = engine.search([WeightedTerm("person", (BIOGRAPHY,))], len(page_ids), restriction).page_ids
    return np.isin(page_ids, found)


def add_people_bonus(engine: Engine, title: str, hits: Hits, bonus: float) -> Hits:
    """Hits in their new order, with a bonus for each biography if the title names people; the same hits otherwise."""
    if bonus <= 0.0 or not names_people(title):
        return hits
    scores = hits.scores + bonus * are_biographies(engine, hits.page_ids)
    order = np.lexsort((hits.page_ids, -scores))
    return Hits(hits.page_ids[order], scores[order])


def people_term(engine: Engine, bonus: float) -> WeightedTerm:
    """The term whose score is the bonus of a biography: every page has one word in this field."""
    (rarity,) = inverse_document_frequencies(engine, "person", [BIOGRAPHY])
    return WeightedTerm("person", (BIOGRAPHY,), bonus / rarity)


def leaning(engine: Engine, word: str, page_ids: NDArray[np.int32]) -> NDArray[np.float64]:
    """1 for a text with more pronouns that fit a word for women or men than others, −1 for fewer, else 0; English only.

    A page's score by one word is the rarity of the word times a number that grows with its occurrences, so two words
    can be compared without counting them.
    """
    fitting = [words[3] for words in GENDER_WORDS if words == gender_words(word)]
    if not fitting or not len(page_ids) or engine.layout.language != ENGLISH:
        return np.zeros(len(page_ids))
    (other,) = [words[3] for words in GENDER_WORDS if words[3] not in fitting]
    return np.sign(_occurrence(engine, fitting[0], page_ids) - _occurrence(engine, other, page_ids))


def _occurrence(engine: Engine, word: str, page_ids: NDArray[np.int32]) -> NDArray[np.float64]:
    """A number for each page that grows with how often its text has a word, alike for all words; 0 without it."""
    analysed = engine.analyse("text", word)
    (rarity,) = inverse_document_frequencies(engine, "text", analysed)
    hits = engine.search(
        [WeightedTerm("text", tuple(analysed))], len(page_ids), Restriction(page_ids=page_ids.tolist())
    )
    found = np.zeros(len(page_ids))
    order = np.argsort(page_ids)
    found[order[np.searchsorted(page_ids[order], hits.page_ids)]] = hits.scores / rarity
    return found
