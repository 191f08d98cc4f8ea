"""What a line learns from: settings, and topics with known pages in the forms that topics come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.core.rng import derive
from evenrank.core.types import Floats
from evenrank.errors import EvenrankError
from evenrank.retrieval.features import PRIOR_WEIGHTS, UNTRAINED_WEIGHTS, weighted_sum
from evenrank.retrieval.learn.linear import Line, feature_matrix, fit_line


@dataclass(frozen=True)
class LearningSettings:
    """How a line is fitted."""

    ridge: float | None = None
    """How strongly the slopes are drawn to the ratios of the untrained weights; by default the strongest of five that
    is no worse than the best of them on training topics held out, within one standard error."""
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


def best_pages(sample: Sample, n: int) -> Sample:
    """The part of a sample that is learned from: the best pages by the untrained sum of the features."""
    best = np.argsort(-weighted_sum(dict(sample.features), UNTRAINED_WEIGHTS), kind="stable")[:n]
    features = {name: values[best] for name, values in sample.features.items()}
    return Sample(sample.topic_id, features, sample.labels[best])


def fit_samples(samples: Sequence[Sample], names: tuple[str, ...], ridge: float) -> Line:
    """A line through the pages of the samples, which all weigh the same; an error when none is relevant."""
    table = np.concatenate([feature_matrix(sample.features, names) for sample in samples])
    relevant = np.concatenate([sample.labels for sample in samples]).astype(np.float64)
    if not relevant.any():
        raise EvenrankError("no relevant page among the candidates of the training topics: nothing to learn from")
    sizes = [len(sample.labels) for sample in samples]
    weights = np.concatenate([np.full(size, 1.0 / max(size, 1)) for size in sizes])
    return fit_line(names, table, relevant, weights, ridge, PRIOR_WEIGHTS)
