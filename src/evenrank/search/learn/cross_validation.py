"""Models that can be asked about their own training topics: each fold's ranker speaks only of topics it never saw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.search.learn.ranker import Ranker, fold_rankers
from evenrank.search.learn.training_data import LearningSettings, Sample

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fold:
    """A ranker, and the training topics that were kept from it."""

    ranker: Ranker
    held_out: tuple[int, ...]
    """Ids of the topics that this ranker did not see."""


@dataclass(frozen=True)
class CrossFit:
    """The rankers of all folds. A training topic is scored by those that did not see it, any other topic by all."""

    folds: tuple[Fold, ...]

    @property
    def topic_ids(self) -> tuple[int, ...]:
        """The training topics."""
        return tuple(sorted(topic for fold in self.folds for topic in fold.held_out))

    def scores(self, topic_id: int, features: Mapping[str, Floats]) -> Floats:
        """Score of each page of a topic; the mean over the folds that may speak of it."""
        return np.asarray(np.mean([ranker.scores(features) for ranker in self.blind(topic_id)], axis=0))

    def contributions(self, topic_id: int, features: Mapping[str, Floats]) -> dict[str, Floats]:
        """What each feature adds to the score of each page, and `base` for all."""
        parts = [ranker.contributions(features) for ranker in self.blind(topic_id)]
        return {name: np.asarray(np.mean([part[name] for part in parts], axis=0)) for name in parts[0]}

    def blind(self, topic_id: int) -> list[Ranker]:
        """The rankers that did not see a topic."""
        held = [fold.ranker for fold in self.folds if topic_id in fold.held_out]
        return held or [fold.ranker for fold in self.folds]


def cross_fit(
    samples: Sequence[Sample],
    names: Sequence[str],
    settings: LearningSettings,
    on_fold: Callable[[], object] = lambda: None,
) -> CrossFit:
    """A ranker for each of five folds of the topics; `on_fold` is called after each."""
    folds = []
    for ranker, held in fold_rankers(samples, names, settings):
        folds.append(Fold(ranker, tuple(sorted(samples[at].topic_id for at in held))))
        on_fold()
    return CrossFit(tuple(folds))
