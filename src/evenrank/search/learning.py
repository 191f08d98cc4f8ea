"""Learning to rank the candidates of a topic: boosted trees that may only say "more" where more is better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, MissingExtraError
from evenrank.rng import derive
from evenrank.search.features import RISING

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LearningSettings:
    """How the trees are grown. Training topics are few, so trees are small and many see only part of the data."""

    objective: Literal["binary", "lambdarank"] = "binary"
    """`binary`: log-odds of relevance, topics weighing the same; `lambdarank`: the order within a topic."""
    n_trees: int = 100
    n_leaves: int = 5
    learning_rate: float = 0.05
    n_pages_in_leaf: int = 40
    """Fewest pages on which a leaf may rest."""
    feature_share: float = 0.5
    """Share of the features that a tree sees."""
    page_share: float = 0.7
    """Share of the pages that a tree sees."""
    shrinkage: float = 10.0
    """L2 penalty of leaf values."""
    n_models: int = 5
    """Models with different seeds whose scores are averaged."""
    n_learned: int = 200
    """Pages at the top of each topic that are learned from."""
    seed: int = 0


@dataclass(frozen=True)
class Sample:
    """A topic to learn from: its candidates' features, best lexical score first, and which are relevant."""

    topic_id: int
    features: Mapping[str, Floats]
    labels: NDArray[np.bool_]


@dataclass(frozen=True)
class Trees:
    """Learned trees; text that any version of LightGBM reads."""

    feature_names: tuple[str, ...]
    texts: tuple[str, ...]

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Trees:
        """The trees of a model file."""
        return cls(tuple(record["feature_names"]), tuple(record["texts"]))

    def scores(self, features: Mapping[str, Floats]) -> Floats:
        """Score of each page; the mean over the models."""
        table = as_table(features, self.feature_names)
        if not len(table):
            return np.empty(0)
        return np.asarray(np.mean([m.predict(table, raw_score=True) for m in self._models], axis=0))

    def contributions(self, features: Mapping[str, Floats]) -> dict[str, Floats]:
        """What each feature adds to the score of each page (Shapley values of the trees), and `base` for all."""
        table = as_table(features, self.feature_names)
        parts = np.mean([m.predict(table, pred_contrib=True) for m in self._models], axis=0)
        return {name: parts[:, at] for at, name in enumerate((*self.feature_names, "base"))}

    @cached_property
    def _models(self) -> Sequence[Any]:
        lightgbm = import_lightgbm()
        return [lightgbm.Booster(model_str=text) for text in self.texts]


def as_table(features: Mapping[str, Floats], names: Sequence[str]) -> Floats:
    """Page by feature; an error that names what is missing."""
    missing = [name for name in names if name not in features]
    if missing:
        fix = "it was trained with text vectors: use a dense scorer" if "dense" in missing else "train it again"
        raise EvenrankError(f"the relevance model needs {', '.join(missing)} ({fix})")
    return np.column_stack([features[name] for name in names])


def fit_trees(samples: Sequence[Sample], names: Sequence[str], settings: LearningSettings) -> Trees:
    """Trees grown on the samples."""
    lightgbm = import_lightgbm()
    heads = [as_table(sample.features, names)[: settings.n_learned] for sample in samples]
    labels = [sample.labels[: settings.n_learned] for sample in samples]
    if not any(part.any() for part in labels):
        raise EvenrankError("no relevant page among the candidates of the training topics: nothing to learn from")
    sizes = [len(head) for head in heads]
    weights = np.concatenate([np.full(n, sum(sizes) / (len(sizes) * n)) for n in sizes if n])
    is_binary = settings.objective == "binary"
    data = lightgbm.Dataset(
        np.concatenate(heads),
        np.concatenate(labels).astype(np.int8),
        weight=weights if is_binary else None,
        group=None if is_binary else [n for n in sizes if n],
        params={"verbose": -1},
        free_raw_data=False,
    )
    texts = [
        lightgbm.train(_parameters(settings, names, number), data, settings.n_trees).model_to_string()
        for number in range(settings.n_models)
    ]
    return Trees(tuple(names), tuple(texts))


def fold_trees(
    samples: Sequence[Sample], names: Sequence[str], settings: LearningSettings, n_folds: int = 5
) -> Iterator[tuple[Trees, list[int]]]:
    """For each fold, trees that saw the topics of all other folds, and the positions of its own topics."""
    order = derive(settings.seed, "folds").permutation(len(samples))
    for fold in range(min(n_folds, len(samples))):
        held = sorted(order[fold::n_folds].tolist())
        yield fit_trees([sample for at, sample in enumerate(samples) if at not in held], names, settings), held


def out_of_fold_scores(
    samples: Sequence[Sample], names: Sequence[str], settings: LearningSettings, n_folds: int = 5
) -> list[Floats]:
    """Scores of each sample by trees that never saw its topic (leave-topics-out)."""
    scores: list[Floats] = [np.empty(0)] * len(samples)
    for trees, held in fold_trees(samples, names, settings, n_folds):
        for at in held:
            scores[at] = trees.scores(samples[at].features)
    return scores


def _parameters(settings: LearningSettings, names: Sequence[str], number: int) -> dict[str, Any]:
    return {
        "objective": settings.objective,
        "num_leaves": settings.n_leaves,
        "learning_rate": settings.learning_rate,
        "min_data_in_leaf": settings.n_pages_in_leaf,
        "feature_fraction": settings.feature_share,
        "bagging_fraction": settings.page_share,
        "bagging_freq": 1,
        "lambda_l2": settings.shrinkage,
        "monotone_constraints": [int(name in RISING) for name in names],
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
    return lightgbm
