"""Rising lines with corners: they follow bent log-odds, never fall, and tell scores apart."""

from __future__ import annotations

import numpy as np
import pytest

from evenrank.core.rng import derive
from evenrank.retrieval.learn.calibration import CalibrationSettings, fit_calibration, piecewise_linear_fit, predict
from evenrank.retrieval.learn.linear import expit


def bent_truth(scores: np.ndarray) -> np.ndarray:
    """Log-odds that rise fast at first and slowly afterwards."""
    return np.where(scores < 0.0, 3.0 * scores - 1.0, 0.5 * scores - 1.0)


def drawn(n: int = 60_000) -> tuple[np.ndarray, np.ndarray]:
    rng = derive(4, "piecewise-linear")
    scores = rng.normal(0.0, 2.0, n)
    return scores, (rng.random(n) < expit(bent_truth(scores))).astype(float)


def test_it_follows_log_odds_that_are_bent() -> None:
    scores, labels = drawn()
    knots, values = piecewise_linear_fit(scores, labels, np.full(len(scores), 1.0 / len(scores)), 1e-6)
    at = np.linspace(-1.0, 4.0, 20)
    straight = np.polyval(np.polyfit(scores, bent_truth(scores), 1), at)
    found = np.interp(at, knots, values)
    assert np.abs(found - bent_truth(at)).max() < 0.35
    assert np.abs(found - bent_truth(at)).max() < 0.5 * np.abs(straight - bent_truth(at)).max()


def test_it_never_falls_and_goes_on_beyond_what_was_seen() -> None:
    scores, labels = drawn(2_000)
    knots, values = piecewise_linear_fit(scores, labels, np.full(2_000, 1.0 / 2_000), 1e-4)
    assert (np.diff(knots) > 0.0).all()
    assert (np.diff(values) >= 0.0).all()
    beyond = np.interp([20.0, 21.0], knots, values)
    assert beyond[1] > beyond[0]


def test_best_pages_are_told_apart() -> None:
    scores, labels = drawn(5_000)
    fitted = fit_calibration([(scores, labels > 0.0)], CalibrationSettings(scale="shared", ridge=1e-4))
    assert len(np.unique(predict(fitted, np.sort(scores)[-20:], fitted.prior))) == 20


@pytest.mark.parametrize("labels", [np.zeros(6), np.ones(6)])
def test_labels_that_are_all_the_same(labels: np.ndarray) -> None:
    knots, values = piecewise_linear_fit(np.arange(6.0), labels, np.full(6, 1 / 6), 1e-2)
    assert np.isfinite(values).all()
    assert (np.diff(knots) > 0.0).all()


def test_equal_scores_make_one_corner() -> None:
    labels = np.array([1.0, 0.0, 1.0, 0.0])
    knots, values = piecewise_linear_fit(np.ones(4), labels, np.full(4, 0.25), 1e-2)
    assert np.interp(1.0, knots, values) == pytest.approx(0.0, abs=1e-6)
