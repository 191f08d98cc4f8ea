"""The relevance model: a topic → pages with scores, probabilities of relevance, and the features behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.core.types import Floats
from evenrank.retrieval.engine.protocol import Engine, Hits, Restriction, WeightedTerm
from evenrank.retrieval.learn.calibration import Calibration, predict
from evenrank.retrieval.learn.relevant_count import RelevantCount
from evenrank.retrieval.query.accents import prefer_accents
from evenrank.retrieval.query.candidates import CandidateSettings, find_candidates, merge_hits
from evenrank.retrieval.query.doubtful_keywords import doubtful_keywords
from evenrank.retrieval.query.feedback import FeedbackSettings, expand
from evenrank.retrieval.query.people import add_people_bonus, names_people
from evenrank.retrieval.query.topic_query import QuerySettings, build_terms, topic_words

FEWEST_REORDERED = 1000
"""Pages that are looked at for biographies, however few are asked for."""


@dataclass(frozen=True)
class ScoredPages:
    """The pages of a topic, best first, ties by page id; arrays run beside each other."""

    page_ids: NDArray[np.int32]
    scores: Floats
    """Higher is better; comparable within the topic only."""
    probabilities: Floats
    """Calibrated probability of relevance."""
    features: Mapping[str, Floats] = field(default_factory=dict)
    """What the score is made of."""
    n_relevant: RelevantCount | None = None
    """How many pages of the topic are relevant, found or not; None where nothing was learned about that."""

    def __len__(self) -> int:
        return len(self.page_ids)

    def first(self, k: int) -> ScoredPages:
        """The best k pages."""
        return self.take(np.arange(min(k, len(self))))

    def take(self, positions: NDArray[np.integer]) -> ScoredPages:
        """Some of the pages, in the order asked for."""
        features = {name: values[positions] for name, values in self.features.items()}
        columns = (self.page_ids[positions], self.scores[positions], self.probabilities[positions])
        return ScoredPages(*columns, features, self.n_relevant)


class RelevanceModel(Protocol):
    """Finds and scores the pages of a topic."""

    @property
    def engine(self) -> Engine:
        """The index behind it."""
        ...

    def score(self, topic: Topic, k: int, up_to_page_id: int | None = None) -> ScoredPages:
        """The best k pages, and beyond them those that the groups need; only up to a page id if one is given."""
        ...


@dataclass(frozen=True)
class SearchSettings:
    """Everything that decides what an untrained search finds."""

    query: QuerySettings = field(default_factory=QuerySettings)
    feedback: FeedbackSettings = field(default_factory=FeedbackSettings)
    candidates: CandidateSettings = field(default_factory=CandidateSettings)


@dataclass(frozen=True)
class LexicalModel:
    """The untrained default: words of the topic in lead, text, categories and infobox, widened by feedback.

    When the title of a topic names people, a bonus brings biographies forward.
    """

    engine: Engine
    settings: SearchSettings = field(default_factory=SearchSettings)
    calibration: Calibration | None = None
    """From scores to probabilities; None goes by rank (`probability_by_rank`)."""

    def terms(self, topic: Topic) -> list[WeightedTerm]:
        """The query of a topic, with feedback."""
        return expand(self.engine, self.own_terms(topic), self.settings.feedback)

    def own_terms(self, topic: Topic) -> list[WeightedTerm]:
        """The query of a topic by its own words."""
        words = topic_words(topic, self.settings.query, self.engine.layout.language, self.doubtful_keywords(topic))
        return build_terms(words, self.engine, self.settings.query)

    def doubtful_keywords(self, topic: Topic) -> tuple[str, ...]:
        """Keywords that count less because they fit neither the title nor the other keywords."""
        query = self.settings.query
        return doubtful_keywords(self.engine, topic, query) if query.doubtful_share < 1.0 else ()

    def score(self, topic: Topic, k: int, up_to_page_id: int | None = None) -> ScoredPages:
        """The best k pages and those of the groups; see `RelevanceModel.score`."""
        settings, terms = replace(self.settings.candidates, n_pages=k), self.terms(topic)
        found = find_candidates(self.engine, terms, settings, up_to_page_id)
        if names_people(topic.title) and len(found.page_ids) >= k:
            restriction = Restriction(up_to_page_id=up_to_page_id)
            found = merge_hits([found, self._best_people(topic, terms, k, restriction)])
        found = prefer_accents(self.engine, topic, found)
        hits = add_people_bonus(self.engine, topic.title, found, self.settings.query.people_bonus)
        return ScoredPages(hits.page_ids, hits.scores, probabilities(self.calibration, hits.scores))

    def search(self, topic: Topic, k: int, restriction: Restriction) -> Hits:
        """The best k pages that a restriction allows."""
        terms = self.terms(topic)
        if not names_people(topic.title):
            return prefer_accents(self.engine, topic, self.engine.search(terms, k, restriction))
        found = prefer_accents(self.engine, topic, self._best_people(topic, terms, k, restriction))
        return add_people_bonus(self.engine, topic.title, found, self.settings.query.people_bonus)

    def _best_people(self, topic: Topic, terms: list[WeightedTerm], k: int, restriction: Restriction) -> Hits:
        """The k pages that are best once biographies have their bonus, with their scores without it."""
        wider = self.engine.search(terms, max(2 * k, FEWEST_REORDERED), restriction)
        best = add_people_bonus(self.engine, topic.title, wider, self.settings.query.people_bonus).page_ids[:k]
        is_best = np.isin(wider.page_ids, best)
        return Hits(wider.page_ids[is_best], wider.scores[is_best])


def probabilities(calibration: Calibration | None, scores: Floats) -> Floats:
    """Calibrated probabilities, or those by rank when nothing was there to calibrate on."""
    return probability_by_rank(scores) if calibration is None else predict(calibration, scores)


def probability_by_rank(scores: Floats) -> Floats:
    """0.8 / (1 + rank / 80): what BM25 over all of Wikipedia reached on the track's evaluation topics.

    That is a precision of 0.77 at 10 and about 165 relevant pages in the first 1000.
    """
    rank = len(scores) - np.searchsorted(np.sort(scores), scores, side="left")
    return np.asarray(0.8 / (1.0 + rank / 80.0), np.float64)
