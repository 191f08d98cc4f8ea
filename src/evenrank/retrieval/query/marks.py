"""What people say of pages changes the ranking at once: "this is ours", "this is not", articles to start from.

Rocchio's feedback (1971) on judged pages: what resembles the pages marked as relevant rises, what resembles the others
falls; by vectors where every page has one, by words otherwise. The more marks, the more they count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.retrieval.encode.dense import DenseScorer
from evenrank.retrieval.encode.vector_cache import dot_products
from evenrank.retrieval.engine.protocol import Engine, Hits, Restriction, WeightedTerm
from evenrank.retrieval.features import HybridModel, standardise
from evenrank.retrieval.learn.learned_model import LearnedModel
from evenrank.retrieval.query.feedback import FeedbackSettings, feedback_terms
from evenrank.retrieval.relevance import RelevanceModel, ScoredPages

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Marks:
    """Page ids that people have spoken of."""

    relevant: tuple[int, ...] = ()
    """Pages marked as relevant, and seed articles."""
    not_relevant: tuple[int, ...] = ()
    """Pages marked as not belonging to the topic; they are left out of the ranking."""


@dataclass(frozen=True)
class MarkSettings:
    """How much marks count (chosen on every second of the 57 training topics of 2021)."""

    weight: float = 1.0
    """Weight of the evidence of many marks against the score of the model, both standardised."""
    half_at: int = 5
    """Number of marks of a kind at which half of that weight is reached."""
    negative: float = 0.3
    """Weight of pages marked as not relevant against the others: what readers meet near the top and turn down is mostly
    near to the topic, too."""


def search_with_marks(
    model: RelevanceModel,
    topic: Topic,
    marks: Marks,
    k: int,
    up_to_page_id: int | None = None,
    settings: MarkSettings | None = None,
) -> ScoredPages:
    """The best pages of a topic as the marks suggest: relevant ones first, others never, the rest by model and marks.

    Pages that resemble the relevant ones join the candidates. A page has the probability that the model gives to the
    rank it comes to; marked pages have 1. Without marks, this is `model.score`.
    """
    settings = settings or MarkSettings()
    found = model.score(topic, k, up_to_page_id)
    if not marks.relevant and not marks.not_relevant:
        return found
    resemblance = _Resemblance(model.engine, _encoder_of(model), marks, settings)
    further = np.setdiff1d(resemblance.nearest(k, up_to_page_id), found.page_ids)
    page_ids = np.append(found.page_ids, further)
    base = np.append(found.scores, np.full(len(further), found.scores.min(initial=0.0)))
    return _ranked(page_ids, scores_with_marks(model, page_ids, base, marks, settings), found, marks)


def scores_with_marks(
    model: RelevanceModel,
    page_ids: NDArray[np.int32],
    scores: Floats,
    marks: Marks,
    settings: MarkSettings | None = None,
) -> Floats:
    """Scores of given pages as the marks suggest, for pages that are fixed already; the higher, the better."""
    settings = settings or MarkSettings()
    if not (marks.relevant or marks.not_relevant) or not len(page_ids):
        return scores
    resemblance = _Resemblance(model.engine, _encoder_of(model), marks, settings).of(page_ids)
    return standardise(scores) + settings.weight * resemblance


def _ranked(page_ids: NDArray[np.int32], scores: Floats, found: ScoredPages, marks: Marks) -> ScoredPages:
    """Pages by score, marked ones where they belong, with the probabilities of the ranks."""
    seeds = np.setdiff1d(np.array(marks.relevant, np.int32), page_ids)
    page_ids, scores = np.append(page_ids, seeds), np.append(scores, np.zeros(len(seeds)))
    is_relevant = np.isin(page_ids, marks.relevant)
    scores = np.where(is_relevant, scores + np.ptp(scores) + 1.0, scores)
    kept = np.flatnonzero(~np.isin(page_ids, marks.not_relevant) | is_relevant)
    order = kept[np.lexsort((page_ids[kept], -scores[kept]))]
    by_rank = np.sort(found.probabilities)[::-1]
    by_rank = np.append(by_rank, np.full(max(len(order) - len(by_rank), 0), by_rank.min(initial=0.0)))[: len(order)]
    probabilities = np.where(is_relevant[order], 1.0, by_rank)
    return ScoredPages(page_ids[order], scores[order], probabilities, n_relevant=found.n_relevant)


@dataclass(frozen=True)
class _Resemblance:
    """How much pages resemble the marked ones."""

    engine: Engine
    dense: DenseScorer | None
    marks: Marks
    settings: MarkSettings

    def of(self, page_ids: NDArray[np.int32]) -> Floats:
        """Likeness to the relevant pages, less that to the others, in deviations; more marks count more."""
        likeness = np.zeros(len(page_ids))
        for marked, sign in ((self.marks.relevant, 1.0), (self.marks.not_relevant, -self.settings.negative)):
            if marked:
                share = len(marked) / (len(marked) + self.settings.half_at)
                likeness += sign * share * standardise(self._likeness(marked, page_ids))
        return likeness

    def _likeness(self, marked: Sequence[int], page_ids: NDArray[np.int32]) -> Floats:
        """Likeness of pages to some marked ones: by vectors where every page has one, by words otherwise."""
        if self.dense is None or not self.dense.covers_index:
            return self._by_words(marked, page_ids)
        direction = self._direction(self.dense, marked)
        return dot_products(self.dense.page_vectors(page_ids), direction).astype(np.float64)

    def nearest(self, k: int, up_to_page_id: int | None) -> NDArray[np.int32]:
        """The pages that resemble the relevant ones most."""
        if not self.marks.relevant:
            return np.empty(0, np.int32)
        if self.dense is not None and self.dense.covers_index:
            return self.dense.cache.nearest(self._direction(self.dense, self.marks.relevant), k, up_to_page_id)[0]
        terms = self._terms(self.marks.relevant)
        return self.engine.search(terms, k, Restriction(up_to_page_id=up_to_page_id)).page_ids

    def _direction(self, dense: DenseScorer, marked: Sequence[int]) -> Floats:
        """The mean vector of marked pages, without what all pages have."""
        return np.asarray(dense.page_vectors(np.array(marked, np.int32)).mean(axis=0) - dense.mean_vector)

    def _by_words(self, marked: Sequence[int], page_ids: NDArray[np.int32]) -> Floats:
        """Score of pages by the words of the marked ones, relative to the best."""
        scores = np.zeros(len(page_ids))
        if not marked or not len(page_ids):
            return scores
        hits = self.engine.search(self._terms(marked), len(page_ids), Restriction(page_ids=page_ids.tolist()))
        by_page = dict(zip(hits.page_ids.tolist(), hits.scores.tolist(), strict=True))
        scores = np.array([by_page.get(page_id, 0.0) for page_id in page_ids.tolist()])
        return np.asarray(scores / max(scores.max(initial=0.0), 1e-9))

    def _terms(self, marked: Sequence[int]) -> list[WeightedTerm]:
        """Words that the marked pages share and few others have."""
        pages = Hits(np.array(marked, np.int32), np.ones(len(marked)))
        return feedback_terms(self.engine, pages, FeedbackSettings(n_pages=len(marked)))


def _encoder_of(model: RelevanceModel) -> DenseScorer | None:
    return model.extractor.dense if isinstance(model, HybridModel | LearnedModel) else None
