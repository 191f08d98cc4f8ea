"""The collection in a few numbers, for the landing page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenrank.collection.collection import Collection
from evenrank.collection.describe import quality_counts
from evenrank.web.articles.article import REGIONS, UNASSESSED


@dataclass(frozen=True)
class Numbers:
    """How much there is, and how much of it is unknown."""

    n_articles: int
    unknown_region: float
    """Share of articles without a region."""
    needs_work: float
    """Share of articles that are stubs or starts."""
    regions: tuple[tuple[str, int], ...]
    classes: tuple[tuple[str, int], ...]


def count_collection(collection: Collection) -> Numbers:
    """The numbers of a collection; an article about two regions counts in both."""
    masks = np.asarray(collection.masks["geography"])
    regions = [(name, int(np.count_nonzero(masks >> place & 1))) for place, name in enumerate(REGIONS)]
    classes = quality_counts(collection)
    n_articles = max(1, len(collection))
    return Numbers(
        n_articles=len(collection),
        unknown_region=regions[0][1] / n_articles,
        needs_work=(classes["Stub"] + classes["Start"]) / n_articles,
        regions=tuple(regions),
        classes=tuple((UNASSESSED if name == "none" else name, count) for name, count in classes.items()),
    )
