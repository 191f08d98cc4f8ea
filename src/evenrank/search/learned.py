"""The learned relevance model: trained on topics with known pages, calibrated out of fold, saved as one file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from evenrank.errors import EvenrankError
from evenrank.formats.atomic import atomic_file
from evenrank.records import Topic
from evenrank.search.calibration import Calibration, CalibrationSettings, fit_calibration
from evenrank.search.engine import Hits
from evenrank.search.features import FeatureExtractor
from evenrank.search.hybrid import below
from evenrank.search.learning import LearningSettings, Sample, Trees, fit_trees, out_of_fold_scores
from evenrank.search.relevance import LexicalModel, ScoredPages, probabilities

FORMAT_VERSION = 1


@dataclass(frozen=True)
class LearnedState:
    """What training leaves behind; everything but the index and the encoder."""

    trees: Trees
    calibration: Calibration | None
    settings: LearningSettings
    topic_ids: tuple[int, ...]
    """Topics it was trained on; they must not be used to judge it."""


@dataclass(frozen=True)
class LearnedModel:
    """A learned order of the pages that the lexical model finds."""

    extractor: FeatureExtractor
    state: LearnedState
    n_rescored: int = 300
    """Pages that the trees score; the rest stays below them."""

    def score(self, topic: Topic, k: int, up_to_page_id: int | None = None) -> ScoredPages:
        """The best k pages and those of the groups; see `RelevanceModel.score`."""
        found, features = candidates(self.extractor, topic, k, self.n_rescored, up_to_page_id)
        head = self.state.trees.scores(features)
        scores = below(head, found.scores[len(head) :])
        order = np.lexsort((found.page_ids, -scores))
        tail = np.full(len(scores) - len(head), np.nan)
        return ScoredPages(
            found.page_ids[order],
            scores[order],
            probabilities(self.state.calibration, scores)[order],
            {name: np.append(values, tail)[order] for name, values in features.items()},
        )


def candidates(
    extractor: FeatureExtractor, topic: Topic, k: int, n_rescored: int, up_to_page_id: int | None = None
) -> tuple[Hits, dict[str, Any]]:
    """What the lexical model finds, and the features of the first pages of it."""
    found = extractor.model.score(topic, k, up_to_page_id)
    head = Hits(found.page_ids[:n_rescored], found.scores[:n_rescored])
    return Hits(found.page_ids, found.scores), extractor.features(topic, head)


def make_sample(
    extractor: FeatureExtractor, topic: Topic, n_rescored: int = 300, up_to_page_id: int | None = None
) -> Sample:
    """A training topic's candidates with features and labels; `up_to_page_id` bounds a judged window."""
    found, features = candidates(extractor, topic, n_rescored, n_rescored, up_to_page_id)
    return Sample(topic.id, features, np.isin(found.page_ids[:n_rescored], topic.rel_docs))


def train(
    samples: Sequence[Sample],
    settings: LearningSettings | None = None,
    calibration: CalibrationSettings | None = None,
    without: Sequence[str] = (),
) -> LearnedState:
    """A model from training topics, calibrated on scores by trees that did not see the topic.

    Features named in `without` are left out.
    """
    settings = settings or LearningSettings()
    usable = [sample for sample in samples if len(sample.labels)]
    if len(usable) < 2:
        raise EvenrankError(f"{len(usable)} training topics with candidates: at least 2 are needed to learn")
    names = [name for name in usable[0].features if name not in without]
    held_out = out_of_fold_scores(usable, names, settings)
    pairs = [(scores, sample.labels) for scores, sample in zip(held_out, usable, strict=True)]
    fitted = fit_calibration(pairs, calibration)
    topic_ids = tuple(sample.topic_id for sample in usable)
    return LearnedState(fit_trees(usable, names, settings), fitted, settings, topic_ids)


def train_on_topics(extractor: FeatureExtractor, topics: Sequence[Topic]) -> LearnedModel:
    """A model trained on the training topics of a collection."""
    training = [topic for topic in topics if topic.split == "train" and len(topic.rel_docs)]
    return LearnedModel(extractor, train([make_sample(extractor, topic) for topic in training]))


def save(state: LearnedState, path: str | os.PathLike[str]) -> None:
    """Write a model to one JSON file, trees as LightGBM's own text."""
    record = {"kind": "evenrank relevance model", "format_version": FORMAT_VERSION, **asdict(state)}
    with atomic_file(path) as file:
        file.write(orjson.dumps(record, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_INDENT_2))


def load(path: str | os.PathLike[str]) -> LearnedState:
    """A model from its file; an error when it is none, or of another version."""
    try:
        record = orjson.loads(Path(path).read_bytes())
        if record["format_version"] != FORMAT_VERSION:
            found = record["format_version"]
            raise EvenrankError(f"{path}: model format {found}, this version reads {FORMAT_VERSION} (train it again)")
        trees = record["trees"]
        return LearnedState(
            Trees(tuple(trees["feature_names"]), tuple(trees["texts"])),
            _calibration(record["calibration"]),
            LearningSettings(**record["settings"]),
            tuple(record["topic_ids"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvenrankError(f"{path}: not a relevance model: {error!r}") from error


def _calibration(record: dict[str, Any] | None) -> Calibration | None:
    if record is None:
        return None
    arrays = {name: np.array(record[name], np.float64) for name in ("coefficients", "knots", "values")}
    return Calibration(settings=CalibrationSettings(**record["settings"]), prior=record["prior"], **arrays)


def open_model(
    path: str | os.PathLike[str], model: LexicalModel, dense: Any | None = None, n_rescored: int = 300
) -> LearnedModel:
    """A saved model, ready to score with an index."""
    return LearnedModel(FeatureExtractor(model, dense), load(path), n_rescored)
