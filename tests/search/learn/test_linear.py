"""Lines through features: right slopes, forbidden signs, features without use."""

from __future__ import annotations

import numpy as np
import pytest

from evenrank.search.learn.linear import fit_line
from evenrank.search.learn.logistic import expit


def drawn(n: int, slopes: list[float], intercept: float, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    table = rng.normal(3.0, 2.0, (n, len(slopes)))
    return table, (rng.random(n) < expit(table @ np.array(slopes) + intercept)).astype(float)


def test_the_slopes_that_made_the_labels_come_back() -> None:
    table, labels = drawn(40_000, [0.5, -0.3], -1.0)
    line = fit_line(table, labels, np.ones(len(table)), [False, False], 1e-6)
    assert line.slopes == pytest.approx([0.5, -0.3], abs=0.03)
    assert line.scores(table) == pytest.approx(table @ [0.5, -0.3] - 1.0, abs=0.15)


def test_a_rising_feature_never_counts_against() -> None:
    table, labels = drawn(2_000, [0.5, -0.3], -1.0)
    free = fit_line(table, labels, np.ones(len(table)), [False, False], 1e-3)
    bound = fit_line(table, labels, np.ones(len(table)), [True, True], 1e-3)
    assert free.slopes[1] < 0.0 == bound.slopes[1]
    assert bound.slopes[0] > 0.0


def test_contributions_and_the_intercept_add_up_to_the_score() -> None:
    table, labels = drawn(500, [0.5, 0.2, 0.0], 0.0)
    line = fit_line(table, labels, np.ones(len(table)), [True] * 3, 1e-3)
    assert line.contributions(table).sum(axis=1) + line.intercept == pytest.approx(line.scores(table))


def test_units_do_not_matter() -> None:
    table, labels = drawn(500, [0.5, 0.2], 0.0)
    metres = fit_line(table, labels, np.ones(len(table)), [True, True], 1e-2)
    kilometres = fit_line(table / 1000.0, labels, np.ones(len(table)), [True, True], 1e-2)
    assert kilometres.scores(table / 1000.0) == pytest.approx(metres.scores(table))


def test_a_feature_that_never_changes_is_left_out() -> None:
    table, labels = drawn(500, [0.5, 0.2], 0.0)
    table[:, 1] = 7.0
    line = fit_line(table, labels, np.ones(len(table)), [True, True], 1e-3)
    assert line.slopes[1] == 0.0
    assert np.isfinite(line.scores(np.array([[1.0, 100.0]]))).all()


def test_pages_of_weight_zero_teach_nothing() -> None:
    table, labels = drawn(400, [0.8], 0.0)
    weights = np.repeat([1.0, 0.0], 200)
    spoiled = np.where(weights > 0.0, labels, 1.0 - labels)
    slopes = [fit_line(table, given, weights, [False], 1e-3).slopes for given in (labels, spoiled)]
    assert slopes[0] == pytest.approx(slopes[1])
