"""EE-L: expected exposure loss, the official measure of Task 2."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenrank.metrics.measure import Measure

EE_LOSS = Measure(
    name="EE-L",
    task=2,
    label="expected exposure loss, the official measure of Task 2",
    higher_is_better=False,
    low=0.0,
    high=math.inf,
    if_empty="‖target‖²",
    formula="‖ε − ε*‖²",
    citation="Diaz et al. 2020; the paper, section 4.3 (which prints the norm without its square)",
)


def ee_loss(exposure: NDArray[np.float64], target: NDArray[np.float64]) -> float:
    """Squared distance of the groups' expected exposure ε from the target exposure ε*."""
    distance = exposure - target
    return float(distance @ distance)
