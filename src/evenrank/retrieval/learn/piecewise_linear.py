"""A rising line with corners from scores to log-odds: follows the shares that were found without making steps.

A straight line cannot fit both the few relevant pages and the thousands that are far from relevant. An isotonic fit
can, but gives the same probability to all of a topic's best pages, and a ranking among them is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from evenrank.core.types import Floats
from evenrank.retrieval.learn.linear import logistic_fit

CORNERS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Where the corners are, unless said otherwise: shares of the relevant pages below them."""
FAR = 1e3
"""How far beyond the outer corners the line continues."""


def piecewise_linear_fit(
    scores: Floats, labels: Floats, weights: Floats, ridge: float, shares: Sequence[float] = CORNERS
) -> tuple[Floats, Floats]:
    """Knots and log-odds at the knots; between them the line is straight. Corners are at `shares` of relevant pages."""
    relevant = scores[labels > 0.0]
    corners = np.unique(np.quantile(relevant, shares)) if len(relevant) else np.zeros(1)
    rows = _ramps(scores, corners)
    signs = np.ones(rows.shape[1], np.int64)
    signs[0] = 0
    slopes = logistic_fit(rows, labels, weights, ridge, signs)
    knots = np.array([corners[0] - FAR, *corners, corners[-1] + FAR])
    return knots, np.asarray(_ramps(knots, corners) @ slopes)


def _ramps(scores: Floats, corners: Floats) -> Floats:
    """1, then how far a score goes through each stretch between corners; the coefficients are intercept and slopes."""
    stretches = [
        np.minimum(scores - corners[0], 0.0),
        *(np.clip(scores, low, high) - low for low, high in pairwise(corners)),
        np.maximum(scores - corners[-1], 0.0),
    ]
    return np.column_stack([np.ones(len(scores)), *stretches])
