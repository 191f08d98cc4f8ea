"""Gini: how unequally exposure is shared among the relevant pages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.measures.measure import Measure
from evenrank.measures.relevant_pages import item_exposure


def gini(values: NDArray[np.float64]) -> float:
    """Gini coefficient of non-negative values: 0 when all are equal, (n − 1) / n when one has everything."""
    total = values.sum()
    if len(values) == 0 or total <= 0.0:
        return 0.0
    ranks = np.arange(1, len(values) + 1)
    return float(((2 * ranks - len(values) - 1) @ np.sort(values)) / (len(values) * total))


GINI = Measure(
    name="Gini",
    tasks=(1, 2),
    label="inequality of exposure among the relevant pages, those not shown included",
    formula="Gini coefficient of ε over the relevant pages",
    higher_is_better=False,
    low=0.0,
    high=1.0,
    if_empty=0.0,
    citation="Gini 1912; for exposure of items e.g. Morik et al. 2020",
    compute=lambda view: gini(item_exposure(view).given),
    on_request=True,
)
