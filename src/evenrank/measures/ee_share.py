"""EE-L share: the loss as a share of what an empty run would lose."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenrank.measures.ee_loss import EE_LOSS, ee_loss
from evenrank.measures.measure import Measure, TopicView


def ee_share(exposure: NDArray[np.float64], target: NDArray[np.float64]) -> float:
    """EE-L divided by ‖ε*‖²: 0 for a perfect sequence, 1 for an empty one."""
    return ee_loss(exposure, target) / float(target @ target)


def _compute(view: TopicView) -> float:
    if view.wants_nothing:
        return math.nan
    if not view.groups.unexposed_squares:
        return ee_share(view.exposure, view.target)
    return EE_LOSS(view) / view.groups.squared_target


EE_SHARE = Measure(
    name="EE-L/T2",
    tasks=(2,),
    label="expected exposure loss as a share of ‖target‖²",
    formula="‖ε − ε*‖² / ‖ε*‖²",
    higher_is_better=False,
    low=0.0,
    high=math.inf,
    if_empty=lambda view: math.nan if view.wants_nothing else 1.0,
    citation="this package; topics differ in ‖ε*‖² by an order of magnitude, so sums of EE-L are led by a few",
    compute=_compute,
)
