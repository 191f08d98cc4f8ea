"""Why is this article here: the words that brought it, and what each feature added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from evenrank.core.records import Topic
from evenrank.errors import EvenrankError
from evenrank.retrieval.engine.protocol import Engine, Query, Restriction, WeightedTerm, merge_terms
from evenrank.retrieval.hybrid import HybridModel
from evenrank.retrieval.learn.learned_model import LearnedModel
from evenrank.retrieval.query.people import names_people, people_term
from evenrank.retrieval.relevance import LexicalModel, RelevanceModel, ScoredPages

Parts = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Explanation:
    """What a page's score is made of; words by falling contribution, features by its size."""

    page_id: int
    words: Parts
    """Terms of the query with what they add to the lexical score, as `field:word`."""
    features: Parts = field(default=())
    """Features with what they add to the score; empty for words alone, and for a page below those looked at."""

    def __str__(self) -> str:
        words = ", ".join(f"{name} {value:.3f}" for name, value in self.words[:10])
        features = ", ".join(f"{name} {value:+.2f}" for name, value in self.features[:10])
        return f"page {self.page_id}: {words}" + (f"; {features}" if features else "")


def explain(model: RelevanceModel, topic: Topic, page_id: int, n_pages: int = 1000) -> Explanation:
    """The reasons for one page of a topic, which must be among those that the model finds."""
    found = model.score(topic, n_pages)
    if isinstance(model, LearnedModel | HybridModel) and page_id not in found.page_ids:
        raise EvenrankError(f"page {page_id} is not among the {len(found)} pages found for topic {topic.id}")
    return explain_found(model, topic, found, [page_id])[0]


def explain_found(
    model: RelevanceModel, topic: Topic, found: ScoredPages, page_ids: Sequence[int]
) -> list[Explanation]:
    """The reasons for some of the pages that the model has found."""
    lexical = lexical_part(model)
    terms = lexical.terms(topic)
    bonus = lexical.settings.query.people_bonus
    if lexical is model and bonus > 0.0 and names_people(topic.title):
        terms = [*terms, people_term(lexical.engine, bonus)]
    return [
        Explanation(
            page_id,
            term_contributions(lexical.engine, terms, page_id),
            feature_contributions(model, topic, found, page_id),
        )
        for page_id in page_ids
    ]


def lexical_part(model: RelevanceModel) -> LexicalModel:
    """The search by words that every model starts from."""
    if isinstance(model, LexicalModel):
        return model
    if isinstance(model, HybridModel):
        return model.extractor.lexical
    if isinstance(model, LearnedModel):
        return model.extractor.lexical
    raise TypeError(f"no explanation of {type(model).__name__}")


def term_contributions(engine: Engine, terms: Sequence[WeightedTerm], page_id: int) -> Parts:
    """What each term adds to the score of a page; they add up to the score."""
    distinct = merge_terms(terms)
    found = engine.search_many([Query([term], 1, Restriction(page_ids=[page_id])) for term in distinct])
    added = [(str(term), float(hits.scores[0])) for term, hits in zip(distinct, found, strict=True) if len(hits.scores)]
    return tuple(sorted(added, key=lambda item: (-item[1], item[0])))


def feature_contributions(model: RelevanceModel, topic: Topic, found: ScoredPages, page_id: int) -> Parts:
    """What each feature adds to the score of a page, among the pages it was ranked with; they add up to the score."""
    at = np.flatnonzero(found.page_ids == page_id)
    row = {name: values[at] for name, values in found.features.items()}
    if not len(at) or not row or any(np.isnan(values).any() for values in row.values()):
        return ()
    parts = _feature_parts(model, topic, row)
    return tuple(sorted(parts.items(), key=lambda item: (-abs(item[1]), item[0])))


def _feature_parts(model: RelevanceModel, topic: Topic, row: dict[str, np.ndarray]) -> dict[str, float]:
    """Each feature times what it counts; of a learned model, the mean over the lines that may speak of the topic."""
    if isinstance(model, LearnedModel):
        parts = model.state.cross_fit.contributions(topic.id, row)
        return {name: float(values[0]) for name, values in parts.items()}
    assert isinstance(model, HybridModel)
    return {name: weight * float(row[name][0]) for name, weight in model.weights.items() if name in row}
