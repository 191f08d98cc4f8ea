"""A line through the features: log-odds of relevance as a weighted sum, where a good thing never counts against a page.

With few training topics a line errs in other places than trees do; a learned ranker averages the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.search.learn.logistic import logistic_fit

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """A fitted line: plain numbers, one for each feature."""

    intercept: float
    """Log-odds of a page whose features are all at the mean of the training pages."""
    means: tuple[float, ...]
    """Mean of each feature among the training pages."""
    slopes: tuple[float, ...]
    """What one unit of each feature adds to the log-odds."""

    def scores(self, table: Floats) -> Floats:
        """Log-odds of each row of a table, page by feature."""
        return np.asarray(self.contributions(table).sum(axis=1) + self.intercept)

    def contributions(self, table: Floats) -> Floats:
        """What each feature adds to the log-odds of each page, page by feature."""
        return np.asarray((table - np.array(self.means)) * np.array(self.slopes))


def fit_line(table: Floats, labels: Floats, weights: Floats, is_rising: Sequence[bool], ridge: float) -> Line:
    """The line that training pages support; a feature that `is_rising` never gets a negative slope.

    `ridge` shrinks the slopes of features that were brought to deviation 1, so that units do not matter.
    """
    means, deviations = table.mean(axis=0), table.std(axis=0)
    units = np.where(deviations > 0.0, deviations, 1.0)
    rows = np.column_stack([np.ones(len(table)), (table - means) / units])
    signs = np.array([0, *(int(rising) for rising in is_rising)])
    coefficients = logistic_fit(rows, labels, weights / weights.sum(), ridge, signs)
    slopes = np.where(deviations > 0.0, coefficients[1:] / units, 0.0)
    return Line(float(coefficients[0]), tuple(means.tolist()), tuple(slopes.tolist()))
