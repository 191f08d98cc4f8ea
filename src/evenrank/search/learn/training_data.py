"""What a ranker learns from: settings, topics with known pages, and the table that they make together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LearningSettings:
    """How trees and line are fitted. Training topics are few, so trees are small and many see only part of the data."""

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
    """Sets of trees with different seeds whose scores are averaged."""
    line_weight: float = 1.0
    """Weight of the line against the trees; 0 for trees alone."""
    ridge: float = 0.01
    """L2 penalty of the line's slopes."""
    n_learned: int = 200
    """Pages at the top of each topic that are learned from."""
    seed: int = 0


@dataclass(frozen=True)
class Sample:
    """A topic to learn from: its candidates' features, best lexical score first, and which are relevant."""

    topic_id: int
    features: Mapping[str, Floats]
    labels: NDArray[np.bool_]


class Lesson(NamedTuple):
    """The first pages of all topics in one table."""

    table: Floats
    """Page by feature."""
    labels: Floats
    """1 for relevant pages."""
    weights: Floats
    """Weight of each page; topics weigh the same, and the mean is 1."""
    sizes: list[int]
    """Pages of each topic."""


def make_lesson(samples: Sequence[Sample], names: Sequence[str], n_learned: int) -> Lesson:
    """The table of some features of the samples' first pages; an error when none of these pages is relevant."""
    heads = [as_table(sample.features, names)[:n_learned] for sample in samples]
    labels = np.concatenate([sample.labels[:n_learned] for sample in samples]).astype(np.float64)
    if not labels.any():
        raise EvenrankError("no relevant page among the candidates of the training topics: nothing to learn from")
    sizes = [len(head) for head in heads if len(head)]
    weights = np.concatenate([np.full(n, sum(sizes) / (len(sizes) * n)) for n in sizes])
    return Lesson(np.concatenate(heads), labels, weights, sizes)


def as_table(features: Mapping[str, Floats], names: Sequence[str]) -> Floats:
    """Page by feature; an error that names what is missing."""
    missing = [name for name in names if name not in features]
    if missing:
        fix = "it was trained with text vectors: use a dense scorer" if "dense" in missing else "train it again"
        raise EvenrankError(f"the relevance model needs {', '.join(missing)} ({fix})")
    return np.column_stack([features[name] for name in names])
