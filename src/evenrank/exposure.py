"""Position discounts: how much attention a rank gets (the paper's weight w_i)."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray


def discounts(depth: int, dtype: DTypeLike = np.float64) -> NDArray[np.floating]:
    """Attention weights of ranks 1 … depth: 1 / log2(max(rank, 2)), so ranks 1 and 2 weigh the same.

    With `dtype` float32 the logarithm itself is taken in single precision, as the published code does.
    """
    ranks = np.maximum(np.arange(1, depth + 1), 2).astype(dtype)
    weights: NDArray[np.floating] = np.reciprocal(np.log2(ranks))
    return weights


def block_exposure(counts: NDArray[np.integer], dtype: DTypeLike = np.float64) -> NDArray[np.float64]:
    """Mean discount of consecutive blocks of `counts` ranks; 0 for an empty block.

    This is the ideal exposure of a relevant page in each work level, levels in work order
    (the paper's equation for the target exposure of a document, Diaz et al. 2020).
    """
    ends = np.cumsum(counts)
    weights = discounts(int(ends[-1]) if len(ends) else 0, dtype)
    means = np.zeros(len(counts))
    for level, (end, count) in enumerate(zip(ends, counts, strict=True)):
        if count:
            means[level] = weights[end - count : end].mean()
    return means
