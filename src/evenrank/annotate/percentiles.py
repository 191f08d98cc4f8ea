"""95th percentiles of the quality features of a wiki, in one pass over its stored pages."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evenrank.annotate.quality import QualityModel
from evenrank.annotate.quality_features import FEATURES, QualityCounts
from evenrank.annotate.sketch import QuantileSketch
from evenrank.annotate.store import WorkStore

SHARE = 0.95
ROWS = 50_000
"""Pages read at once."""
COUNTS_SQL = f"SELECT {', '.join(QualityCounts._fields)} FROM pages"


def wiki_percentiles(model: QualityModel, store: WorkStore) -> dict[str, float]:
    """The 95th percentile of each feature that the model caps by it."""
    sketches = {name: QuantileSketch() for name in model.percentile_features}
    for counts in _stored_counts(store):
        for name, sketch in sketches.items():
            sketch.add(FEATURES[name](counts))
    return {name: sketch.quantile(SHARE) for name, sketch in sketches.items()}


def _stored_counts(store: WorkStore) -> Iterator[QualityCounts]:
    cursor = store.query(COUNTS_SQL)
    while rows := cursor.fetchmany(ROWS):
        yield QualityCounts(*np.array(rows, np.float64).T)
