"""Precision: the share of relevant pages in the part of the rankings that is scored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.measures.measure import Measure


def precision(is_relevant: NDArray[np.bool_], n_positions: int) -> float:
    """Relevant pages as a share of `n_positions`; positions that a short ranking leaves empty are misses."""
    return float(is_relevant.sum()) / n_positions if n_positions else 0.0


PRECISION = Measure(
    name="P",
    tasks=(1, 2),
    label="share of relevant pages at the depth that is scored",
    formula="relevant pages / depth",
    higher_is_better=True,
    low=0.0,
    high=1.0,
    if_empty=0.0,
    citation="relevance companion: official-2021 Task 2 ignores relevance in the exposure",
    compute=lambda view: precision(view.is_relevant[view.ranks < view.depth], max(1, view.n_rankings) * view.depth),
    heading_has_depth=True,
)
