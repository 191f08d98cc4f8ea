"""Training the learned relevance model on the training topics of a collection.

Fifty topics with a handful of relevant pages each support a line with few corners, and topics that all have about the
same number of relevant pages say nothing about a topic's own prior; forty topics with hundreds of relevant pages
support more of both. So neither is fixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.core.types import Floats
from evenrank.errors import EvenrankError
from evenrank.progress import track
from evenrank.retrieval.engine.protocol import Hits
from evenrank.retrieval.features import FeatureExtractor, Features, below, untrained_weights, weighted_sum
from evenrank.retrieval.learn.calibration import (
    CORNERS,
    Calibration,
    CalibrationSettings,
    JudgedScores,
    fit_calibration,
    predict,
)
from evenrank.retrieval.learn.cross_validation import (
    CrossFit,
    LearningSettings,
    Sample,
    cross_fit,
    simplest_choice,
    topic_folds,
    topic_forms,
)
from evenrank.retrieval.learn.learned_model import LEARNED_CALIBRATION, LearnedState, UsedEncoder
from evenrank.retrieval.learn.relevant_count import fit_count

FEW_CORNERS = (0.1, 0.5, 0.9)
STRENGTHS = (30.0, 3.0, 0.3)
LEARNED_CHOICES = tuple(
    replace(LEARNED_CALIBRATION, corners=corners, prior_strength=strength)
    for corners, strength in product((FEW_CORNERS, CORNERS), STRENGTHS)
)
"""For learned scores, from the simplest to the one that follows its topics most closely."""
LEAST_PROBABILITY = 1e-12
"""The least that a probability counts as when a loss is computed, so that no loss is infinite."""


def choose_calibration(
    topics: Sequence[JudgedScores], topic_ids: Sequence[int], choices: Sequence[CalibrationSettings], seed: int
) -> CalibrationSettings:
    """The simplest choice whose loss on held-out topics exceeds the least by no more than one standard error.

    Choices come from the simplest to the one that follows its topics most closely. Those that differ in nothing but
    `prior_strength` are fitted once.
    """
    ids = np.array(topic_ids)
    losses = np.full((len(choices), len(topics)), np.nan)
    for held in topic_folds(ids.tolist(), seed):
        is_held = np.isin(ids, held)
        seen = [topic for topic, out in zip(topics, is_held, strict=True) if not out]
        if not any(topic.is_relevant.any() for topic in seen):
            continue
        fitted: dict[CalibrationSettings, Calibration] = {}
        for at, choice in enumerate(choices):
            shared = replace(choice, prior_strength=choices[0].prior_strength)
            if shared not in fitted:
                fitted[shared] = fit_calibration(seen, shared)
            calibration = replace(fitted[shared], settings=choice)
            losses[at, is_held] = [_loss(calibration, topics[i]) for i in np.flatnonzero(is_held).tolist()]
    return choices[simplest_choice(losses, ids)]


def _loss(calibration: Calibration, topic: JudgedScores) -> float:
    """Mean negative log-likelihood of the labels of a topic."""
    tagged = calibration.settings.tagging_rate * predict(calibration, topic.scores)
    p = np.clip(tagged, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    return -float(np.mean(np.where(topic.is_relevant, np.log(p), np.log1p(-p))[topic.is_judged]))


N_PAGES = 2000
"""Pages by words, and by vectors, that are learned from; those of the groups come on top."""
FEWEST_TOPICS = 2


@dataclass(frozen=True)
class TrainingExample:
    """A training topic in one form: what is known of its candidates, best by words first, and which are relevant."""

    topic_id: int
    is_as_given: bool
    """Whether the topic has all of its keywords."""
    lexical: Floats
    """Score by words of each candidate."""
    features: Features
    """Features of all candidates, or of the first, that have vectors."""
    plain: Features
    """Features without vectors of all candidates."""
    labels: NDArray[np.bool_]
    """Whether each candidate is relevant."""
    n_relevant: int
    """Relevant pages of the topic, found or not."""
    is_partial: bool = False
    """Whether only judged candidates are here, because nothing is known of the others; calibration leaves it out."""

    @property
    def n_scored(self) -> int:
        return len(self.features["words"])

    def sample(self) -> Sample:
        """What a line learns from."""
        return Sample(self.topic_id, self.features, self.labels[: self.n_scored])

    def plain_sample(self) -> Sample:
        """What a line without vectors learns from."""
        return Sample(self.topic_id, self.plain, self.labels)

    def scores(self, model: CrossFit, plain: CrossFit) -> Floats:
        """Scores of all candidates by lines that did not see the topic."""
        head = model.scores(self.topic_id, self.features)
        return np.append(head, plain.scores(self.topic_id, self.plain)[len(head) :])

    def untrained_scores(self) -> Floats:
        """Scores of all candidates by the model that has not learned: words, or words and vectors."""
        if "topic_vector" not in self.features:
            return self.lexical
        head = weighted_sum(self.features, untrained_weights(self.features))
        return np.append(head, below(head, self.lexical[len(head) :]))


@dataclass(frozen=True)
class Trained:
    """A trained model with what it was trained on."""

    state: LearnedState
    examples: tuple[TrainingExample, ...]

    def scores(self) -> list[Floats]:
        """Scores of each example's candidates by lines that did not see its topic."""
        return [example.scores(self.state.cross_fit, self.state.plain) for example in self.examples]


