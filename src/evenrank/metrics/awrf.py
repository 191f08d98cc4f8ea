"""AWRF: how close a ranking's exposure of groups is to the target."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenrank.metrics.measure import Measure

AWRF = Measure(
    name="AWRF",
    task=1,
    label="attention-weighted rank fairness",
    higher_is_better=True,
    low=0.0,
    high=1.0,
    if_empty="0; official-2021 and official-2022 compare a uniform distribution instead",
    formula="1 − JSD(exposure by group, target)",
    citation="Sapiezynski et al. 2019, Raj et al. 2020; the paper, section 4.2",
)


def awrf(exposure: NDArray[np.float64], target: NDArray[np.float64], log_base: float = 2.0) -> float:
    """1 − Jensen–Shannon divergence of the two distributions (each is normalised here).

    In base 2 it lies in [0, 1]; with the natural logarithm, as published, in [1 − ln 2, 1].
    """
    return 1.0 - js_divergence(exposure, target, log_base)


def js_divergence(left: NDArray[np.float64], right: NDArray[np.float64], log_base: float) -> float:
    """Jensen–Shannon divergence of two distributions, in units of the logarithm's base."""
    p, q = left / left.sum(), right / right.sum()
    middle = (p + q) / 2
    divergence = (_relative_entropy(p, middle) + _relative_entropy(q, middle)) / 2
    distance = math.sqrt(max(0.0, divergence / math.log(log_base)))
    return distance**2  # by way of the distance, as in the published code: its last digit decides ties of the bootstrap


def _relative_entropy(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """Kullback–Leibler divergence in nats; 0 log 0 is 0. Ratios near 1 keep their digits by way of log1p."""
    excess = np.divide(p - q, q, out=np.zeros_like(p), where=p > 0)
    # A ratio that rounds to 0 has no logarithm; its term is smaller than the last digit of any sum here.
    logarithms = [math.log1p(value) if value > -1.0 else 0.0 for value in excess.tolist()]
    return float((p * np.array(logarithms)).sum())
