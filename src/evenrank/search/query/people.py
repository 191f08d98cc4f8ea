"""Topics about people: when the title names people, biographies come before other pages on the subject."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.search.engine.biography import BIOGRAPHY
from evenrank.search.engine.protocol import Engine, Hits, Restriction, WeightedTerm
from evenrank.search.query.feedback import inverse_document_frequencies
from evenrank.search.query.topic_query import singular, split_words
from evenrank.search.word_lists import word_list


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
