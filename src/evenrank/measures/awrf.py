"""AWRF: how close a ranking's exposure of groups is to the target."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenrank.core.sparse_target import SparseTarget
from evenrank.measures.measure import Measure, TopicView


def awrf(
    exposure: NDArray[np.float64], target: NDArray[np.float64], log_base: float = 2.0, unexposed: float = 0.0
) -> float:
    """1 − Jensen–Shannon divergence of the two distributions (each is normalised here).

    In base 2 it lies in [0, 1]; with the natural logarithm, as published, in [1 − ln 2, 1]. `unexposed` is the target
    of groups that are not listed because they get no exposure.
    """
    return 1.0 - js_divergence(exposure, target, log_base, unexposed)


def js_divergence(
    left: NDArray[np.float64], right: NDArray[np.float64], log_base: float, right_alone: float = 0.0
) -> float:
    """Jensen–Shannon divergence of two distributions, in units of the logarithm's base.

    `right_alone` is what `right` has where `left` has nothing, beyond the listed places; each part of it adds ½ ln 2.
    """
    p, q = left / left.sum(), right / (right.sum() + right_alone)
    middle = (p + q) / 2
    divergence = (_relative_entropy(p, middle) + _relative_entropy(q, middle)) / 2
    if right_alone > 0.0:
        divergence += 0.5 * math.log(2.0) * right_alone / (right.sum() + right_alone)
    distance = math.sqrt(max(0.0, divergence / math.log(log_base)))
    return distance**2  # by way of the distance, as in the published code: its last digit decides ties of the bootstrap


def _relative_entropy(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """Kullback–Leibler divergence in nats; 0 log 0 is 0. Ratios near 1 keep their digits by way of log1p."""
    excess = np.divide(p - q, q, out=np.zeros_like(p), where=p > 0)
    # A ratio that rounds to 0 has no logarithm; its term is smaller than the last digit of any sum here.
    logarithms = [math.log1p(value) if value > -1.0 else 0.0 for value in excess.tolist()]
    return float((p * np.array(logarithms)).sum())


def _compute(view: TopicView) -> float:
    if not view.exposes_nothing and not view.wants_nothing:
        if view.groups.published is not None:
            return view.groups.published.awrf(view.protocol.log_base)
        return awrf(view.exposure, view.target, view.protocol.log_base, view.groups.unexposed_target)
    return _without_comparison(view)


def _without_comparison(view: TopicView) -> float:
    """AWRF of rankings that expose no group: 0, undefined, or that of a uniform distribution, by the protocol.

    Without a target it is undefined.
    """
    if view.wants_nothing:
        return math.nan
    if view.protocol.no_exposure == "zero":
        return 0.0
    if view.protocol.no_exposure == "undefined" or isinstance(view.full_target, SparseTarget):
        return math.nan
    return awrf(np.ones_like(view.target), view.target, view.protocol.log_base)


AWRF = Measure(
    name="AWRF",
    tasks=(1,),
    label="attention-weighted rank fairness: how close the exposure of groups is to the target",
    formula="1 − JSD(exposure by group, target)",
    higher_is_better=True,
    low=0.0,
    high=1.0,
    if_empty=_without_comparison,
    citation="Sapiezynski et al. 2019, Raj et al. 2020; the paper, section 4.2",
    compute=_compute,
    official_in=(1,),
)
