"""Models that can be asked about their own training topics: each fold's line speaks only of topics it never saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evenrank.rng import derive
from evenrank.search.learn.linear import Line
from evenrank.search.learn.training_data import LearningSettings, Sample, fit_samples
from evenrank.types import Floats

N_FOLDS = 5
"""Parts into which training topics are divided."""


@dataclass(frozen=True)
class Fold:
    """A line, and the training topics that were kept from it."""

    line: Line
    held_out: tuple[int, ...]
    """Ids of the topics that this line did not see, in any form."""


@dataclass(frozen=True)
class CrossFit:
    """The lines of all folds. A training topic is scored by those that did not see it, any other topic by all."""

    folds: tuple[Fold, ...]

    @property
    def topic_ids(self) -> tuple[int, ...]:
        """The training topics."""
        return tuple(sorted(topic for fold in self.folds for topic in fold.held_out))

    def scores(self, topic_id: int, features: Mapping[str, Floats]) -> Floats:
        """Score of each page of a topic; the mean over the folds that may speak of it."""
        return np.asarray(np.mean([line.scores(features) for line in self.blind(topic_id)], axis=0))

    def contributions(self, topic_id: int, features: Mapping[str, Floats]) -> dict[str, Floats]:
        """What each feature adds to the score of each page, and `base` for all."""
        parts = [line.contributions(features) for line in self.blind(topic_id)]
        return {name: np.asarray(np.mean([part[name] for part in parts], axis=0)) for name in parts[0]}

    def blind(self, topic_id: int) -> list[Line]:
        """The lines that did not see a topic."""
        held = [fold.line for fold in self.folds if topic_id in fold.held_out]
        return held or [fold.line for fold in self.folds]


def topic_folds(topic_ids: Sequence[int], seed: int) -> list[tuple[int, ...]]:
    """The topics of each fold; all forms of a topic belong to one."""
    distinct = sorted(set(topic_ids))
    order = derive(seed, "folds").permutation(len(distinct))
    return [
        tuple(sorted(distinct[at] for at in order[fold::N_FOLDS].tolist()))
        for fold in range(min(N_FOLDS, len(distinct)))
    ]


def cross_fit(samples: Sequence[Sample], names: tuple[str, ...], settings: LearningSettings) -> CrossFit:
    """A line for each of five folds of the topics."""
    folds = []
    for held in topic_folds([sample.topic_id for sample in samples], settings.seed):
        seen = [sample for sample in samples if sample.topic_id not in held]
        folds.append(Fold(fit_samples(seen, names, settings), held))
    return CrossFit(tuple(folds))
