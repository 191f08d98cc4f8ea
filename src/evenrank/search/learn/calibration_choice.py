"""How finely a calibration may follow its training topics: chosen on topics that are held out.

Fifty topics with a handful of relevant pages each support a line with few corners, and topics that all have about the
same number of relevant pages tell nothing about a topic's own prior; forty topics with hundreds of relevant pages
support more of both. So neither is fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from evenrank.search.learn.calibration import Calibration, CalibrationSettings, fit_calibration, predict
from evenrank.search.learn.cross_validation import simplest_choice, topic_folds
from evenrank.search.learn.learned_model import LEARNED_CALIBRATION
from evenrank.search.learn.piecewise_linear import CORNERS
from evenrank.types import Floats

FEW_CORNERS = (0.1, 0.5, 0.9)
STRENGTHS = (30.0, 3.0, 0.3)
CHOICES = tuple(
    replace(LEARNED_CALIBRATION, corners=corners, prior_strength=strength)
    for corners, strength in product((FEW_CORNERS, CORNERS), STRENGTHS)
)
"""From the simplest to the one that follows its topics most closely."""
LEAST_PROBABILITY = 1e-12
"""Below which a probability is not told from 0 when a loss is computed."""

JudgedTopic = tuple[Floats, NDArray[np.bool_]]
"""Scores of a topic's candidates, and which are relevant."""


def choose_calibration(topics: Sequence[JudgedTopic], topic_ids: Sequence[int], seed: int) -> CalibrationSettings:
    """The simplest choice whose loss on held-out topics exceeds the least by no more than one standard error."""
    ids = np.array(topic_ids)
    losses = np.full((len(CHOICES), len(topics)), np.nan)
    for held in topic_folds(ids.tolist(), seed):
        is_held = np.isin(ids, held)
        seen = [topic for topic, out in zip(topics, is_held, strict=True) if not out]
        if not any(labels.any() for _, labels in seen):
            continue
        fitted = {
            corners: fit_calibration(seen, replace(LEARNED_CALIBRATION, corners=corners))
            for corners in {choice.corners for choice in CHOICES}
        }
        for at, choice in enumerate(CHOICES):
            calibration = replace(fitted[choice.corners], settings=choice)
            losses[at, is_held] = [_loss(calibration, *topics[i]) for i in np.flatnonzero(is_held).tolist()]
    return CHOICES[simplest_choice(losses, ids)]


def _loss(calibration: Calibration, scores: Floats, labels: NDArray[np.bool_]) -> float:
    """Mean negative log-likelihood of a topic's labels."""
    p = np.clip(predict(calibration, scores), LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    return -float(np.mean(np.where(labels, np.log(p), np.log1p(-p))))
