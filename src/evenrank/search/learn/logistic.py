"""Logistic regression of a handful of coefficients, by Newton's method, with signs that can be prescribed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.types import Floats


def expit(x: Floats) -> Floats:
    """1 / (1 + exp(−x)), without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * np.asarray(x, np.float64))))


def logit(p: Floats, floor: float) -> Floats:
    """Log-odds of p, with p kept `floor` away from 0 and 1."""
    clipped = np.clip(np.asarray(p, np.float64), floor, 1.0 - floor)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))


def logistic_fit(
    rows: Floats, labels: Floats, weights: Floats, ridge: float, signs: NDArray[np.integer] | None = None
) -> Floats:
    """Coefficients that maximise the weighted log-likelihood minus `ridge`/2 · their squares.

    The first column is the intercept and is not shrunk. `signs` (1, −1, 0 for free) prescribes the direction of
    a column: one that comes out the other way is left out and the rest fitted again.
    """
    columns = np.arange(rows.shape[1])
    while True:
        fitted = _newton(rows[:, columns], labels, weights, ridge)
        wrong = np.zeros(len(columns), bool) if signs is None else fitted * signs[columns] < 0
        if not wrong.any():
            coefficients = np.zeros(rows.shape[1])
            coefficients[columns] = fitted
            return coefficients
        columns = columns[~wrong]


def _newton(rows: Floats, labels: Floats, weights: Floats, ridge: float, n_rounds: int = 50) -> Floats:
    penalty = np.full(rows.shape[1], ridge)
    penalty[0] = 1e-9
    coefficients = np.zeros(rows.shape[1])
    for _ in range(n_rounds):
        p = expit(rows @ coefficients)
        gradient = rows.T @ (weights * (labels - p)) - penalty * coefficients
        curvature = (rows.T * (weights * p * (1.0 - p))) @ rows + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        coefficients = coefficients + step * min(1.0, 5.0 / max(np.abs(step).max(), 1e-300))
        if np.abs(step).max() < 1e-10:
            break
    return np.asarray(coefficients)
