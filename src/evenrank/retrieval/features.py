"""Features of a topic's candidates: few, and each on a scale that topics share.

Words say what is written, vectors what is meant. Topics come with no keywords or with thirty, with noisy ones or a
single good one, so the title also speaks for itself, and nothing depends on how long a topic or a page is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.core.types import Floats
from evenrank.retrieval.encode.cross_encoder import PageReader
from evenrank.retrieval.encode.dense import DenseScorer
from evenrank.retrieval.engine.analysis import ABSENT
from evenrank.retrieval.engine.protocol import Engine, Hits, Restriction, TextField, WeightedTerm
from evenrank.retrieval.learn.calibration import Calibration
from evenrank.retrieval.query.accents import prefer_accents
from evenrank.retrieval.query.candidates import find_candidates
from evenrank.retrieval.query.people import are_biographies, names_people
from evenrank.retrieval.relevance import LexicalModel, ScoredPages, probabilities

Features = dict[str, Floats]

N_REFERENCE = 300
"""Pages, best by words, among which a feature has mean 0 and deviation 1: the same however many are looked at."""
N_ENCODED = 300
"""Pages, best by words, that vectors are made for while a topic is scored, when not all pages have one already."""
N_READ, N_READ_TO_LEARN = 30, 60
"""Pages, best by words and vectors, that a cross-encoder reads: in an untrained search, and in one that learned to use
it; the others count as the worst of these."""
UNTRAINED_WEIGHTS = {"words": 1.0, "topic_vector": 1.0, "title_vector": 0.5, "people": 2.5, "cross_encoder": 0.5}
"""What each feature counts when nothing was learned: about what a line learns on the 57 training topics of 2021. Words
and 3 times the topic vector order the first pages as well, and find fewer of the relevant pages among 1000. Learning
starts from these, and keeps to them as far as training topics do not say otherwise."""
SECOND = {"topic_vector": "second_topic_vector", "title_vector": "second_title_vector"}
"""Names of the features by a second text encoder, beside those of the first."""
TWO_ENCODERS_WEIGHTS = {
    name: 0.5 * UNTRAINED_WEIGHTS[first] for first, second in SECOND.items() for name in (first, second)
}
"""What vectors count where there are two encoders: each half of what one alone does."""
FILED_FIELDS: tuple[TextField, ...] = ("categories", "infobox", "kind")


@dataclass(frozen=True)
class FeatureExtractor:
    """Finds the candidates of a topic, by words and by vectors, and computes their features."""

    lexical: LexicalModel
    dense: DenseScorer | None = None
    """Adds vectors; and candidates by vectors, once every page has one (`evenrank index --dense`)."""
    reader: PageReader | None = None
    """Adds what a cross-encoder says of the best pages; without `dense` it is not asked."""
    second: DenseScorer | None = None
    """A second text encoder, whose vectors and candidates join those of `dense`; without that it is not asked."""
    n_read: int = N_READ_TO_LEARN
    """Pages that the cross-encoder reads."""

    @property
    def engine(self) -> Engine:
        return self.lexical.engine

    @property
    def names(self) -> tuple[str, ...]:
        """The features of pages."""
        vectors = (*SECOND, *(SECOND.values() if self.second else ())) if self.dense else ()
        return ("words", "filed", *vectors, "people", *(("cross_encoder",) if self.dense and self.reader else ()))

    @property
    def n_scored(self) -> int | None:
        """Candidates, best by words, that have all features; None for all."""
        return None if self.dense is None or self.dense.covers_index else N_ENCODED

    def candidates(self, topic: Topic, k: int, up_to_page_id: int | None = None) -> Hits:
        """The best k pages by words and those of the groups, with the k nearest by vectors; best by words first."""
        terms = self.lexical.terms(topic)
        found = find_candidates(self.engine, terms, replace(self.lexical.settings.candidates, n_pages=k), up_to_page_id)
        found = prefer_accents(self.engine, topic, found)
        if self.dense is None or not self.dense.covers_index:
            return found
        scorers = [scorer for scorer in (self.dense, self.second) if scorer is not None]
        near = np.concatenate([scorer.nearest(topic, k, up_to_page_id) for scorer in scorers])
        further = np.setdiff1d(near, found.page_ids)
        scores = self._score(terms, further)
        page_ids, scores = np.append(found.page_ids, further), np.append(found.scores, scores)
        order = np.lexsort((page_ids, -scores))
        return Hits(page_ids[order], scores[order])

    def _score(self, terms: Sequence[WeightedTerm], page_ids: NDArray[np.int32]) -> Floats:
        """The score of any pages by some terms; 0 for a page that has none of them."""
        scores = np.zeros(len(page_ids))
        if terms and len(page_ids):
            hits = self.engine.search(terms, len(page_ids), Restriction(page_ids=page_ids.tolist()))
            order = np.argsort(page_ids)
            scores[order[np.searchsorted(page_ids[order], hits.page_ids)]] = hits.scores
        return scores

    @cached_property
    def _has_filing(self) -> bool:
        """Whether any page is filed under anything; not in an index of plain text."""
        n_pages = self.engine.statistics().n_pages
        return any(self.engine.document_frequencies(name, [ABSENT])[0] < n_pages for name in FILED_FIELDS)

    def _filed(self, topic: Topic, page_ids: NDArray[np.int32]) -> Floats:
        """The score of pages by what others filed them under: categories, infoboxes, occupations."""
        if not self._has_filing:
            return np.zeros(len(page_ids))
        terms = self.lexical.own_terms(topic)
        return self._score([term for term in terms if term.field in FILED_FIELDS], page_ids)

    def features(self, topic: Topic, found: Hits) -> Features:
        """Features by name, each an array beside the pages, which are in the order of words."""
        features = {
            "words": standardise(found.scores),
            "filed": standardise(self._filed(topic, found.page_ids)),
            "people": self._people(topic, found),
        }
        if self.dense is not None:
            nearness = self.dense.similarity(topic, found.page_ids)
            features |= dict(zip(SECOND, map(standardise, nearness), strict=True))
            if self.second is not None:
                nearness = self.second.similarity(topic, found.page_ids)
                features |= dict(zip(SECOND.values(), map(standardise, nearness), strict=True))
            if self.reader is not None:
                features["cross_encoder"] = self._read(topic, found, features)
        return {name: features[name] for name in self.names}

    def _people(self, topic: Topic, found: Hits) -> Floats:
        """1 for a biography if the title of the topic names people, else 0."""
        if not names_people(topic.title):
            return np.zeros(len(found.page_ids))
        return are_biographies(self.engine, found.page_ids).astype(np.float64)

    def _read(self, topic: Topic, found: Hits, features: Features) -> Floats:
        assert self.reader is not None
        if not len(found.page_ids):
            return np.empty(0)
        best = np.argsort(-weighted_sum(features, untrained_weights(features)), kind="stable")[: self.n_read]
        read = standardise(self.reader.scores(topic, found.page_ids[best]))
        scores = np.full(len(found.page_ids), read.min())
        scores[best] = read
        return scores


def standardise(values: Floats) -> Floats:
    """Values with mean 0 and deviation 1 among the first pages; zeros when those are all equal."""
    first = values[:N_REFERENCE]
    deviation = first.std() if len(first) else 0.0
    return np.asarray((values - first.mean()) / deviation) if deviation > 0 else np.zeros(len(values))


def untrained_weights(names: Collection[str]) -> dict[str, float]:
    """What each feature counts when nothing was learned, for these features together."""
    known = {**UNTRAINED_WEIGHTS, **(TWO_ENCODERS_WEIGHTS if SECOND["topic_vector"] in names else {})}
    return {name: weight for name, weight in known.items() if name in names}


def weighted_sum(features: Features, weights: dict[str, float]) -> Floats:
    """The sum of the features that have a weight."""
    parts = [weights.get(name, 0.0) * values for name, values in features.items()]
    return np.asarray(np.sum(parts, axis=0))


@dataclass(frozen=True)
class HybridModel:
    """The untrained default with the extra `dense`."""

    extractor: FeatureExtractor
    given_weights: dict[str, float] | None = None
    """Weight of each feature; None takes the usual ones (`untrained_weights`)."""
    calibration: Calibration | None = None

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each feature that counts."""
        return untrained_weights(self.extractor.names) if self.given_weights is None else self.given_weights

    @property
    def engine(self) -> Engine:
        return self.extractor.engine

    def score(self, topic: Topic, k: int, up_to_page_id: int | None = None) -> ScoredPages:
        """The best k pages and those of the groups; see `RelevanceModel.score`."""
        found = self.extractor.candidates(topic, k, up_to_page_id)
        return score_hits(
            self.extractor,
            topic,
            found,
            lambda features: weighted_sum(features, self.weights),
            lambda head, tail: below(head, tail.scores),
            self.calibration,
        )


