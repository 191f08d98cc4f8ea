from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from evenrank.core.rng import derive
from evenrank.retrieval.learn.calibration import (
    Calibration,
    CalibrationSettings,
    JudgedScores,
    calibration_features,
    correct_prior,
    estimate_prior,
    fit_calibration,
    predict,
    reliability_bins,
)
from evenrank.retrieval.learn.linear import expit, logistic_fit, logit

scores = arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 100, width=16))


def simulated_topic(number: int, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Scores of exponential fall and labels drawn from a logistic in the description, prior varying by topic."""
    rng = derive(7, "topic", number)
    values = np.sort(rng.exponential(1.0, n))[::-1] * rng.uniform(1, 50)
    p = expit(calibration_features(values) @ np.array([rng.normal(0.0, 0.5), 3.0, -0.6]))
    return values, rng.random(n) < p


@pytest.fixture(scope="module")
def fitted() -> Calibration:
    return fit_calibration([simulated_topic(i) for i in range(60)])


def test_describe_by_hand() -> None:
    rows = calibration_features(np.array([4.0, 2.0, 2.0, 1.0]))
    np.testing.assert_allclose(rows[:, 1], [1.0, 0.5, 0.5, 0.25])
    np.testing.assert_allclose(np.exp(rows[:, 2]), [1, 2, 2, 4])


def test_scores_on_a_shared_scale_keep_it() -> None:
    """Log-odds that are too timid by half are stretched, and a topic of low scores is not given high probabilities."""
    rng = derive(2, "shared")
    topics = []
    for _ in range(40):
        log_odds = rng.normal(-2.0 + rng.normal(), 1.5, 500)
        topics.append((0.5 * log_odds, rng.random(500) < expit(log_odds)))
    fitted = fit_calibration(topics, CalibrationSettings(scale="shared", ridge=1e-4, prior_strength=1.0))
    np.testing.assert_allclose(fitted.coefficients, [0.0, 2.0], atol=0.15)
    poor, rich = np.full(100, -2.0), np.full(100, 1.0)
    assert predict(fitted, poor).mean() < 0.05
    assert predict(fitted, rich).mean() > 0.6


@given(scores, st.floats(0.1, 1000))
def test_describe_ignores_the_scale(values: np.ndarray, factor: float) -> None:
    np.testing.assert_allclose(calibration_features(values * factor), calibration_features(values), atol=1e-12)


@given(scores)
def test_higher_scores_never_get_lower_probabilities(fitted: Calibration, values: np.ndarray) -> None:
    p = predict(fitted, values)
    assert np.isfinite(p).all()
    assert ((p >= 0) & (p <= 1)).all()
    assert (np.diff(p[np.argsort(values, kind="stable")]) >= -1e-12).all()


def test_held_out_topics_are_calibrated(fitted: Calibration) -> None:
    held_out = [simulated_topic(i) for i in range(100, 140)]
    p = np.concatenate([predict(fitted, s) for s, _ in held_out])
    labels = np.concatenate([y for _, y in held_out])
    assert reliability_bins(p, labels).expected_calibration_error < 0.03


def test_pages_that_nobody_judged_count_for_nothing() -> None:
    """Every second label is hidden: the probabilities stay. Taken for misses, they would halve."""
    topics = [simulated_topic(i) for i in range(60)]
    all_judged = fit_calibration(topics)
    hidden = [derive(3, number).random(len(y)) < 0.5 for number, (_, y) in enumerate(topics)]
    judged = fit_calibration([JudgedScores(s, y & ~h, ~h) for (s, y), h in zip(topics, hidden, strict=True)])
    taken_for_misses = fit_calibration([(s, y & ~h) for (s, y), h in zip(topics, hidden, strict=True)])
    scores, _ = simulated_topic(61)
    expected = predict(all_judged, scores).mean()
    assert predict(judged, scores).mean() == pytest.approx(expected, rel=0.1)
    assert predict(taken_for_misses, scores).mean() < 0.75 * expected


def test_no_candidates_no_probabilities(fitted: Calibration) -> None:
    assert predict(fitted, np.empty(0)).shape == (0,)


def test_nothing_to_fit_is_said() -> None:
    with pytest.raises(ValueError, match="at least one topic"):
        fit_calibration([])


@pytest.mark.parametrize("label", [True, False])
def test_one_kind_of_label_only_stays_finite(label: bool) -> None:
    calibration = fit_calibration([(np.arange(5.0), np.full(5, label))])
    assert np.isfinite(predict(calibration, np.arange(9.0))).all()


def test_correct_prior_by_hand() -> None:
    # Odds 1 at prior odds 1; a prior of 0.2 has odds 1/4, so the probability is 0.2.
    assert correct_prior(np.array([0.5]), 0.5, 0.2)[0] == pytest.approx(0.2)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_correct_prior_there_and_back(p: float, old: float, new: float) -> None:
    there = correct_prior(np.array([p]), old, new)
    assert correct_prior(there, new, old)[0] == pytest.approx(p)


def test_estimated_prior_finds_the_mixture() -> None:
    # Two kinds of pages, clearly told apart: 30 of 100 look relevant.
    p = np.array([0.999] * 30 + [0.001] * 70)
    assert estimate_prior(p, 0.5, 0.0) == pytest.approx(0.3, abs=0.01)


def test_a_strong_training_prior_wins() -> None:
    assert estimate_prior(np.full(10, 0.01), 0.5, 1e6) == pytest.approx(0.5, abs=1e-3)


def test_logistic_against_a_general_optimiser() -> None:
    rng = derive(1, "logistic")
    rows = np.column_stack([np.ones(200), rng.normal(size=(200, 2))])
    labels = (rng.random(200) < expit(rows @ np.array([0.3, 1.0, -2.0]))).astype(float)
    weights = np.full(200, 1 / 200)

    def loss(c: np.ndarray) -> float:
        z = rows @ c
        return float(weights @ (np.logaddexp(0, z) - labels * z) + 0.005 * (c[1:] ** 2).sum())

    expected = minimize(loss, np.zeros(3), method="BFGS", tol=1e-10).x
    np.testing.assert_allclose(logistic_fit(rows, labels, weights, 0.01), expected, atol=1e-4)


def test_a_coefficient_of_the_wrong_sign_is_left_out() -> None:
    rows = np.column_stack([np.ones(50), np.linspace(-1, 1, 50)])
    labels = (rows[:, 1] < 0).astype(float)
    coefficients = logistic_fit(rows, labels, np.full(50, 0.02), 0.01, np.array([0, 1]))
    np.testing.assert_allclose(coefficients, [0.0, 0.0], atol=1e-6)


@given(st.floats(-30, 30))
def test_expit_and_logit_undo_each_other(x: float) -> None:
    assert logit(expit(np.array([x])), 1e-16)[0] == pytest.approx(x, abs=1e-2 + 1e-9 * abs(x))


def test_reliability_by_hand() -> None:
    bins = reliability_bins(np.array([0.1, 0.1, 0.9, 0.9]), np.array([False, False, True, False]))
    np.testing.assert_allclose(bins.mean_probability, [0.1, 0.9])
    np.testing.assert_allclose(bins.share_relevant, [0.0, 0.5])
    assert bins.expected_calibration_error == pytest.approx((0.1 + 0.4) / 2)
    assert reliability_bins(np.empty(0), np.empty(0, bool)).expected_calibration_error == 0.0
