"""A line through the features: log-odds of relevance as a weighted sum, where a good thing never counts against a page.

Boosted trees on the same features, and the mean of trees and a line, rank no better on held-out topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.types import Floats
from evenrank.errors import EvenrankError


@dataclass(frozen=True)
class Line:
    """A fitted line: plain numbers, one for each feature."""

    feature_names: tuple[str, ...]
    intercept: float
    """Log-odds of a page whose features are all 0, where the first pages of a topic have their mean."""
    slopes: tuple[float, ...]
    """What one unit of each feature adds to the log-odds."""

    def scores(self, features: Mapping[str, Floats]) -> Floats:
        """Log-odds of each page."""
        table = feature_matrix(features, self.feature_names)
        return np.asarray(table @ np.array(self.slopes) + self.intercept)

    def contributions(self, features: Mapping[str, Floats]) -> dict[str, Floats]:
        """What each feature adds to the log-odds of each page, and `base` for all; they add up to the score."""
        table = feature_matrix(features, self.feature_names)
        parts = {name: table[:, at] * self.slopes[at] for at, name in enumerate(self.feature_names)}
        return parts | {"base": np.full(len(table), self.intercept)}


def fit_line(
    names: tuple[str, ...],
    table: Floats,
    labels: Floats,
    weights: Floats,
    ridge: float,
    prior: Mapping[str, float] | None = None,
    tagging_rate: float = 1.0,
) -> Line:
    """The line that training pages support; more of a feature never lowers a score.

    `ridge` draws the slopes, of features that were brought to deviation 1 so that units do not matter, to 0; or, with
    a `prior` weight of each feature, to the ratios of these weights. How large they are together stays free, because
    weights order pages and say nothing about log-odds.
    """
    deviations = table.std(axis=0)
    units = np.where(deviations > 0.0, deviations, 1.0)
    rows = np.column_stack([np.ones(len(table)), table / units])
    signs = np.array([0, *(1 for _ in names)])
    wanted = np.array([(prior or {}).get(name, 0.0) for name in names]) * deviations
    penalty = ridge * _across(wanted)
    coefficients = logistic_fit(rows, labels, weights / weights.sum(), penalty, signs, tagging_rate)
    slopes = np.where(deviations > 0.0, coefficients[1:] / units, 0.0)
    return Line(names, float(coefficients[0]), tuple(slopes.tolist()))


def _across(direction: Floats) -> Floats:
    """The projection on what is perpendicular to a direction; the identity for none."""
    length = float(np.linalg.norm(direction))
    unit = direction / length if length > 0.0 else direction
    return np.asarray(np.eye(len(unit)) - np.outer(unit, unit))


def feature_matrix(features: Mapping[str, Floats], names: tuple[str, ...]) -> Floats:
    """Page by feature; an error that names what is missing."""
    missing = [name for name in names if name not in features]
    if missing:
        fix = "it was trained with text vectors: use an encoder" if "topic_vector" in missing else "train it again"
        raise EvenrankError(f"the relevance model needs {', '.join(missing)} ({fix})")
    return np.column_stack([features[name] for name in names])


def expit(x: Floats) -> Floats:
    """1 / (1 + exp(−x)), without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * np.asarray(x, np.float64))))


def logit(p: Floats, floor: float) -> Floats:
    """Log-odds of p, with p kept `floor` away from 0 and 1."""
    clipped = np.clip(np.asarray(p, np.float64), floor, 1.0 - floor)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))


def logistic_fit(
    rows: Floats,
    labels: Floats,
    weights: Floats,
    ridge: float | Floats,
    signs: NDArray[np.integer] | None = None,
    tagging_rate: float = 1.0,
) -> Floats:
    """Coefficients b that maximise the weighted log-likelihood minus `ridge`/2 · b·b, or ½ b·R·b for a matrix R.

    The first column is the intercept and is not shrunk. `signs` (1, −1, 0 for free) prescribes the direction of
    a column: one that comes out the other way is left out and the rest fitted again.

    With a `tagging_rate` c below 1, labels are tags that only this share of the positive rows has, whichever they are:
    the probability of a tag is then c · p (Elkan and Noto 2008), and the coefficients are those of p.
    """
    columns = np.arange(rows.shape[1])
    penalty = np.diag(np.full(len(columns), 1e-9))
    penalty[1:, 1:] += ridge if isinstance(ridge, np.ndarray) else np.diag(np.full(len(columns) - 1, ridge))
    while True:
        fitted = _newton(rows[:, columns], labels, weights, penalty[np.ix_(columns, columns)], tagging_rate)
        wrong = np.zeros(len(columns), bool) if signs is None else fitted * signs[columns] < 0
        if not wrong.any():
            coefficients = np.zeros(rows.shape[1])
            coefficients[columns] = fitted
            return coefficients
        columns = columns[~wrong]


def _newton(
    rows: Floats, labels: Floats, weights: Floats, penalty: Floats, tagging_rate: float, n_rounds: int = 50
) -> Floats:
    """Fisher scoring for a mean c · expit(b·x), which is Newton's method for c = 1."""
    coefficients = np.zeros(rows.shape[1])
    for _ in range(n_rounds):
        p = expit(rows @ coefficients)
        share = 1.0 if tagging_rate == 1.0 else (1.0 - p) / (1.0 - tagging_rate * p)
        gradient = rows.T @ (weights * (labels - tagging_rate * p) * share) - penalty @ coefficients
        curvature = (rows.T * (weights * (tagging_rate * p) * (1.0 - p) * share)) @ rows + penalty
        step = np.linalg.solve(curvature, gradient)
        coefficients = coefficients + step * min(1.0, 5.0 / max(np.abs(step).max(), 1e-300))
        if np.abs(step).max() < 1e-10:
            break
    return np.asarray(coefficients)
