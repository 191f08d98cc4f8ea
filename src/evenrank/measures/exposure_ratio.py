"""Exposure and impact ratios: the worst-served group against the best-served one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenrank.measures.measure import Measure, TopicView


def worst_to_best(given: NDArray[np.float64], wanted: NDArray[np.float64]) -> float:
    """Smallest over largest of given / wanted, over the groups that are wanted; 1 when all get what they should."""
    is_wanted = wanted > 0.0
    if not is_wanted.any() or given[is_wanted].max() <= 0.0:
        return math.nan
    rates = given[is_wanted] / wanted[is_wanted]
    return float(rates.min() / rates.max())


def _exposure_ratio(view: TopicView) -> float:
    return math.nan if view.groups.unexposed_target > 0.0 else worst_to_best(view.exposure, view.target)


def _impact_ratio(view: TopicView) -> float:
    if view.groups.unexposed_target > 0.0:
        return math.nan
    impact = view.alignment.total(view.attention.astype(np.float64) * view.is_relevant)
    return worst_to_best(impact[len(impact) - len(view.target) :], view.target)


EXPOSURE_RATIO = Measure(
    name="DTR",
    tasks=(1, 2),
    label="exposure of the worst-served group for what it should get, against the best-served one",
    formula="min (ε / ε*) / max (ε / ε*)",
    higher_is_better=True,
    low=0.0,
    high=1.0,
    if_empty=math.nan,
    citation="disparate treatment ratio, Singh and Joachims 2018, for many groups and with the target as merit",
    compute=_exposure_ratio,
    on_request=True,
)
IMPACT_RATIO = Measure(
    name="DIR",
    tasks=(1, 2),
    label="the same for exposure of relevant pages alone",
    formula="min (ε of relevant pages / ε*) / max",
    higher_is_better=True,
    low=0.0,
    high=1.0,
    if_empty=math.nan,
    citation="disparate impact ratio, Singh and Joachims 2018, for many groups and with the target as merit",
    compute=_impact_ratio,
    on_request=True,
)
