"""Why is this article here: the words that brought it, and what each feature added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from evenrank.errors import EvenrankError
from evenrank.records import Topic
from evenrank.search.engine import Engine, Hits, Restriction, WeightedTerm
from evenrank.search.learned import LearnedModel
from evenrank.search.relevance import LexicalModel
from evenrank.search.tantivy_query import fold


@dataclass(frozen=True)
class Explanation:
    """What a page's score is made of; each list is by falling contribution."""

    page_id: int
    words: tuple[tuple[str, float], ...]
    """Terms of the query with what they add to the lexical score, as `field:word`."""
    features: tuple[tuple[str, float], ...] = field(default=())
    """Features with what they add to the learned score; empty for an untrained model."""

    def __str__(self) -> str:
        words = ", ".join(f"{name} {value:.3f}" for name, value in self.words[:10])
        features = ", ".join(f"{name} {value:+.2f}" for name, value in self.features[:10])
        return f"page {self.page_id}: {words}" + (f"; {features}" if features else "")


def explain(model: LexicalModel | LearnedModel, topic: Topic, page_id: int) -> Explanation:
    """The reasons for one page of a topic."""
    lexical = model.extractor.model if isinstance(model, LearnedModel) else model
    words = term_contributions(lexical.engine, lexical.terms(topic), page_id)
    features = _feature_contributions(model, topic, page_id) if isinstance(model, LearnedModel) else ()
    return Explanation(page_id, words, features)


def term_contributions(engine: Engine, terms: Sequence[WeightedTerm], page_id: int) -> tuple[tuple[str, float], ...]:
    """What each term adds to the score of a page; they add up to the score."""
    found = [(str(term), engine.search([term], 1, Restriction(page_ids=[page_id])).scores) for term in fold(terms)]
    added = [(name, float(scores[0])) for name, scores in found if len(scores)]
    return tuple(sorted(added, key=lambda item: (-item[1], item[0])))


def _feature_contributions(model: LearnedModel, topic: Topic, page_id: int) -> tuple[tuple[str, float], ...]:
    """Shapley values of the page's features, among the pages it was ranked with."""
    found = model.extractor.model.score(topic, model.n_rescored)
    head = found.first(model.n_rescored)
    at = [position for position, other in enumerate(head.page_ids.tolist()) if other == page_id]
    if not at:
        raise EvenrankError(f"page {page_id} is not among the first {model.n_rescored} pages of topic {topic.id}")
    features = model.extractor.features(topic, Hits(head.page_ids, head.scores))
    parts = {name: float(values[at[0]]) for name, values in model.state.trees.contributions(features).items()}
    return tuple(sorted(parts.items(), key=lambda item: (-abs(item[1]), item[0])))
