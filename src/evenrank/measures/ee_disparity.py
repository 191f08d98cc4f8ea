"""EE-D: expected exposure disparity."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenrank.measures.measure import Measure, TopicView


def ee_disparity(exposure: NDArray[np.float64]) -> float:
    """Squared norm of the groups' expected exposure ε."""
    return float(exposure @ exposure)


def _compute(view: TopicView) -> float:
    groups = view.groups
    if groups.published is not None:
        return groups.published.disparity()
    return ee_disparity(groups.exposure)


EE_DISPARITY = Measure(
    name="EE-D",
    tasks=(2,),
    label="inequality of exposure between groups, whatever is relevant",
    formula="ε · ε",
    higher_is_better=False,
    low=0.0,
    high=math.inf,
    if_empty=0.0,
    citation="Diaz et al. 2020; the paper's formula (ε* · ε*) is a misprint",
    compute=_compute,
    official_in=(2,),
)
