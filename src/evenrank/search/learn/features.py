"""Features of a topic's candidates: what several scorers say, each on a scale that topics share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.records import Topic
from evenrank.search.encode.cross_encoder import CrossEncoder
from evenrank.search.encode.dense import DenseScorer, feedback
from evenrank.search.engine.protocol import Engine, Hits, Restriction, StoredPage, WeightedTerm
from evenrank.search.learn.page_features import dph, page_features
from evenrank.search.query.feedback import feedback_terms
from evenrank.search.query.topic_query import build_terms, topic_words
from evenrank.search.relevance import LexicalModel

Floats = NDArray[np.float64]

RISING = frozenset(
    [
        "lexical",
        "lexical_z",
        "words",
        "words_z",
        "text",
        "lead",
        "phrase",
        "title",
        "categories",
        "infobox",
        "feedback",
        "feedback_z",
        "dph",
        "wanted_biography",
        "dense",
        "dense_z",
        "dense_part_z",
        "dense_contrast_z",
        "dense_feedback_z",
        "cross_z",
    ]
)
"""Features of which more can only be better; a learned model must not say otherwise."""
N_FEEDBACK_VECTORS = 3
"""Pages, best by words and vectors together, whose mean vector the others are compared with."""
N_CROSS_ENCODED = 60
"""Pages, best by words and vectors together, that are read together with the topic; the others count as the worst."""


@dataclass(frozen=True)
class FeatureExtractor:
    """Computes the features of pages that a lexical model found."""

    model: LexicalModel
    dense: DenseScorer | None = None
    """Adds similarity of text vectors; slow, so only for pages that are worth it."""
    cross: CrossEncoder | None = None
    """Adds what a cross-encoder says of the best pages by words and vectors; without `dense` it is not asked."""

    @property
    def engine(self) -> Engine:
        return self.model.engine

    def features(self, topic: Topic, found: Hits) -> dict[str, Floats]:
        """Features by name, each an array beside the pages."""
        query = self.model.settings.query
        terms = build_terms(topic_words(topic, query), self.engine, query)
        pages = [page or StoredPage(0, "", "") for page in self.engine.stored(found.page_ids.tolist())]
        words = self._score(terms, found)
        features = {"lexical": found.scores, "lexical_z": standardised(found.scores)}
        features |= {"words": words, "words_z": standardised(words)}
        features |= self._by_field(terms, topic, found)
        features |= self._feedback(terms, found)
        features["dph"] = self._dph(terms, pages)
        features |= page_features(topic, pages)
        return features | self._dense(topic, found, pages)

    def _by_field(self, terms: Sequence[WeightedTerm], topic: Topic, found: Hits) -> dict[str, Floats]:
        """BM25 of each field alone, and of phrases."""
        weights = topic_words(topic, self.model.settings.query).weights
        title = [
            WeightedTerm("title", (form,), weight)
            for word, weight in weights.items()
            for form in self.engine.analyse("title", word)[:1]
        ]
        parts = {"title": title, "phrase": [term for term in terms if term.is_phrase]}
        for name in ("text", "lead", "categories", "infobox"):
            parts[name] = [term for term in terms if term.field == name and not term.is_phrase]
        return {name: self._score(part, found) for name, part in parts.items()}

    def _feedback(self, terms: Sequence[WeightedTerm], found: Hits) -> dict[str, Floats]:
        settings = self.model.settings.feedback
        first = self.engine.search(terms, max(settings.n_pages, 1))
        scores = self._score(feedback_terms(self.engine, first, settings) if len(first.scores) else [], found)
        return {"feedback": scores, "feedback_z": standardised(scores)}

    def _dph(self, terms: Sequence[WeightedTerm], pages: Sequence[StoredPage]) -> Floats:
        weights = {t.words[0]: t.weight for t in terms if t.field == "text" and not t.is_phrase}
        openings = [self.engine.analyse("text", page.opening) for page in pages]
        n_pages = self.engine.statistics().n_pages
        frequencies = dict(zip(weights, self.engine.document_frequencies("text", list(weights)), strict=True))
        scores = dph(weights, openings, lambda word: n_pages / max(frequencies[word], 1))
        return np.asarray(scores / max(scores.max(initial=0.0), 1e-9))

    def _dense(self, topic: Topic, found: Hits, pages: Sequence[StoredPage]) -> dict[str, Floats]:
        if self.dense is None:
            return {}
        vectors = self.dense.page_vectors(found.page_ids)
        whole, part = self.dense.nearness(topic, vectors)
        features = {"dense": whole, "dense_z": standardised(whole), "dense_part_z": standardised(part)}
        best = np.argsort(-(standardised(found.scores) + features["dense_z"]), kind="stable")
        features["dense_contrast_z"] = standardised(self.dense.contrast(vectors, whole))
        near_first = feedback(vectors, vectors[best[:N_FEEDBACK_VECTORS]]) if len(best) else whole
        features["dense_feedback_z"] = standardised(near_first)
        return features | self._cross(topic, pages, best[:N_CROSS_ENCODED])

    def _cross(self, topic: Topic, pages: Sequence[StoredPage], best: NDArray[np.intp]) -> dict[str, Floats]:
        if self.cross is None:
            return {}
        texts = (f"{pages[at].title}. {pages[at].opening}" for at in best.tolist())
        read = self.cross.scores(re.sub(r"[/.…]+", " ", topic.title).strip(), texts)
        scores = np.full(len(pages), read.min(initial=np.inf))
        scores[best] = read
        return {"cross_z": standardised(scores)}

    def _score(self, terms: Sequence[WeightedTerm], found: Hits) -> Floats:
        """Score of each page by some terms, relative to the best page of the whole index."""
        best = self.engine.search(terms, 1).scores if terms else np.empty(0)
        if not len(best) or best[0] <= 0 or not len(found.page_ids):
            return np.zeros(len(found.page_ids))
        hits = self.engine.search(terms, len(found.page_ids), Restriction(page_ids=found.page_ids.tolist()))
        by_page = dict(zip(hits.page_ids.tolist(), hits.scores.tolist(), strict=True))
        scores = np.array([by_page.get(page_id, 0.0) for page_id in found.page_ids.tolist()], np.float64)
        return scores / float(best[0])


def standardised(values: Floats) -> Floats:
    """Values with mean 0 and deviation 1 among the candidates; zeros when they are all equal."""
    deviation = values.std() if len(values) else 0.0
    return np.asarray((values - values.mean()) / deviation) if deviation > 0 else np.zeros(len(values))
