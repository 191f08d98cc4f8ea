"""Pseudo-relevance feedback: words that many of the first pages share, and few others have, join the query.

A Rocchio expansion (1971) on the presence of words instead of their counts: one long page that repeats a name
cannot push it into the query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from evenrank.retrieval.engine.analysis import analyse, analyser_for
from evenrank.retrieval.engine.protocol import BoundingEngine, Engine, Hits, TextField, WeightedTerm
from evenrank.retrieval.query.topic_query import ENGLISH
from evenrank.retrieval.word_lists import word_list


@dataclass(frozen=True)
class FeedbackSettings:
    """How a query is widened."""

    n_pages: int = 20
    """Pages at the top that lend their words; 0 switches feedback off."""
    n_words: int = 50
    """Words that join the query."""
    n_pages_with_word: int = 2
    """A word must be in at least so many of the pages."""
    share: float = 0.5
    """Share of the new words in the final score: old and new parts are each scaled to a best page of 1."""
    field: TextField = "text"
    """Field in which the new words are looked for."""


def expand(
    engine: Engine, terms: Sequence[WeightedTerm], settings: FeedbackSettings | None = None
) -> list[WeightedTerm]:
    """The query with the words of its own first pages; scaled so that the best page can reach 1.

    The first pages are taken from the whole index, so that a restricted search means the same as a free one.
    """
    settings = settings or FeedbackSettings()
    first = engine.search(terms, max(settings.n_pages, 1))
    if not len(first.scores) or first.scores[0] <= 0:
        return list(terms)
    new = feedback_terms(engine, first, settings) if settings.n_pages else []
    best = engine.search(new, 1).scores
    if not len(best) or best[0] <= 0:
        return scale(terms, 1.0 / first.scores[0])
    return scale(terms, (1.0 - settings.share) / first.scores[0]) + scale(new, settings.share / best[0])


def feedback_terms(engine: Engine, first: Hits, settings: FeedbackSettings) -> list[WeightedTerm]:
    """The words that tell the first pages from the rest, weighted; the best weighs 1."""
    shares = first.scores / first.scores.sum()
    weights: Counter[str] = Counter()
    n_with: Counter[str] = Counter()
    for page, share in zip(engine.stored(first.page_ids.tolist()), shares, strict=True):
        if page is not None:
            present = set(engine.analyse(settings.field, page.opening))
            n_with.update(present)
            weights.update(dict.fromkeys(present, float(share)))
    stop = _stop_forms(engine.layout.language, settings.field)
    n_needed = min(settings.n_pages_with_word, len(first.page_ids))
    shared = [word for word, n in n_with.items() if n >= n_needed and word not in stop]
    kept = _without_hopeless(engine, settings, {word: weights[word] for word in shared})
    rarity = zip(kept, inverse_document_frequencies(engine, settings.field, kept), strict=True)
    scored = sorted(((weights[word] * idf, word) for word, idf in rarity), reverse=True)
    top = scored[: settings.n_words]
    return [WeightedTerm(settings.field, (word,), weight / top[0][0]) for weight, word in top]


def _without_hopeless(engine: Engine, settings: FeedbackSettings, weights: Mapping[str, float]) -> list[str]:
    """The words but those that cannot be among the best ones, however few or many pages have them: to count the pages
    of frequent words takes long where pages were removed from the index."""
    words, n_pages = list(weights), engine.statistics().n_pages
    if len(words) <= settings.n_words or not isinstance(engine, BoundingEngine):
        return words
    bounds = engine.frequency_bounds(settings.field, words)
    highest, lowest = (
        np.array([weights[word] * inverse_document_frequency(n_pages, n) for word, n in zip(words, ns, strict=True)])
        for ns in bounds
    )
    needed = np.partition(lowest, -settings.n_words)[-settings.n_words] * (1 - LAST_BITS)
    return [word for word, most in zip(words, highest.tolist(), strict=True) if most >= needed]


LAST_BITS = 1e-9
"""Relative error of a bound."""


@cache
def _stop_forms(language: str, field: TextField) -> frozenset[str]:
    """Stop words as a field has them. Other languages rely on rarity: their frequent words weigh next to nothing."""
    if language != ENGLISH:
        return frozenset()
    analyser = analyser_for(language)
    return frozenset(form for word in word_list("stop_words") for form in analyse(analyser, field, word))


def scale(terms: Sequence[WeightedTerm], factor: float) -> list[WeightedTerm]:
    """Terms with all weights multiplied."""
    return [replace(term, weight=term.weight * factor) for term in terms]


def inverse_document_frequencies(engine: Engine, field: TextField, words: Sequence[str]) -> list[float]:
    """log(1 + (N − n + ½) / (n + ½)) of each analysed word, for a word in n of N pages."""
    n_pages = engine.statistics().n_pages
    return [inverse_document_frequency(n_pages, n_with) for n_with in engine.document_frequencies(field, words)]


def inverse_document_frequency(n_pages: int, n_with: int) -> float:
    """How rare a word is that is in `n_with` of the pages."""
    return float(np.log1p((n_pages - n_with + 0.5) / (n_with + 0.5)))
