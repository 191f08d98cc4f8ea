"""The collection in a few numbers, for the landing page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evenrank.app.articles.article import UNASSESSED
from evenrank.app.articles.groups import shown_dimensions
from evenrank.trec.collection import Collection
from evenrank.trec.describe import pages_by_quality

Counts = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Numbers:
    """How much there is, and how much of it is unknown."""

    n_articles: int
    needs_work: float
    """Share of articles that are stubs or starts."""
    groups: Mapping[str, Counts]
    """Dimension → articles of each group; the first one is for articles of which nothing is known."""
    classes: Counts

    @property
    def unknown_region(self) -> float:
        """Share of articles without a region; 1 in a collection without regions."""
        regions = self.groups.get("geography")
        return regions[0][1] / max(1, self.n_articles) if regions else 1.0


def count_collection(collection: Collection) -> Numbers:
    """The numbers of a collection; an article of two groups counts in both."""
    groups = {}
    for dimension in shown_dimensions(collection):
        masks = np.asarray(collection.masks[dimension.name])
        names = enumerate(dimension.readable_groups)
        groups[dimension.name] = tuple((name, int(np.count_nonzero(masks >> place & 1))) for place, name in names)
    classes = pages_by_quality(collection)
    return Numbers(
        n_articles=len(collection),
        needs_work=(classes["Stub"] + classes["Start"]) / max(1, len(collection)),
        groups=groups,
        classes=tuple((UNASSESSED if name == "none" else name, count) for name, count in classes.items()),
    )
