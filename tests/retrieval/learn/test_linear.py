"""Lines through features: right slopes, forbidden signs, features without use."""

from __future__ import annotations

import numpy as np
import pytest

from evenrank.errors import EvenrankError
from evenrank.retrieval.learn.linear import Line, expit, feature_matrix, fit_line


def drawn(n: int, slopes: list[float], intercept: float, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    table = rng.normal(3.0, 2.0, (n, len(slopes)))
    return table, (rng.random(n) < expit(table @ np.array(slopes) + intercept)).astype(float)


def fitted(table: np.ndarray, labels: np.ndarray, ridge: float = 1e-3, weights: np.ndarray | None = None) -> Line:
    names = tuple("abc"[: table.shape[1]])
    return fit_line(names, table, labels, np.ones(len(table)) if weights is None else weights, ridge)


def named(table: np.ndarray) -> dict[str, np.ndarray]:
    return {name: table[:, at] for at, name in enumerate("abc"[: table.shape[1]])}


def test_the_slopes_that_made_the_labels_come_back() -> None:
    table, labels = drawn(40_000, [0.5, 0.3], -1.0)
    line = fitted(table, labels, 1e-6)
    assert line.slopes == pytest.approx([0.5, 0.3], abs=0.03)
    assert line.scores(named(table)) == pytest.approx(table @ [0.5, 0.3] - 1.0, abs=0.15)


def test_more_of_a_feature_never_counts_against() -> None:
    table, labels = drawn(2_000, [0.5, -0.3], -1.0)
    line = fitted(table, labels)
    assert line.slopes[1] == 0.0
    assert line.slopes[0] > 0.0


def test_contributions_and_the_base_add_up_to_the_score() -> None:
    table, labels = drawn(500, [0.5, 0.2, 0.0], 0.0)
    line = fitted(table, labels)
    parts = line.contributions(named(table))
    assert set(parts) == {"a", "b", "c", "base"}
    assert sum(parts.values()) == pytest.approx(line.scores(named(table)))


def test_units_do_not_matter() -> None:
    table, labels = drawn(500, [0.5, 0.2], 0.0)
    metres, kilometres = fitted(table, labels, 1e-2), fitted(table / 1000.0, labels, 1e-2)
    assert kilometres.scores(named(table / 1000.0)) == pytest.approx(metres.scores(named(table)))


def test_a_feature_that_never_changes_is_left_out() -> None:
    table, labels = drawn(500, [0.5, 0.2], 0.0)
    table[:, 1] = 0.0
    assert fitted(table, labels).slopes[1] == 0.0


def test_slopes_are_drawn_to_the_ratios_of_given_weights() -> None:
    table, labels = drawn(4_000, [0.5, 0.2, 0.2], -3.0)
    prior = {"a": 1.0, "b": 2.0}

    def slopes(ridge: float) -> tuple[float, ...]:
        return fit_line(("a", "b", "c"), table, labels, np.ones(len(table)), ridge, prior).slopes

    strong, weak = slopes(1e3), slopes(1e-6)
    assert strong[1] / strong[0] == pytest.approx(2.0, rel=1e-2)
    assert strong[2] == pytest.approx(0.0, abs=1e-3)
    assert 0.1 < strong[0] < 0.5  # the scale is fitted, not given
    assert weak == pytest.approx([0.5, 0.2, 0.2], abs=0.06)
    assert weak[1] / weak[0] < slopes(0.1)[1] / slopes(0.1)[0] < 2.0


def test_pages_of_weight_zero_teach_nothing() -> None:
    table, labels = drawn(400, [0.8], 0.0)
    weights = np.repeat([1.0, 0.0], 200)
    spoiled = np.where(weights > 0.0, labels, 1.0 - labels)
    slopes = [fitted(table, given, weights=weights).slopes for given in (labels, spoiled)]
    assert slopes[0] == pytest.approx(slopes[1])


def test_a_missing_feature_is_named() -> None:
    with pytest.raises(EvenrankError, match=r"needs topic_vector, x .*use an encoder"):
        feature_matrix({"words": np.zeros(3)}, ("words", "topic_vector", "x"))
