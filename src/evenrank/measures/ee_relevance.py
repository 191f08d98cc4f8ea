"""EE-R: expected exposure relevance."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenrank.measures.measure import Measure, TopicView


def ee_relevance(exposure: NDArray[np.float64], target: NDArray[np.float64]) -> float:
    """Inner product of the groups' expected exposure ε and the target exposure ε*."""
    return float(exposure @ target)


def _compute(view: TopicView) -> float:
    groups = view.groups
    if groups.published is not None:
        return groups.published.relevance()
    return ee_relevance(groups.exposure, groups.target)


EE_RELEVANCE = Measure(
    name="EE-R",
    tasks=(2,),
    label="agreement of exposure with the target",
    formula="ε · ε*",
    higher_is_better=True,
    low=0.0,
    high=math.inf,
    if_empty=0.0,
    citation="Diaz et al. 2020; the paper, section 4.3",
    compute=_compute,
    official_in=(2,),
)
