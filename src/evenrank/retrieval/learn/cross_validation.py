"""Settings and samples of learning, and the lines of all folds: each speaks only of topics that it never saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.core.rng import derive
from evenrank.core.types import Floats
from evenrank.errors import EvenrankError
from evenrank.retrieval.features import untrained_weights, weighted_sum
from evenrank.retrieval.learn.linear import Line, expit, feature_matrix, fit_line


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
    tagging_rate: float = 1.0
    """Share of the relevant pages that the page lists of training topics have; the other pages are then unlabelled."""
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
    best = np.argsort(-weighted_sum(dict(sample.features), untrained_weights(sample.features)), kind="stable")[:n]
    features = {name: values[best] for name, values in sample.features.items()}
    return Sample(sample.topic_id, features, sample.labels[best])


def fit_samples(samples: Sequence[Sample], names: tuple[str, ...], ridge: float, tagging_rate: float = 1.0) -> Line:
    """A line through the pages of the samples, which all weigh the same; an error when none is relevant."""
    table = np.concatenate([feature_matrix(sample.features, names) for sample in samples])
    relevant = np.concatenate([sample.labels for sample in samples]).astype(np.float64)
    if not relevant.any():
        raise EvenrankError("no relevant page among the candidates of the training topics: nothing to learn from")
    sizes = [len(sample.labels) for sample in samples]
    weights = np.concatenate([np.full(size, 1.0 / max(size, 1)) for size in sizes])
    return fit_line(names, table, relevant, weights, ridge, untrained_weights(names), tagging_rate)


N_FOLDS = 5
"""Parts into which training topics are divided."""
RIDGES = (0.003, 0.03, 0.3, 3.0, 30.0)
"""How strongly slopes may be drawn to the untrained weights; the last leaves nothing but their common scale free."""


@dataclass(frozen=True)
class Fold:
    """A line, and the training topics that were kept from it."""

    line: Line
    held_out: tuple[int, ...]
    """Ids of the topics that this line did not see, in any form."""
    ridge: float
    """How strongly its slopes were drawn to the untrained weights."""


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
    learned_from = [best_pages(sample, settings.n_learned) for sample in samples]
    for held in topic_folds([sample.topic_id for sample in samples], settings.seed):
        seen = [sample for sample in learned_from if sample.topic_id not in held]
        rate = settings.tagging_rate
        ridge = choose_ridge(seen, names, settings.seed, rate) if settings.ridge is None else settings.ridge
        folds.append(Fold(fit_samples(seen, names, ridge, rate), held, ridge))
    return CrossFit(tuple(folds))


def choose_ridge(samples: Sequence[Sample], names: tuple[str, ...], seed: int, tagging_rate: float = 1.0) -> float:
    """The strongest ridge whose loss on held-out topics exceeds the least by no more than one standard error.

    What topics do not clearly teach is left as it was. The strongest for a single topic, which nothing can be held out
    from.
    """
    topics = np.array([sample.topic_id for sample in samples])
    losses = np.full((len(RIDGES), len(samples)), np.nan)
    for held in topic_folds(topics.tolist(), seed):
        is_held = np.isin(topics, held)
        seen = [sample for sample, out in zip(samples, is_held, strict=True) if not out]
        if not any(sample.labels.any() for sample in seen):
            continue
        for at, ridge in enumerate(RIDGES):
            line = fit_samples(seen, names, ridge, tagging_rate)
            losses[at, is_held] = [_loss(line, samples[i], tagging_rate) for i in np.flatnonzero(is_held).tolist()]
    return RIDGES[::-1][simplest_choice(losses[::-1], topics)]


def simplest_choice(losses: Floats, topic_ids: NDArray[np.integer]) -> int:
    """The first choice whose loss exceeds the least by no more than one standard error of the difference within topics.

    The rule of Breiman et al. (1984). Choice by example, from the simplest choice; NaN where nothing could be fitted.
    The first when fewer than two topics could be held out.
    """
    by_topic = np.array([losses[:, topic_ids == topic].mean(axis=1) for topic in np.unique(topic_ids)])
    by_topic = by_topic[~np.isnan(by_topic).any(axis=1)]
    if len(by_topic) < 2:
        return 0
    excess = by_topic - by_topic[:, [int(by_topic.mean(axis=0).argmin())]]
    errors = excess.std(axis=0, ddof=1) / np.sqrt(len(excess))
    return int(np.flatnonzero(excess.mean(axis=0) <= errors).min())


def _loss(line: Line, sample: Sample, tagging_rate: float) -> float:
    """Mean negative log-likelihood of the labels of a sample."""
    log_odds = line.scores(sample.features)
    if tagging_rate < 1.0:
        tagged = tagging_rate * expit(log_odds)
        return -float(np.mean(np.where(sample.labels, np.log(np.maximum(tagged, 1e-300)), np.log1p(-tagged))))
    return float(np.mean(np.logaddexp(0.0, log_odds) - sample.labels * log_odds))
