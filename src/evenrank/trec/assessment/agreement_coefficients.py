"""Chance-corrected agreement of assessors: Cohen's κ for two, Krippendorff's α for any number with gaps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.types import Floats


def cohens_kappa(table: NDArray[np.generic]) -> Floats:
    """κ = (p_o − p_e) / (1 − p_e) of contingency tables in the last two axes; NaN where p_e is 1.

    `table[i, j]` counts the items that one assessor gave value i and the other value j
    (J. Cohen, A coefficient of agreement for nominal scales, 1960).
    """
    shares = np.asarray(table, np.float64)
    shares = shares / shares.sum(axis=(-2, -1), keepdims=True)
    observed = np.trace(shares, axis1=-2, axis2=-1)
    expected = (shares.sum(axis=-1) * shares.sum(axis=-2)).sum(axis=-1)
    return _above_chance(1 - observed, 1 - expected)


def krippendorffs_alpha(value_counts: NDArray[np.generic], times: NDArray[np.generic] | None = None) -> Floats:
    """α = 1 − D_o / D_e for nominal values; NaN where only one value occurs.

    `value_counts[u, c]` says how many assessors gave item u the value c; items with fewer than two values do
    not count. `times[…, u]` repeats item u. (K. Krippendorff, Computing Krippendorff's alpha-reliability, 2011.)
    """
    counts = np.asarray(value_counts, np.float64)
    per_item = counts.sum(axis=1)
    paired = per_item >= 2
    weights = (np.ones(len(counts)) if times is None else np.asarray(times, np.float64)) * paired
    disagreement = (per_item**2 - (counts**2).sum(axis=1)) / np.maximum(per_item - 1, 1)
    n_by_value = weights @ counts
    n_values = n_by_value.sum(axis=-1)
    expected = n_values**2 - (n_by_value**2).sum(axis=-1)
    return _above_chance((n_values - 1) * (weights @ disagreement), expected)


def _above_chance(disagreement: Floats, expected: Floats) -> Floats:
    """1 − disagreement ÷ expected; NaN where chance alone would agree always."""
    possible = np.asarray(expected > 1e-12)
    ratio = np.divide(disagreement, expected, out=np.full(possible.shape, np.nan), where=possible)
    return np.asarray(1 - ratio)


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How intervals are made: items are drawn again with replacement, percentiles taken."""

    n_resamples: int = 9999
    level: float = 0.95
    """Share of the resamples inside the interval."""
    seed: int = 20220101
    """Start of all randomness."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A coefficient with its interval; NaN where it is undefined."""

    value: float
    low: float
    high: float


def kappa_estimate(
    table: NDArray[np.generic], rng: np.random.Generator, bootstrap: Bootstrap | None = None
) -> Estimate:
    """κ of one contingency table with its bootstrap interval."""
    cells = np.asarray(table).reshape(-1)
    shape = np.asarray(table).shape
    return _estimate(cells, lambda drawn: cohens_kappa(drawn.reshape(*drawn.shape[:-1], *shape)), rng, bootstrap)


def alpha_estimate(
    value_counts: NDArray[np.generic], rng: np.random.Generator, bootstrap: Bootstrap | None = None
) -> Estimate:
    """α of items by values with its bootstrap interval (items drawn again: Zapf and others 2016)."""
    counts = np.asarray(value_counts)
    patterns, times = np.unique(counts[counts.sum(axis=1) >= 2], axis=0, return_counts=True)
    return _estimate(times, lambda drawn: krippendorffs_alpha(patterns, drawn), rng, bootstrap)


def _estimate(
    counts: NDArray[np.generic],
    coefficient: Callable[[NDArray[np.generic]], Floats],
    rng: np.random.Generator,
    bootstrap: Bootstrap | None,
) -> Estimate:
    """Drawing n items again is one multinomial draw over the kinds of item, of which there are `counts`."""
    setting = bootstrap or Bootstrap()
    kinds = np.asarray(counts, np.int64)
    n_items = int(kinds.sum())
    if n_items == 0:
        return Estimate(np.nan, np.nan, np.nan)
    drawn = coefficient(rng.multinomial(n_items, kinds / n_items, size=setting.n_resamples))
    drawn = drawn[~np.isnan(drawn)]
    tail = (1 - setting.level) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail]) if len(drawn) else (np.nan, np.nan)
    return Estimate(float(coefficient(kinds)), float(low), float(high))


def count_values(ratings: Sequence[Sequence[object]]) -> NDArray[np.int64]:
    """Items by values: how often each value was given; None is a missing one, values in sorted order."""
    values = sorted({value for item in ratings for value in item if value is not None}, key=repr)
    counts = [[list(item).count(value) for value in values] for item in ratings]
    return np.array(counts, np.int64).reshape(len(ratings), len(values))
