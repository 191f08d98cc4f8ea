"""Paired tests of two runs on the same topics, and Holm's correction for many tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from evenrank.core.rng import derive

MAX_EXACT = 16
"""Up to this number of topics that differ, all 2ⁿ sign patterns are counted."""
N_SAMPLES = 100_000
"""Sign patterns drawn when there are more."""
SIGNS_AT_ONCE = 10_000_000
"""Signs drawn together: patterns of a hundred thousand queries would fill the memory."""


def randomisation_p(differences: NDArray[np.float64], seed: int = 0) -> float:
    """Two-sided p of the paired randomisation test: how often random signs give a mean as far from 0.

    Exact when few topics differ, else from `N_SAMPLES` patterns drawn with `seed` (Smucker et al. 2007).
    """
    moved = differences[differences != 0.0]
    if len(moved) == 0:
        return 1.0
    observed = abs(moved.sum()) * (1.0 - 1e-12)  # patterns that tie with the observed one but for rounding count
    if len(moved) <= MAX_EXACT:
        patterns = (np.arange(1 << len(moved))[:, None] >> np.arange(len(moved))) & 1
        return float((np.abs((2.0 * patterns - 1.0) @ moved) >= observed).mean())
    rng = derive(seed, "randomisation test", len(moved))
    n_extreme = 0
    for signs in _sign_patterns(len(moved), rng):
        n_extreme += int((np.abs(signs @ moved) >= observed).sum())
    return (n_extreme + 1) / (N_SAMPLES + 1)


def randomisation_p_of_rows(differences: NDArray[np.float64], seed: int = 0) -> list[float]:
    """`randomisation_p` of each row; rows that differ on the same number of topics share their sign patterns."""
    found = np.ones(len(differences))
    n_moved = (differences != 0.0).sum(axis=1)
    for n in np.unique(n_moved).tolist():
        rows = np.flatnonzero(n_moved == n)
        if n <= MAX_EXACT:
            found[rows] = [randomisation_p(differences[row], seed) for row in rows]
            continue
        moved = differences[rows][differences[rows] != 0.0].reshape(len(rows), n).T
        observed = np.abs(moved.sum(axis=0)) * (1.0 - 1e-12)
        rng = derive(seed, "randomisation test", n)
        n_extreme = np.zeros(len(rows), np.intp)
        for signs in _sign_patterns(n, rng):
            n_extreme += (np.abs(signs @ moved) >= observed).sum(axis=0)
        found[rows] = (n_extreme + 1) / (N_SAMPLES + 1)
    return [float(p) for p in found]


def _sign_patterns(n_topics: int, rng: np.random.Generator) -> Iterator[NDArray[np.float64]]:
    """`N_SAMPLES` random patterns of signs, some at a time."""
    step = max(1, min(10_000, SIGNS_AT_ONCE // n_topics))
    for first in range(0, N_SAMPLES, step):
        bits = rng.integers(0, 2, (min(step, N_SAMPLES - first), n_topics), dtype=np.int8)
        yield np.asarray(2.0 * bits - 1.0, np.float64)


def t_test_p(differences: NDArray[np.float64], seed: int = 0) -> float:
    """Two-sided p of the paired t-test; 1 when no topic differs, 0 when all differ by the same amount."""
    if len(differences) < 2 or np.ptp(differences) == 0.0:
        return 0.0 if len(differences) > 1 and differences[0] != 0.0 else 1.0
    from scipy.special import stdtr

    n_topics = len(differences)
    t = differences.mean() / (differences.std(ddof=1) / np.sqrt(n_topics))
    return float(2.0 * stdtr(n_topics - 1, -abs(t)))


TESTS: dict[str, Callable[[NDArray[np.float64], int], float]] = {"randomisation": randomisation_p, "t-test": t_test_p}
"""Test name → p of the differences by topic."""


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number (Holm 1979), in the order given."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        corrected[index] = largest
    return corrected
