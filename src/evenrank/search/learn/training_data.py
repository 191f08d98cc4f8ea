"""What a line learns from: settings, and topics with known pages in the forms that topics come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError
from evenrank.records import Topic
from evenrank.rng import derive
from evenrank.search.features import UNTRAINED_WEIGHTS, weighted_sum
from evenrank.search.learn.linear import Line, feature_matrix, fit_line
from evenrank.types import Floats


@dataclass(frozen=True)
class LearningSettings:
    """How a line is fitted."""

    ridge: float = 0.01
    """L2 penalty of the slopes."""
    n_learned: int = 300
    """Pages of each topic that are learned from, best by the untrained sum of the features."""
    n_forms: int = 4
    """Forms in which a training topic is seen: as it is, without keywords, and with some of them dropped at random."""
    seed: int = 0


@dataclass(frozen=True)
class Sample:
    """A topic to learn from, in one form: its candidates' features, best by words first, and which are relevant."""

    topic_id: int
    features: Mapping[str, Floats]
    labels: NDArray[np.bool_]


def topic_forms(topic: Topic, settings: LearningSettings) -> list[Topic]:
    """The forms of a training topic, the topic as it is first."""
    forms = [topic, replace(topic, keywords=())]
    rng = derive(settings.seed, "keywords", topic.id)
    for _ in range(settings.n_forms - 2):
        n_kept = int(rng.integers(1, max(len(topic.keywords), 2)))
        kept = np.sort(rng.permutation(len(topic.keywords))[:n_kept])
        forms.append(replace(topic, keywords=tuple(topic.keywords[at] for at in kept.tolist())))
    distinct = {form.keywords: form for form in reversed(forms[: settings.n_forms])}
    return list(reversed(distinct.values()))


def fit_samples(samples: Sequence[Sample], names: tuple[str, ...], settings: LearningSettings) -> Line:
    """A line through the best pages of the samples, which all weigh the same; an error when none is relevant."""
    tables, labels, weights = [], [], []
    for sample in samples:
        best = np.argsort(-weighted_sum(dict(sample.features), UNTRAINED_WEIGHTS), kind="stable")[: settings.n_learned]
        tables.append(feature_matrix(sample.features, names)[best])
        labels.append(sample.labels[best])
        weights.append(np.full(len(best), 1.0 / max(len(best), 1)))
    relevant = np.concatenate(labels).astype(np.float64)
    if not relevant.any():
        raise EvenrankError("no relevant page among the candidates of the training topics: nothing to learn from")
    return fit_line(names, np.concatenate(tables), relevant, np.concatenate(weights), settings.ridge)
