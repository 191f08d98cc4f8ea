"""Candidates from a run that somebody already has: its pages, with its scores or its ranks; no index is needed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.exposure import discounts
from evenrank.core.records import Run, Topic
from evenrank.ranking.sources import NOTHING, Found, calibrate_scores
from evenrank.retrieval.learn.calibration import Calibration, JudgedScores
from evenrank.retrieval.relevance import probabilities


def pages_of_topic(run: Run, topic_id: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Pages of all rankings of a topic and their scores, best first, each page once.

    Without scores in the file, a page's score is the exposure it has over the rankings.
    """
    rankings = np.flatnonzero(run.topic_ids == topic_id)
    parts = [slice(int(run.starts[index]), int(run.starts[index + 1])) for index in rankings]
    if not parts:
        return NOTHING.page_ids, NOTHING.scores
    listed = np.concatenate([run.pages[part] for part in parts])
    pages, inverse = np.unique(listed, return_inverse=True)
    if run.scores is None:
        weights = np.concatenate([discounts(part.stop - part.start) for part in parts])
        scores = np.bincount(inverse, weights) / len(parts)
    else:
        scores = np.full(len(pages), -np.inf)
        np.maximum.at(scores, inverse, np.concatenate([run.scores[part] for part in parts]))
    first = np.full(len(pages), len(listed))
    np.minimum.at(first, inverse, np.arange(len(listed)))
    order = np.lexsort((first, -scores))
    return pages[order], scores[order]


@dataclass(frozen=True)
class RunSource:
    """The pages of a run."""

    run: Run
    calibration: Calibration | None = None
    """Map from scores to probabilities, learned on training topics; None takes probabilities from ranks."""

    def find(self, topic: Topic) -> Found:
        pages, scores = pages_of_topic(self.run, topic.id)
        if not len(pages):
            return NOTHING
        return Found(pages, scores, probabilities(self.calibration, scores))

    def describe(self) -> dict[str, Any]:
        if self.calibration is None:
            return {"candidates": "run", "run": self.run.name, "relevance": "by rank"}
        return {
            "candidates": "run",
            "run": self.run.name,
            "relevance": f"{self.calibration.settings.method} calibration of scores on the training topics in the run",
            "coefficients": self.calibration.coefficients.tolist(),
            "prior_strength": self.calibration.settings.prior_strength,
        }


def calibrate_run(run: Run, topics: Iterable[Topic]) -> RunSource:
    """A run as a source, calibrated on the training topics that it answers, if there are any."""
    samples, topic_ids = [], []
    for topic in topics:
        if topic.split == "train" and len(topic.rel_docs):
            pages, scores = pages_of_topic(run, topic.id)
            if topic.was_judged(pages).any():
                samples.append(JudgedScores(scores, np.isin(pages, topic.rel_docs), topic.was_judged(pages)))
                topic_ids.append(topic.id)
    return RunSource(run, calibrate_scores(samples, topic_ids) if samples else None)
