"""Training the learned relevance model on the training topics of a collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError
from evenrank.progress import progress_bar, track
from evenrank.records import Topic
from evenrank.search.learn.calibration import fit_calibration
from evenrank.search.learn.cross_validation import CrossFit, cross_fit
from evenrank.search.learn.features import FeatureExtractor
from evenrank.search.learn.learned_model import (
    LEARNED_CALIBRATION,
    LearnedState,
    UsedEncoder,
    candidates,
)
from evenrank.search.learn.ranker import N_FOLDS
from evenrank.search.learn.training_data import LearningSettings, Sample
from evenrank.search.learn.trees import import_lightgbm

Floats = NDArray[np.float64]

N_PAGES = 2000
"""Pages of the plain search that are learned from; those of the groups come on top."""
N_RESCORED = 300
"""Pages that text vectors are made for, if they are wanted."""
FEWEST_TOPICS = 2
WITH_VECTORS = LearningSettings()
WITHOUT_VECTORS = LearningSettings(n_learned=1000, n_models=1, line_weight=0.3)
"""Rankers that score pages from far down learn from them; the folds are several models already, and a line bends less
well to the many pages that are far from relevant."""


@dataclass(frozen=True)
class Example:
    """A training topic: its candidates in the order of words, what is known of the first, and which are relevant."""

    topic_id: int
    lexical: Floats
    """Score by words of each candidate, best first."""
    features: dict[str, Floats]
    """Features of all candidates, or of those that have text vectors."""
    labels: NDArray[np.bool_]
    """Whether each candidate is relevant."""
    n_relevant: int
    """Relevant pages of the topic, found or not."""
    plain: dict[str, Floats] | None = None
    """Features without text vectors of all candidates, when not all have them."""

    @property
    def n_rescored(self) -> int:
        return len(next(iter(self.features.values())))

    def sample(self) -> Sample:
        """What a ranker learns from."""
        return Sample(self.topic_id, self.features, self.labels[: self.n_rescored])

    def plain_sample(self) -> Sample:
        """What a ranker of pages without text vectors learns from."""
        return Sample(self.topic_id, self.plain or {}, self.labels)

    def scores(self, model: CrossFit, rest: CrossFit | None = None) -> Floats:
        """Scores of all candidates by rankers that did not see the topic."""
        head = model.scores(self.topic_id, self.features)
        if rest is None or self.plain is None:
            return head
        return np.append(head, rest.scores(self.topic_id, self.plain)[self.n_rescored :])


@dataclass(frozen=True)
class Trained:
    """A trained model with what it was trained on."""

    state: LearnedState
    examples: tuple[Example, ...]

    def scores(self) -> list[Floats]:
        """Scores of each example's candidates by rankers that did not see its topic."""
        return [example.scores(self.state.cross_fit, self.state.rest) for example in self.examples]


def train_on_topics(
    extractor: FeatureExtractor, topics: Iterable[Topic], settings: LearningSettings | None = None
) -> Trained:
    """A model trained on the training topics of a collection; an error when there is too little to learn from."""
    import_lightgbm()
    settings = settings or (WITHOUT_VECTORS if extractor.dense is None else WITH_VECTORS)
    check_settings(settings)
    training = [topic for topic in topics if topic.split == "train" and len(topic.rel_docs)]
    _check_number(len(training), "training topics with relevant pages")
    n_rescored = None if extractor.dense is None else N_RESCORED
    examples = [
        make_example(extractor, topic, n_rescored) for topic in track(training, "topics", len(training), "topic")
    ]
    state = replace(train(examples, settings, n_rescored), **_encoders(extractor))
    return Trained(state, tuple(usable(examples, settings)))


def make_example(extractor: FeatureExtractor, topic: Topic, n_rescored: int | None = None) -> Example:
    """A training topic as search sees it, with its judgments."""
    found, features = candidates(extractor, topic, N_PAGES, n_rescored)
    labels = np.isin(found.page_ids, topic.rel_docs)
    plain = None if n_rescored is None else replace(extractor, dense=None, cross=None).features(topic, found)
    return Example(topic.id, found.scores, features, labels, len(topic.rel_docs), plain)


def train(examples: Sequence[Example], settings: LearningSettings, n_rescored: int | None = None) -> LearnedState:
    """A model from examples, cross-fitted, and calibrated on what rankers blind to a topic say of it."""
    kept = usable(examples, settings)
    _check_number(len(kept), "training topics with relevant pages among their candidates")
    model, rest = _fit([example.sample() for example in kept], settings), None
    if n_rescored is not None:
        rest = _fit([example.plain_sample() for example in kept], replace(WITHOUT_VECTORS, seed=settings.seed))
    pairs = [(example.scores(model, rest), example.labels) for example in kept]
    return LearnedState(model, fit_calibration(pairs, LEARNED_CALIBRATION), settings, N_PAGES, n_rescored, rest)


def _fit(samples: Sequence[Sample], settings: LearningSettings) -> CrossFit:
    """Cross-fitted rankers, with a bar; settings that cannot be fitted are an error of the user."""
    bar = progress_bar(min(N_FOLDS, len(samples)), "folds", "fold")
    try:
        return cross_fit(samples, list(samples[0].features), settings, bar.update)
    except import_lightgbm().basic.LightGBMError as error:
        raise EvenrankError(f"these settings do not work: {str(error).partition(' at ')[0]}") from error
    except np.linalg.LinAlgError as error:
        raise EvenrankError("these settings do not work: no one line fits best (a larger ridge decides)") from error
    finally:
        bar.close()


def usable(examples: Iterable[Example], settings: LearningSettings) -> list[Example]:
    """Examples with a relevant page among those that are learned from."""
    return [example for example in examples if example.labels[: min(settings.n_learned, example.n_rescored)].any()]


def check_settings(settings: LearningSettings) -> None:
    """An error that names every setting that can be no such number."""
    values: dict[str, Any] = {field.name: getattr(settings, field.name) for field in fields(settings)}
    numbers = {name: value for name, value in values.items() if name != "seed" and not isinstance(value, str)}
    least = {name: 1.0 if isinstance(value, int) else 0.0 for name, value in numbers.items()} | {"n_leaves": 2.0}
    wrong = [f"{name}={value:g} is too small" for name, value in numbers.items() if value < least[name]]
    shares = {name: value for name, value in numbers.items() if name.endswith(("_share", "_rate"))}
    outside = {name: value for name, value in shares.items() if not 0.0 < value <= 1.0}
    wrong += [f"{name}={value:g} is not above 0 and at most 1" for name, value in outside.items()]
    if wrong:
        raise EvenrankError("; ".join(wrong))


def _check_number(n_topics: int, what: str) -> None:
    if n_topics < FEWEST_TOPICS:
        raise EvenrankError(f"{n_topics} {what}: at least {FEWEST_TOPICS} are needed to learn")


def _encoders(extractor: FeatureExtractor) -> dict[str, Any]:
    """What identifies the networks behind the features."""
    dense, cross = extractor.dense, extractor.cross
    used = None if dense is None else UsedEncoder(dense.encoder.settings, dense.encoder.fingerprint)
    return {"encoder": used, "cross_encoder": None if cross is None else cross.fingerprint}
