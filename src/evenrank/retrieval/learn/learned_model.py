"""The learned relevance model: candidates by words and vectors, in the order that training topics teach."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evenrank.core.records import Topic
from evenrank.core.types import Floats
from evenrank.retrieval.encode.encoder import EncoderSettings
from evenrank.retrieval.engine.protocol import Engine, Hits
from evenrank.retrieval.features import FeatureExtractor
from evenrank.retrieval.hybrid import score_hits
from evenrank.retrieval.learn.calibration import Calibration, CalibrationSettings
from evenrank.retrieval.learn.cross_validation import CrossFit
from evenrank.retrieval.learn.relevant_count import CountModel, estimate_count
from evenrank.retrieval.learn.training_data import LearningSettings
from evenrank.retrieval.relevance import ScoredPages

LEARNED_CALIBRATION = CalibrationSettings(method="piecewise-linear", scale="shared", ridge=1e-4, prior_strength=10.0)
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
    plain: CrossFit
    """Lines without vectors, for pages that have none; log-odds as those of the others are."""
    calibration: Calibration
    """From out-of-fold scores to probabilities."""
    count: CountModel
    """From probabilities to the number of relevant pages."""
    settings: LearningSettings
    n_pages: int
    """Pages that it learned from; it never looks at fewer."""
    encoder: UsedEncoder | None = None
    """None without text vectors."""
    cross_encoder: str | None = None
    """Fingerprint of the cross-encoder; None without one."""


@dataclass(frozen=True)
class LearnedModel:
    """A learned order of the candidates."""

    extractor: FeatureExtractor
    state: LearnedState

    @property
    def engine(self) -> Engine:
        return self.extractor.engine

    def score(self, topic: Topic, k: int, up_to_page_id: int | None = None) -> ScoredPages:
        """The best k pages, at least as many as were learned from, and those of the groups."""
        state = self.state
        found = self.extractor.candidates(topic, max(k, state.n_pages), up_to_page_id)
        pages = score_hits(
            self.extractor,
            topic,
            found,
            lambda features: state.cross_fit.scores(topic.id, features),
            lambda head, tail: self._tail_scores(topic, found)[len(head) :],
            state.calibration,
        )
        return replace(pages, n_relevant=estimate_count(state.count, pages.probabilities))

    def _tail_scores(self, topic: Topic, found: Hits) -> Floats:
        """Scores of all candidates by what needs no vectors."""
        features = replace(self.extractor, dense=None, reader=None).features(topic, found)
        return np.asarray(self.state.plain.scores(topic.id, features))
