"""Plackett–Luce sampling: the top of log-weights with Gumbel noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def log_weights(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms; a page of weight 0 comes after all others, in random order among its like."""
    positive = weights > 0.0
    floor = np.log(weights[positive].min()) - 50.0 if positive.any() else 0.0
    return np.where(positive, np.log(np.where(positive, weights, 1.0)), floor)


def top(keys: NDArray[np.float64], length: int) -> NDArray[np.intp]:
    """Positions of the `length` largest keys along the last axis, largest first."""
    n_keys = keys.shape[-1]
    if length < n_keys:
        best = np.argpartition(-keys, length - 1, axis=-1)[..., :length]
    else:
        best = np.broadcast_to(np.arange(n_keys), keys.shape)
    order = np.argsort(-np.take_along_axis(keys, best, axis=-1), axis=-1, kind="stable")
    return np.asarray(np.take_along_axis(best, order, axis=-1), np.intp)


def plackett_luce(
    log_weight: NDArray[np.float64], length: int, n_samples: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Samples by rank: pages drawn one after the other, without return, in proportion to their weights."""
    keys = rng.gumbel(size=(n_samples, len(log_weight)))
    keys += log_weight
    return top(keys, min(length, len(log_weight)))
