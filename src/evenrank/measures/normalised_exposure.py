"""Expected exposure of documents or groups, compared with an ideal one and set in relation to its bounds.

Disparity, relevance and difference of Diaz, Mitra, Ekstrand, Biega and Carterette 2020 ("Evaluating stochastic rankings
with expected exposure"), with the bounds and the defaults of the evaluator of the TREC 2020 Fair Ranking Track. All
functions take the vectors of many queries as flat arrays (see `segments`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.exposure import Cascade, Geometric
from evenrank.core.types import Floats
from evenrank.measures.segments import Offsets, owners, ranks, sums

Browsing = Geometric | Cascade
"""How people read: `rbp` by the rank alone, `gerr` also by the relevant documents above."""
DEFAULTS = {"disparity": 0.0, "relevance": 1.0, "difference": 0.0}
"""Normalised values where the bounds do not differ."""


@dataclass(frozen=True)
class Bounds:
    """Least and largest value of a measure for each query."""

    lower: Floats
    upper: Floats


def target_exposure(grades: NDArray[np.integer], offsets: Offsets, browsing: Browsing) -> Floats:
    """Ideal exposure ε* of each judged document: documents of a grade share the ranks below all higher grades.

    With b documents of higher grades and m of this one it is the mean attention of the ranks b to b + m − 1. A reader
    of the cascade passes relevant documents alone before and within a grade above 0.
    """
    patience = browsing.persistence
    passes = 1.0 - browsing.satisfaction if isinstance(browsing, Cascade) else 1.0
    query = owners(offsets)
    order = np.lexsort((-grades, query))
    is_first = np.diff(query[order], prepend=-1) != 0
    is_first |= np.diff(grades[order], prepend=0) != 0
    starts = np.flatnonzero(is_first)
    sizes = np.diff(np.append(starts, len(order)))
    n_above = ranks(offsets)[starts]
    decay = np.where(grades[order][starts] > 0, patience * passes, patience)
    level = (decay**n_above - decay ** (n_above + sizes)) / (sizes * (1.0 - decay))
    level = np.where(grades[order][starts] > 0, level, passes**n_above * level)
    target = np.empty(len(grades))
    target[order] = np.repeat(level, sizes)
    return target


def compare_exposure(given: Floats, wanted: Floats, offsets: Offsets) -> dict[str, Floats]:
    """Disparity Σ ε², relevance Σ ε ε* and difference Σ (ε − ε*)² of each query.

    A query whose vector gets no exposure at all has an infinite disparity.
    """
    disparity = sums(given**2, offsets)
    return {
        "disparity": np.where(disparity > 0.0, disparity, np.inf),
        "relevance": sums(given * wanted, offsets),
        "difference": sums((given - wanted) ** 2, offsets),
    }


def item_bounds(
    target: Floats, grades: NDArray[np.integer], offsets: Offsets, browsing: Browsing, is_complete: bool
) -> dict[str, Bounds]:
    """Bounds for vectors of documents. `is_complete`: every document that can be ranked is judged.

    Worst is the fixed ranking of the least relevant documents first; without complete judgments it is one in which no
    relevant document appears.
    """
    patience, decay = browsing.persistence, _bound_decay(browsing)
    n_queries = len(offsets) - 1
    n_documents = np.diff(offsets).astype(np.float64) if is_complete else np.full(n_queries, np.inf)
    squares = sums(target**2, offsets)
    zero = np.zeros(n_queries)
    disparity = Bounds(zero, geometric_series(patience**2, n_documents))
    relevance = Bounds(zero, squares)
    difference = Bounds(zero, squares + geometric_series(decay, n_documents))
    if is_complete:
        ascending = target[np.lexsort((target, owners(offsets)))]
        weights = decay ** ranks(offsets)
        disparity = Bounds(geometric_series(decay, n_documents) ** 2 / n_documents, disparity.upper)
        relevance = Bounds(sums(weights * ascending, offsets), squares)
        difference = Bounds(zero, sums((weights - ascending) ** 2, offsets))
    has_grades = _n_grades(grades, offsets) > 1
    relevance = Bounds(np.where(has_grades, relevance.lower, 0.0), np.where(has_grades, relevance.upper, 0.0))
    return {"disparity": disparity, "relevance": relevance, "difference": difference}


def group_bounds(
    target: Floats, offsets: Offsets, n_relevant: NDArray[np.integer], browsing: Browsing
) -> dict[str, Bounds]:
    """Bounds for vectors of groups, where a query has `n_relevant` relevant documents.

    Those of relevance are 0, as in the published evaluator, so that its normalised value is always the default.
    """
    n_groups = np.diff(offsets)
    n_documents = n_relevant.astype(np.float64)
    most = geometric_series(browsing.persistence, n_documents)
    least = geometric_series(_bound_decay(browsing), n_documents)
    zero = np.zeros(len(n_groups))
    has_several = n_groups > 1
    farthest = sums((most[owners(offsets)] - target) ** 2, offsets)
    return {
        "disparity": Bounds(
            np.where(has_several, n_groups * least**2, 0.0), np.where(has_several, n_groups * most**2, 0.0)
        ),
        "relevance": Bounds(zero, zero),
        "difference": Bounds(zero, np.maximum(sums(target**2, offsets), farthest)),
    }


def unranked_exposure(bounds: dict[str, Bounds]) -> dict[str, Floats]:
    """What a query without a ranking gets: the largest disparity, the least relevance.

    Its difference is the upper bound of relevance, as in the published evaluator.
    """
    return {
        "disparity": bounds["disparity"].upper,
        "relevance": bounds["relevance"].lower,
        "difference": bounds["relevance"].upper,
    }


def normalise(name: str, values: Floats, bounds: Bounds) -> Floats:
    """Values of a measure in relation to the distance of its bounds; its default where they do not differ."""
    width = bounds.upper - bounds.lower
    default = np.full_like(values, DEFAULTS[name])
    return np.divide(values, width, out=default, where=bounds.upper != bounds.lower)


def geometric_series(ratio: float, n_terms: Floats) -> Floats:
    """Σ_{i<n} ratio^i for a ratio below 1; the number of terms may be infinite."""
    return np.asarray((1.0 - ratio**n_terms) / (1.0 - ratio), np.float64)


def _bound_decay(browsing: Browsing) -> float:
    """Decay of attention in the bounds; of the cascade the published evaluator takes patience × satisfaction."""
    return browsing.persistence * (browsing.satisfaction if isinstance(browsing, Cascade) else 1.0)


def _n_grades(grades: NDArray[np.integer], offsets: Offsets) -> NDArray[np.intp]:
    """Different grades of each query."""
    query = owners(offsets)
    order = np.lexsort((grades, query))
    is_new = (np.diff(query[order], prepend=-1) != 0) | (np.diff(grades[order], prepend=0) != 0)
    return np.bincount(query[order][is_new], minlength=len(offsets) - 1)
