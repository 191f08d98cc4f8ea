"""The learned relevance model: the pages that the lexical model finds, in the order that training topics teach."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenrank.records import Topic
from evenrank.search.encode.encoder import EncoderSettings
from evenrank.search.engine.protocol import Engine, Hits
from evenrank.search.learn.calibration import Calibration, CalibrationSettings
from evenrank.search.learn.cross_validation import CrossFit
from evenrank.search.learn.features import FeatureExtractor
from evenrank.search.learn.training_data import LearningSettings, Sample
from evenrank.search.relevance import ScoredPages, probabilities

Floats = NDArray[np.float64]

LEARNED_CALIBRATION = CalibrationSettings(method="bent", scale="shared", ridge=1e-4, prior_strength=3.0)
"""How learned scores become probabilities: they are log-odds of one scale already, so one line serves all topics."""


@dataclass(frozen=True)
class UsedEncoder:
    """The text encoder that a model was trained with."""

    settings: EncoderSettings
    fingerprint: str


@dataclass(frozen=True)
class LearnedState:
    """What training leaves behind; everything but the index and the encoder."""

    cross_fit: CrossFit
    calibration: Calibration
    """From out-of-fold scores to probabilities."""
    settings: LearningSettings
    n_pages: int
    """Pages of the plain search that it learned from; it never looks at fewer, because features compare pages."""
    n_rescored: int | None
    """Pages that text vectors are made for; None without text vectors, which alone make scoring slow."""
    rest: CrossFit | None = None
    """Rankers without text vectors, for the pages beyond; log-odds as those of the others are."""
    encoder: UsedEncoder | None = None
    """None without text vectors."""
    cross_encoder: str | None = None
    """Fingerprint of the cross-encoder; None without one."""


@dataclass(frozen=True)
class LearnedModel:
    """A learned order of the pages that the lexical model finds."""

    extractor: FeatureExtractor
    state: LearnedState

    @property
    def engine(self) -> Engine:
        return self.extractor.engine

    def score(self, topic: Topic, k: int, up_to_page_id: int | None = None) -> ScoredPages:
        """The best k pages, at least as many as were learned from, and those of the groups."""
        state = self.state
        found, features = candidates(self.extractor, topic, max(k, state.n_pages), state.n_rescored, up_to_page_id)
        head = state.cross_fit.scores(topic.id, features)
        scores = np.append(head, self._beyond(topic, found, len(head)))
        order = np.lexsort((found.page_ids, -scores))
        unknown = np.full(len(scores) - len(head), np.nan)
        return ScoredPages(
            found.page_ids[order],
            scores[order],
            probabilities(state.calibration, scores)[order],
            {name: np.append(values, unknown)[order] for name, values in features.items()},
        )

    def _beyond(self, topic: Topic, found: Hits, n_rescored: int) -> Floats:
        """Scores of the pages that have no text vectors."""
        if n_rescored == len(found.page_ids):
            return np.empty(0)
        assert self.state.rest is not None
        features = replace(self.extractor, dense=None, cross=None).features(topic, found)
        return self.state.rest.scores(topic.id, {name: values[n_rescored:] for name, values in features.items()})


def candidates(
    extractor: FeatureExtractor, topic: Topic, k: int, n_rescored: int | None, up_to_page_id: int | None = None
) -> tuple[Hits, dict[str, Floats]]:
    """What the lexical model finds, and the features of the first pages of it, or of all."""
    found = extractor.model.score(topic, k, up_to_page_id)
    head = Hits(found.page_ids[:n_rescored], found.scores[:n_rescored])
    return Hits(found.page_ids, found.scores), extractor.features(topic, head)


def make_sample(
    extractor: FeatureExtractor, topic: Topic, n_rescored: int = 300, up_to_page_id: int | None = None
) -> Sample:
    """A topic's first candidates with features and labels; `up_to_page_id` bounds a judged window."""
    found, features = candidates(extractor, topic, n_rescored, n_rescored, up_to_page_id)
    return Sample(topic.id, features, np.isin(found.page_ids[:n_rescored], topic.rel_docs))
