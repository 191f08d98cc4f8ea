"""nDCG of one ranking as the scorer computes it, from which of its pages are relevant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import DTypeLike, NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.exposure import LOG
from evenrank.core.problem import QueryBatch
from evenrank.core.protocol import PAPER_2021
from evenrank.measures.relevance import NDCG


def ndcg(is_relevant: NDArray[np.bool_], n_relevant: int, ideal_depth: int, dtype: DTypeLike = np.float64) -> float:
    """nDCG in the published order of sums, with discounts of that precision."""
    ranks = np.arange(len(is_relevant))
    batch = QueryBatch(
        protocol=replace(PAPER_2021, discount_type=np.dtype(dtype).name),  # type: ignore[arg-type]
        attention_model=LOG,
        items=ranks,
        pairs=np.zeros_like(ranks),
        rankings=np.zeros_like(ranks),
        ranks=ranks,
        gains=is_relevant,
        n_rankings=np.array([1]),
        depth=np.array([len(ranks)]),
        ideal_depth=np.array([ideal_depth]),
        n_relevant=np.array([n_relevant]),
        alignment=Alignment(np.zeros((1, 1)), np.zeros_like(ranks)),
        full_target=np.zeros((1, 1)),
        drops_unknown=False,
        is_exact=True,
    )
    return float(NDCG.over(batch)[0])
