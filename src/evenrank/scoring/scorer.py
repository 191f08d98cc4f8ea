"""The scorer: batches of queries and measures in, values by measure and query out.

`score` builds batches from plain tables and `evaluate` from a collection; from here on both are the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from evenrank.core.problem import QueryBatch
from evenrank.core.types import Floats
from evenrank.measures.measure import Measure


def score_batches(batches: Iterable[QueryBatch], measures: Sequence[Measure]) -> dict[str, Floats]:
    """The values of each measure, by its key, over the pairs of all batches; batches are not kept."""
    parts = [[measure.over(batch) for measure in measures] for batch in batches]
    columns = zip(*parts, strict=True) if parts else ([] for _ in measures)
    return {
        measure.key: np.concatenate([np.empty(0), *values]) for measure, values in zip(measures, columns, strict=True)
    }


def defined(values: Floats) -> Floats:
    """The values that are defined."""
    is_undefined = np.isnan(values)
    return values[~is_undefined] if is_undefined.any() else values


def mean_of_defined(values: Floats) -> float:
    """Mean of the values that are defined; NaN when none is."""
    found = defined(values)
    return float(np.mean(found)) if len(found) else math.nan
