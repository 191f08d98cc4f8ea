"""EE-L: expected exposure loss, the official measure of Task 2."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenrank.measures.measure import Measure, TopicView


def ee_loss(exposure: NDArray[np.float64], target: NDArray[np.float64]) -> float:
    """Squared distance of the groups' expected exposure ε from the target exposure ε*."""
    distance = exposure - target
    return float(distance @ distance)


def _compute(view: TopicView) -> float:
    groups = view.groups
    if groups.published is not None:
        return groups.published.loss()
    return ee_loss(groups.exposure, groups.target) + groups.unexposed_squares


EE_LOSS = Measure(
    name="EE-L",
    tasks=(2,),
    label="expected exposure loss, the official measure of Task 2",
    formula="‖ε − ε*‖²",
    higher_is_better=False,
    low=0.0,
    high=math.inf,
    if_empty=lambda view: view.groups.squared_target,
    citation="Diaz et al. 2020; the paper, section 4.3 (which prints the norm without its square)",
    compute=_compute,
    official_in=(2,),
)
