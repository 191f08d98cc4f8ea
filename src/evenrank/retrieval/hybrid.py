"""Words and vectors together: the learned model before it has learned anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from evenrank.core.records import Topic
from evenrank.core.types import Floats
from evenrank.retrieval.engine.protocol import Engine, Hits
from evenrank.retrieval.features import UNTRAINED_WEIGHTS, FeatureExtractor, Features, weighted_sum
from evenrank.retrieval.learn.calibration import Calibration
from evenrank.retrieval.relevance import ScoredPages, probabilities


@dataclass(frozen=True)
class HybridModel:
    """The untrained default with the extra `dense`."""

    extractor: FeatureExtractor
    weights: dict[str, float] = field(default_factory=lambda: dict(UNTRAINED_WEIGHTS))
    """Weight of each feature."""
    calibration: Calibration | None = None

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
