"""The parts of the solvers, one by one, against definitions and other implementations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import nnls
from scipy.spatial.distance import jensenshannon

from evenrank.core.exposure import discounts
from evenrank.policies.optimal.compound import (
    ChordedDivergence,
    divergence_by_group,
    plane_heights,
    total_divergence,
)
from evenrank.policies.optimal.permutohedron import (
    best_ranking,
    minimise_on_simplex,
    project,
    strongest_per_type,
    support,
    supports,
)
from evenrank.policies.optimal.solver import TypedPages, include_probable, round_exposure

scores = arrays(np.float64, st.integers(1, 60), elements=st.sampled_from([-2.0, 0.0, 0.5, 0.5, 1.0, 3.0]))


@given(scores, st.integers(1, 60))
def test_best_ranking_is_a_stable_sort_cut_short(values: np.ndarray, length: int) -> None:
    assert best_ranking(values, length).tolist() == np.argsort(-values, kind="stable")[:length].tolist()


@given(scores, st.integers(1, 60))
def test_support_is_the_value_of_the_best_ranking(values: np.ndarray, length: int) -> None:
    weights = 1.0 / np.arange(1, length + 1)
    ranking = best_ranking(values, length)
    assert support(values, weights) == pytest.approx(values[ranking] @ weights[: len(ranking)])
    assert supports(np.array([values, -values]), weights).tolist() == [
        support(values, weights),
        support(-values, weights),
    ]


@given(scores, st.integers(1, 5))
def test_pages_left_out_of_their_type_are_never_needed(gain: np.ndarray, length: int) -> None:
    rng = np.random.default_rng(len(gain))
    page_type, price = rng.integers(0, 4, len(gain)), rng.normal(size=4)
    kept = strongest_per_type(page_type, gain, length)
    values = gain + price[page_type]
    weights = 1.0 / np.arange(1, min(length, len(gain)) + 1)
    assert support(values[kept], weights) == pytest.approx(support(values, weights))
    assert np.bincount(page_type[kept]).max() <= length


@pytest.mark.parametrize("seed", range(10))
def test_weights_on_the_simplex_agree_with_another_solver(seed: int) -> None:
    """Adding vertices one at a time ends where non-negative least squares with a heavy sum row ends."""
    rng = np.random.default_rng(seed)
    points, goal = rng.normal(size=(12, 6)), rng.normal(size=6) * 0.5
    quadratic, linear = 2.0 * points @ points.T, 2.0 * points @ goal
    weights = np.eye(12)[0]
    for _ in range(100):
        slope = quadratic @ weights - linear
        face = np.flatnonzero((weights > 0) | (np.arange(12) == np.argmin(slope)))
        weights[face] = minimise_on_simplex(quadratic[np.ix_(face, face)], linear[face], weights[face])
    heavy = 1e4
    other, _ = nnls(np.vstack([points.T, np.full(12, heavy)]), np.append(goal, heavy))
    assert weights.sum() == pytest.approx(1.0)
    assert weights.min() >= 0.0
    assert np.sum((weights @ points - goal) ** 2) == pytest.approx(np.sum((other @ points - goal) ** 2), abs=1e-6)


def test_vertices_with_the_same_outcome_are_no_trouble() -> None:
    points = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    weights = minimise_on_simplex(2 * points @ points.T, 2 * points @ np.array([0.5, 0.5]), np.array([1.0, 0.0, 0.0]))
    assert weights @ points == pytest.approx([0.5, 0.5])


@hypothesis_settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 12))
def test_projection_is_the_nearest_mixture_of_rankings(seed: int, n_pages: int, length: int) -> None:
    """No vertex is in the direction of the point that was projected: the condition of a nearest point."""
    rng = np.random.default_rng(seed)
    point, weights = rng.normal(size=n_pages), np.sort(rng.random(min(length, n_pages)))[::-1]
    nearest = project(point, weights).point
    assert nearest.sum() == pytest.approx(weights.sum())
    most = np.pad(weights, (0, n_pages - len(weights))).cumsum()
    assert (np.sort(nearest)[::-1].cumsum() <= most + 1e-9).all()
    assert support(point - nearest, weights) <= (point - nearest) @ nearest + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_the_derivative_of_the_projection(seed: int) -> None:
    rng = np.random.default_rng(seed)
    point, weights, rows = rng.normal(size=9), np.array([1.0, 0.9, 0.6, 0.3]), rng.random((9, 2))
    step = 1e-7
    moved = [project(point + step * rows[:, group], weights).point for group in range(2)]
    numeric = np.array([rows.T @ (other - project(point, weights).point) / step for other in moved])
    assert project(point, weights).squares(rows) == pytest.approx(numeric, abs=1e-5)


@hypothesis_settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_rounding_gives_pages_types_and_groups_what_is_due(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_pages, weights = 40, discounts(8)
    exposure = project(rng.normal(size=n_pages) * 0.3, weights).point
    page_type, rows = rng.integers(0, 5, n_pages), rng.integers(0, 2, (5, 3)).astype(float)
    shown = TypedPages.of(exposure, np.ones(n_pages), page_type, rows, 8)
    rankings = round_exposure(shown, weights, 200)
    assert all(len(set(row)) == 8 for row in rankings.tolist())
    given = np.bincount(rankings.reshape(-1), np.tile(weights, 200), minlength=n_pages) / 200
    assert np.abs((given - exposure) @ rows[page_type]).max() < 0.02
    assert np.abs(given - exposure).max() < 0.05


@hypothesis_settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_including_probable_pages_keeps_types_and_stays_a_mean_of_rankings(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = discounts(6)
    exposure = project(rng.normal(size=30), weights).point
    page_type, relevance = rng.integers(0, 4, 30), rng.random(30)
    probable = np.flatnonzero(relevance > 0.4)
    least = rng.uniform(0.005, 0.02, 30)
    raised = include_probable(exposure, page_type, relevance, probable, least, 0.25)
    assert np.bincount(page_type, raised) == pytest.approx(np.bincount(page_type, exposure))
    assert (np.sort(raised)[::-1].cumsum() <= np.sort(exposure)[::-1].cumsum() + 1e-9).all()
    assert (raised[probable] > 0.0).sum() >= (exposure[probable] > 0.0).sum()
    assert raised.min() >= 0.0


@pytest.mark.parametrize("seed", range(5))
def test_divergence_agrees_with_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    share, target = rng.dirichlet([0.3] * 9), rng.dirichlet([0.3] * 9)
    share[0], target[1] = 0.0, 0.0
    share, target = share / share.sum(), target / target.sum()
    assert divergence_by_group(share, target).sum() == pytest.approx(jensenshannon(share, target) ** 2)
    assert total_divergence(share, target) == pytest.approx(jensenshannon(share, target) ** 2)


@hypothesis_settings(max_examples=60)
@given(st.integers(0, 1000))
def test_chorded_divergence_is_convex_and_below_on_what_rankings_can_give(seed: int) -> None:
    rng = np.random.default_rng(seed)
    target = rng.dirichlet([0.3] * 6)
    target[rng.integers(6)] = 0.0
    least = rng.uniform(0.001, 0.2, 6)
    chorded = ChordedDivergence(target, least)
    first_group = ChordedDivergence(target[:1], least[:1]).value(np.linspace(0.0, 1.0, 400)[:, None])
    assert np.diff(first_group, 2).min() >= -1e-9
    reachable = np.where(rng.random((50, 6)) < 0.3, 0.0, np.maximum(rng.random((50, 6)), least))
    true = divergence_by_group(reachable, target).sum(axis=1)
    assert (chorded.value(reachable) <= true + 1e-12).all()
    slope = chorded.expansion(rng.random(6) * 0.4).slope
    assert (plane_heights(target, least, slope).sum() + reachable @ slope <= true + 1e-12).all()


def test_slope_and_curvature_are_derivatives() -> None:
    chorded = ChordedDivergence(np.array([0.3, 0.2, 0.0]), np.array([0.05, 0.05, 0.05]))
    for share in (0.02, 0.06, 0.3):
        at = np.full(3, share)
        step = 1e-6
        around = chorded.expansion(at)
        assert around.value == pytest.approx(float(chorded.value(at)))
        for group in range(3):
            ahead, behind = at.copy(), at.copy()
            ahead[group] += step
            behind[group] -= step
            slope = (chorded.value(ahead) - chorded.value(behind)) / (2 * step)
            bend = (chorded.expansion(ahead).slope[group] - chorded.expansion(behind).slope[group]) / (2 * step)
            assert around.slope[group] == pytest.approx(slope, abs=1e-6)
            assert around.curvature[group] == pytest.approx(bend, abs=1e-5)