def train_on_topics(
    extractor: FeatureExtractor,
    topics: Iterable[Topic],
    settings: LearningSettings | None = None,
    marked: Iterable[Topic] = (),
) -> Trained:
    """A model trained on the training topics of a collection; an error when there is too little to learn from.

    Of `marked` topics nothing but the pages in `assessed_docs` is known.
    """
    settings = settings or LearningSettings()
    check_settings(settings)
    training = [topic for topic in topics if topic.split == "train" and len(topic.rel_docs)]
    _check_number(len(training), "training topics with relevant pages")
    examples = [
        example
        for topic in track(training, "topics", len(training), "topic")
        for example in make_examples(extractor, topic, settings)
    ]
    for topic in marked:
        examples += make_examples(extractor, topic, settings, judged=topic.assessed_docs)
    return train(examples, extractor, settings)


def make_examples(
    extractor: FeatureExtractor,
    topic: Topic,
    settings: LearningSettings,
    n_pages: int = N_PAGES,
    up_to_page_id: int | None = None,
    judged: NDArray[np.int32] | None = None,
) -> list[TrainingExample]:
    """A training topic in each of its forms, as search sees it; `up_to_page_id` bounds a judged window."""
    return [
        make_training_example(extractor, form, n_pages, up_to_page_id, is_as_given=at == 0, judged=judged)
        for at, form in enumerate(topic_forms(topic, settings))
    ]


def make_training_example(
    extractor: FeatureExtractor,
    topic: Topic,
    n_pages: int = N_PAGES,
    up_to_page_id: int | None = None,
    *,
    is_as_given: bool = True,
    judged: NDArray[np.int32] | None = None,
) -> TrainingExample:
    """A topic as search sees it, with its judgments; of a topic of which only some pages are `judged`, these."""
    found = extractor.candidates(topic, n_pages, up_to_page_id)
    n = len(found.page_ids) if extractor.n_scored is None else extractor.n_scored
    features = extractor.features(topic, Hits(found.page_ids[:n], found.scores[:n]))
    plain = replace(extractor, dense=None, reader=None).features(topic, found)
    labels = np.isin(found.page_ids, topic.rel_docs)
    made = TrainingExample(topic.id, is_as_given, found.scores, features, plain, labels, len(topic.rel_docs))
    return made if judged is None else _judged_only(made, np.isin(found.page_ids, judged))


def _judged_only(example: TrainingExample, is_judged: NDArray[np.bool_]) -> TrainingExample:
    """The example without the candidates of which nothing is known."""
    head = is_judged[: example.n_scored]
    return replace(
        example,
        lexical=example.lexical[is_judged],
        features={name: values[head] for name, values in example.features.items()},
        plain={name: values[is_judged] for name, values in example.plain.items()},
        labels=example.labels[is_judged],
        is_partial=True,
    )


