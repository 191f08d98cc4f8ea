"""A learned ranker: trees and a line, which learn from the same pages and err in different places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.rng import derive
from evenrank.search.learn.features import RISING
from evenrank.search.learn.linear import Line, fit_line
from evenrank.search.learn.training_data import LearningSettings, Sample, as_table, make_lesson
from evenrank.search.learn.trees import Trees, fit_trees

Floats = NDArray[np.float64]

N_FOLDS = 5
"""Parts into which training topics are divided."""


@dataclass(frozen=True)
class Ranker:
    """A score is the weighted mean of what trees and line say, in log-odds."""

    feature_names: tuple[str, ...]
    trees: Trees
    line: Line
    line_weight: float
    """Weight of the line against the trees."""

    def scores(self, features: Mapping[str, Floats]) -> Floats:
        """Score of each page."""
        table = as_table(features, self.feature_names)
        return self._mean(self.trees.scores(table), self.line.scores(table))

    def contributions(self, features: Mapping[str, Floats]) -> dict[str, Floats]:
        """What each feature adds to the score of each page, and `base` for all."""
        table = as_table(features, self.feature_names)
        base = np.full((len(table), 1), self.line.intercept)
        parts = self._mean(self.trees.contributions(table), np.hstack([self.line.contributions(table), base]))
        return {name: parts[:, at] for at, name in enumerate((*self.feature_names, "base"))}

    def _mean(self, trees: Floats, line: Floats) -> Floats:
        return np.asarray((trees + self.line_weight * line) / (1.0 + self.line_weight))


def fit_ranker(samples: Sequence[Sample], names: Sequence[str], settings: LearningSettings) -> Ranker:
    """A ranker that learned from the first pages of the samples."""
    lesson = make_lesson(samples, names, settings.n_learned)
    is_rising = [name in RISING for name in names]
    line = fit_line(lesson.table, lesson.labels, lesson.weights, is_rising, settings.ridge)
    return Ranker(tuple(names), fit_trees(lesson, is_rising, settings), line, settings.line_weight)


def fold_rankers(
    samples: Sequence[Sample], names: Sequence[str], settings: LearningSettings, n_folds: int = N_FOLDS
) -> Iterator[tuple[Ranker, list[int]]]:
    """For each fold, a ranker that saw the topics of all other folds, and the positions of its own topics."""
    order = derive(settings.seed, "folds").permutation(len(samples))
    for fold in range(min(n_folds, len(samples))):
        held = sorted(order[fold::n_folds].tolist())
        yield fit_ranker([sample for at, sample in enumerate(samples) if at not in held], names, settings), held


def out_of_fold_scores(
    samples: Sequence[Sample], names: Sequence[str], settings: LearningSettings, n_folds: int = N_FOLDS
) -> list[Floats]:
    """Scores of each sample by a ranker that never saw its topic (leave-topics-out)."""
    scores: list[Floats] = [np.empty(0)] * len(samples)
    for ranker, held in fold_rankers(samples, names, settings, n_folds):
        for at in held:
            scores[at] = ranker.scores(samples[at].features)
    return scores
