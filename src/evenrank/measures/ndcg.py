"""nDCG with binary relevance and the log discount."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from evenrank.core.exposure import discounts
from evenrank.measures.measure import Measure, TopicView


def ndcg(is_relevant: NDArray[np.bool_], n_relevant: int, ideal_depth: int, dtype: DTypeLike = np.float64) -> float:
    """nDCG of one ranking, given which of its pages are relevant and how many relevant pages there are."""
    return mean_ndcg(discounts(len(is_relevant), dtype) * is_relevant, n_relevant, ideal_depth)


def mean_ndcg(gains: NDArray[np.floating], n_relevant: int, ideal_depth: int, n_rankings: int = 1) -> float:
    """Mean nDCG of rankings, from the discounted gains of all their pages.

    The ideal ranking holds min(ideal_depth, n_relevant) relevant pages. With float32 gains the sums and the quotient
    are single precision too, as in the published code.
    """
    n_ideal = min(ideal_depth, n_relevant)
    if n_ideal == 0 or len(gains) == 0:
        return 0.0
    return float(gains.sum() / discounts(n_ideal, gains.dtype).sum()) / n_rankings


def _compute(view: TopicView) -> float:
    gains = view.gain_discounts * view.is_relevant
    if view.task == 2:
        gains = gains[view.ranks < view.depth]
    return mean_ndcg(gains, view.n_relevant, view.ideal_depth, max(1, view.n_rankings))


NDCG = Measure(
    name="nDCG",
    tasks=(1, 2),
    label="relevance of a ranking, discounted by rank; of a sequence, the mean over its rankings",
    formula="Σ discount·rel / Σ discount of an ideal ranking",
    higher_is_better=True,
    low=0.0,
    high=1.0,
    if_empty=0.0,
    citation="Järvelin and Kekäläinen 2002; discount of the paper, section 4.1",
    compute=_compute,
    official_in=(1,),
    heading_has_depth=True,
)