def train(examples: Sequence[TrainingExample], extractor: FeatureExtractor, settings: LearningSettings) -> Trained:
    """A model from examples, cross-fitted, and calibrated on what lines blind to a topic say of it."""
    kept = [example for example in examples if example.labels[: example.n_scored].any()]
    _check_number(len({example.topic_id for example in kept}), "training topics with relevant pages among candidates")
    model = _fit([example.sample() for example in kept], extractor.names, settings)
    plain_names = replace(extractor, dense=None, reader=None).names
    plain = _fit([example.plain_sample() for example in kept], plain_names, settings)
    complete = [example for example in kept if not example.is_partial]
    _check_number(len({example.topic_id for example in complete}), "completely judged training topics")
    judged = [JudgedScores.complete(example.scores(model, plain), example.labels) for example in complete]
    topic_ids = [example.topic_id for example in complete]
    choices = [replace(choice, tagging_rate=settings.tagging_rate) for choice in LEARNED_CHOICES]
    chosen = choose_calibration(judged, topic_ids, choices, settings.seed)
    calibration = fit_calibration(judged, chosen)
    given = held_out_probabilities(complete, [topic.scores for topic in judged], settings.seed, chosen)
    n_relevant = [round(example.n_relevant / settings.tagging_rate) for example in complete]
    count = fit_count([float(p.sum()) for p in given], n_relevant, topic_ids)
    state = LearnedState(model, plain, calibration, count, settings, N_PAGES, **_encoders(extractor))
    return Trained(state, tuple(complete))


def held_out_probabilities(
    examples: Sequence[TrainingExample], scores: Sequence[Floats], seed: int, calibration: CalibrationSettings
) -> list[Floats]:
    """Probabilities of each example's candidates, from a calibration on the topics of the other folds."""
    given: list[Floats] = [np.empty(0)] * len(scores)
    for held in topic_folds([example.topic_id for example in examples], seed):
        is_held = [example.topic_id in held for example in examples]
        others = [
            (of_topic, example.labels)
            for of_topic, example, out in zip(scores, examples, is_held, strict=True)
            if not out
        ]
        fitted = fit_calibration(others, calibration)
        for at in np.flatnonzero(is_held).tolist():
            given[at] = predict(fitted, scores[at])
    return given


def _fit(samples: Sequence[Sample], names: tuple[str, ...], settings: LearningSettings) -> CrossFit:
    """Cross-fitted lines; settings that cannot be fitted are an error of the user."""
    try:
        return cross_fit(samples, names, settings)
    except np.linalg.LinAlgError as error:
        raise EvenrankError("these settings do not work: no one line fits best (use a larger ridge)") from error


def check_settings(settings: LearningSettings) -> None:
    """An error that names every setting that can be no such number."""
    values: dict[str, Any] = {field.name: getattr(settings, field.name) for field in fields(settings)}
    least = {"ridge": 0.0, "n_learned": 1, "n_forms": 1}
    given = {name: bound for name, bound in least.items() if values[name] is not None}
    wrong = [f"{name}={values[name]:g} is too small" for name, bound in given.items() if values[name] < bound]
    if not 0.0 < settings.tagging_rate <= 1.0:
        wrong.append(f"tagging_rate={settings.tagging_rate:g} is not above 0 and at most 1")
    if wrong:
        raise EvenrankError("; ".join(wrong))


def _check_number(n_topics: int, what: str) -> None:
    if n_topics < FEWEST_TOPICS:
        raise EvenrankError(f"{n_topics} {what}: at least {FEWEST_TOPICS} are needed to learn")


def _encoders(extractor: FeatureExtractor) -> dict[str, Any]:
    """What identifies the networks behind the features."""
    used, second = (
        None if scorer is None else UsedEncoder(scorer.encoder.settings, scorer.encoder.fingerprint)
        for scorer in (extractor.dense, extractor.second)
    )
    reader = extractor.reader
    return {"encoder": used, "second": second, "cross_encoder": None if reader is None else reader.encoder.fingerprint}
