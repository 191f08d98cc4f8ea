"""How finely a calibration may follow its training topics: chosen on topics that are held out.

Fifty topics with a handful of relevant pages each support a line with few corners, and topics that all have about the
same number of relevant pages say nothing about a topic's own prior; forty topics with hundreds of relevant pages
support more of both. So neither is fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from evenrank.retrieval.learn.calibration import (
    Calibration,
    CalibrationSettings,
    JudgedScores,
    fit_calibration,
    predict,
)
from evenrank.retrieval.learn.cross_validation import simplest_choice, topic_folds
from evenrank.retrieval.learn.learned_model import LEARNED_CALIBRATION
from evenrank.retrieval.learn.piecewise_linear import CORNERS

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
    """Mean negative log-likelihood of what is known of a topic."""
    p = np.clip(predict(calibration, topic.scores), LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    return -float(np.mean(np.where(topic.is_relevant, np.log(p), np.log1p(-p))[topic.is_judged]))
