"""nDCG with binary relevance and the track's logarithmic discount."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from evenrank.exposure import discounts
from evenrank.metrics.measure import Measure

NDCG = Measure(
    name="nDCG",
    task=1,
    label="relevance of a ranking, discounted by rank",
    higher_is_better=True,
    low=0.0,
    high=1.0,
    if_empty="0",
    formula="Σ discount·rel / Σ discount of an ideal ranking",
    citation="Järvelin and Kekäläinen 2002; discount of the paper, section 4.1",
)


def ndcg(is_relevant: NDArray[np.bool_], n_relevant: int, ideal_depth: int, dtype: DTypeLike = np.float64) -> float:
    """nDCG of a ranking, given which of its pages are relevant and how many relevant pages there are.

    The ideal ranking holds min(ideal_depth, n_relevant) relevant pages. In float32 the sums and the quotient are single
    precision too, as in the published code.
    """
    n_ideal = min(ideal_depth, n_relevant)
    if n_ideal == 0 or len(is_relevant) == 0:
        return 0.0
    gains = discounts(len(is_relevant), dtype) * is_relevant
    return float(gains.sum() / discounts(n_ideal, dtype).sum())
