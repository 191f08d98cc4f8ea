"""The set of exposures that rankings can give, and its linear oracle: one partial sort.

A ranking gives its pages the discounts of their ranks and all other pages nothing. The mixtures of rankings give the
convex hull of these vectors, a permutohedron; a linear function is largest there on the ranking by its coefficients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def best_ranking(scores: NDArray[np.float64], length: int) -> NDArray[np.intp]:
    """Positions of the `length` largest scores, largest first; equal scores stay in candidate order."""
    surely_in = np.arange(len(scores))
    if len(scores) > 2 * length > 0:
        least = np.partition(scores, len(scores) - length)[len(scores) - length]
        surely_in = np.flatnonzero(scores >= least)
    order = np.argsort(-scores[surely_in], kind="stable")[:length]
    return surely_in[order]


def support(scores: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The largest Σ scores · exposure over all rankings with discounts `weights`."""
    return float(supports(scores, weights))


def supports(scores: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same for many scores at once, pages on the last axis."""
    n_pages = scores.shape[-1]
    length = min(len(weights), n_pages)
    top = np.partition(scores, n_pages - length)[..., n_pages - length :] if length < n_pages else scores
    return np.asarray(np.sort(top)[..., ::-1] @ weights[:length])


def strongest_per_type(page_type: NDArray[np.intp], gain: NDArray[np.float64], length: int) -> NDArray[np.intp]:
    """Positions, in candidate order, of the `length` pages with the largest gain within each page type.

    Pages of one type differ in their gain alone, so a best ranking never needs any other page.
    """
    order = np.lexsort((-gain, page_type))
    types = page_type[order]
    first_of_type = np.searchsorted(types, types)
    return np.sort(order[np.arange(len(order)) - first_of_type < length])


def first_of_each_type(types: NDArray[np.intp]) -> NDArray[np.intp]:
    """Indices where a new type begins in a list sorted by type."""
    return np.flatnonzero(np.diff(types, prepend=-1))