def score_hits(
    extractor: FeatureExtractor,
    topic: Topic,
    found: Hits,
    score_head: Callable[[Features], Floats],
    score_tail: Callable[[Floats, Hits], Floats],
    calibration: Calibration | None,
) -> ScoredPages:
    """Candidates with scores: the first by their features, those that have no vectors by words alone."""
    n = len(found.page_ids) if extractor.n_scored is None else extractor.n_scored
    features = extractor.features(topic, Hits(found.page_ids[:n], found.scores[:n]))
    head = score_head(features)
    tail = Hits(found.page_ids[n:], found.scores[n:])
    scores = np.append(head, score_tail(head, tail)) if len(tail.page_ids) else head
    order = np.lexsort((found.page_ids, -scores))
    unknown = np.full(len(scores) - len(head), np.nan)
    return ScoredPages(
        found.page_ids[order],
        scores[order],
        probabilities(calibration, scores)[order],
        {name: np.append(values, unknown)[order] for name, values in features.items()},
    )


def below(head: Floats, tail: Floats) -> Floats:
    """Scores for a tail that keeps its order somewhat below a head that was scored anew."""
    if not len(head) or not len(tail):
        return tail
    step = 1e-3 * max(float(np.ptp(head)), 1e-3)
    return np.asarray(head.min() - step * (1.0 + tail.max() - tail))
