"""Precision: the share of relevant pages in the part of the rankings that is scored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.metrics.measure import Measure

_FACTS = {
    "name": "P",
    "label": "share of relevant pages at the depth that is scored",
    "higher_is_better": True,
    "low": 0.0,
    "high": 1.0,
    "if_empty": "0",
    "formula": "relevant pages / depth",
    "citation": "relevance companion: official-2021 Task 2 ignores relevance in the exposure",
    "is_companion": True,
}
PRECISION_TASK1 = Measure(task=1, **_FACTS)  # type: ignore[arg-type]
PRECISION_TASK2 = Measure(task=2, **_FACTS)  # type: ignore[arg-type]


def precision(is_relevant: NDArray[np.bool_], depth: int) -> float:
    """Relevant pages among the first `depth`; a shorter ranking has its empty positions counted as misses."""
    return float(is_relevant[:depth].sum()) / depth if depth else 0.0
