"""Words and vectors together, untrained: the sum of the two scores, each standardised over the candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenrank.records import Topic
from evenrank.search.encode.dense import DenseScorer
from evenrank.search.engine.protocol import Engine
from evenrank.search.learn.calibration import Calibration
from evenrank.search.learn.features import standardised
from evenrank.search.relevance import LexicalModel, ScoredPages, probabilities


@dataclass(frozen=True)
class HybridModel:
    """The untrained default with the extra `[dense]`."""

    lexical: LexicalModel
    dense: DenseScorer
    weight: float = 1.0
    """Weight of the vectors against the words."""
    n_rescored: int = 300
    """Pages whose vectors are looked at; the rest stays below them in the order of the words."""
    calibration: Calibration | None = None

    @property
    def engine(self) -> Engine:
        return self.lexical.engine

    def score(self, topic: Topic, k: int, up_to_page_id: int | None = None) -> ScoredPages:
        """The best k pages and those of the groups; see `RelevanceModel.score`."""
        found = self.lexical.score(topic, k, up_to_page_id)
        head = found.first(self.n_rescored)
        whole, part = self.dense.similarity(topic, head.page_ids)
        fused = standardised(head.scores) + self.weight * standardised(whole)
        scores = below(fused, found.scores[len(head) :])
        order = np.lexsort((found.page_ids, -scores))
        features = {"lexical": head.scores, "dense": whole, "dense_part": part}
        padded = {name: np.append(values, np.full(len(found) - len(head), np.nan)) for name, values in features.items()}
        return ScoredPages(
            found.page_ids[order],
            scores[order],
            probabilities(self.calibration, scores)[order],
            {name: values[order] for name, values in padded.items()},
        )


def below(head: np.ndarray, tail: np.ndarray) -> np.ndarray:
    """Scores of a head that was scored anew, and of a tail that keeps its order somewhat below it."""
    if not len(head) or not len(tail):
        return np.append(head, tail)
    step = 1e-3 * max(float(np.ptp(head)), 1e-3)
    return np.append(head, head.min() - step * (1.0 + tail.max() - tail))
