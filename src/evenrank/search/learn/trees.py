"""Boosted trees that may only say "more" where more is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, MissingExtraError
from evenrank.search.learn.training_data import LearningSettings, Lesson
from evenrank.search.learn.tree_text import n_features_of, without_rest

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trees:
    """Learned trees; text that any version of LightGBM reads."""

    texts: tuple[str, ...]

    def scores(self, table: Floats) -> Floats:
        """Log-odds of each row of a table, page by feature; the mean over the sets of trees."""
        if not len(table):
            return np.empty(0)
        return np.asarray(np.mean([m.predict(table, raw_score=True) for m in self._models], axis=0))

    def contributions(self, table: Floats) -> Floats:
        """What each feature adds to the score of each page (Shapley values); the last column is what all pages have."""
        return np.asarray(np.mean([m.predict(table, pred_contrib=True) for m in self._models], axis=0))

    @property
    def n_features(self) -> list[int]:
        """How many features each set of trees wants; ValueError when a text holds no trees."""
        return [n_features_of(text) for text in self.texts]

    @cached_property
    def _models(self) -> Sequence[Any]:
        return [_open(text) for text in self.texts]


def _open(text: str) -> Any:
    """The trees of a text, which is checked first: LightGBM would end the process over a bad one."""
    lightgbm = import_lightgbm()
    n_features_of(text)
    try:
        return lightgbm.Booster(model_str=without_rest(text))
    except lightgbm.basic.LightGBMError as error:
        raise ValueError(f"not the text of trees: {error}") from error


def fit_trees(lesson: Lesson, is_rising: Sequence[bool], settings: LearningSettings) -> Trees:
    """Trees grown on a lesson; more of a feature that `is_rising` never lowers a score."""
    lightgbm = import_lightgbm()
    is_binary = settings.objective == "binary"
    data = lightgbm.Dataset(
        lesson.table,
        lesson.labels.astype(np.int8),
        weight=lesson.weights if is_binary else None,
        group=None if is_binary else lesson.sizes,
        params={"verbose": -1},
        free_raw_data=False,
    )
    texts = [
        lightgbm.train(_parameters(settings, is_rising, number), data, settings.n_trees).model_to_string()
        for number in range(settings.n_models)
    ]
    return Trees(tuple(texts))


def _parameters(settings: LearningSettings, is_rising: Sequence[bool], number: int) -> dict[str, Any]:
    return {
        "objective": settings.objective,
        "num_leaves": settings.n_leaves,
        "learning_rate": settings.learning_rate,
        "min_data_in_leaf": settings.n_pages_in_leaf,
        "feature_fraction": settings.feature_share,
        "bagging_fraction": settings.page_share,
        "bagging_freq": 1,
        "lambda_l2": settings.shrinkage,
        "monotone_constraints": [int(rising) for rising in is_rising],
        "seed": settings.seed + number,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbose": -1,
    }


def import_lightgbm() -> Any:
    """The module, or an error that says what to install."""
    try:
        import lightgbm
    except ImportError as error:
        raise MissingExtraError("the learned relevance model", "learn") from error
    except OSError as error:  # the package is there, a library of the system is not
        raise EvenrankError(f"LightGBM cannot be loaded: {error} (Debian: apt-get install libgomp1)") from error
    return lightgbm
