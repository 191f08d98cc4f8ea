"""Quality of a page in [0, 1] and its class, by the two published language-agnostic models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.core.types import Floats
from evenrank.errors import EvenrankError
from evenrank.wikipedia.annotate.facts import read_facts
from evenrank.wikipedia.annotate.stage import WorkStore
from evenrank.wikipedia.annotate.wikitext import PageCounts

HEADING_LEVELS = (2, 3)
"""Headings that the models count."""


class QualityCounts(NamedTuple):
    """What the models count, one value a page in each array (or a number for one page)."""

    n_bytes: Floats
    """Length of the wikitext in UTF-8."""
    n_media: Floats
    """Images, sounds and videos."""
    n_headings: Floats
    """Headings of level 2 and 3."""
    n_references: Floats
    """Uses of `<ref>`."""
    n_short_footnotes: Floats
    """References made by templates such as {{sfn}}, which V2 counts too."""
    n_links: Floats
    """Links to articles."""
    n_categories: Floats
    """Categories."""


def quality_counts(counts: PageCounts) -> tuple[int, ...]:
    """The fields of QualityCounts for one page."""
    return (
        counts.n_bytes,
        counts.n_media,
        counts.headings(*HEADING_LEVELS),
        counts.n_references,
        counts.n_short_footnotes,
        counts.n_links,
        counts.n_categories,
    )


def _per_root_length(values: Floats, counts: QualityCounts) -> Floats:
    """Values over √bytes; 0 for an empty page."""
    return values / np.sqrt(np.maximum(counts.n_bytes, 1))


FEATURES: dict[str, Callable[[QualityCounts], Floats]] = {
    "log_length": lambda counts: np.log10(1 + counts.n_bytes),
    "root_length": lambda counts: np.sqrt(counts.n_bytes),
    "media": lambda counts: counts.n_media,
    "headings": lambda counts: counts.n_headings,
    "references": lambda counts: counts.n_references,
    "categories": lambda counts: counts.n_categories,
    "references_per_root_length": lambda c: _per_root_length(c.n_references + c.n_short_footnotes, c),
    "headings_per_root_length": lambda c: _per_root_length(c.n_headings, c),
    "root_links_per_root_length": lambda c: _per_root_length(np.sqrt(c.n_links), c),
}
"""Features by the name that they have in `quality.toml`."""


@dataclass(frozen=True, slots=True)
class WeightedFeature:
    """One feature of a quality model."""

    name: str
    """Key of `FEATURES`."""
    weight: float
    """Share of the score."""
    floor: float = 0.0
    """Least cap, whatever the wiki's percentile."""
    enwiki_p95: float | None = None
    """Published 95th percentile of English Wikipedia."""
    fixed: float | None = None
    """Cap that does not look at the wiki; None: the wiki's 95th percentile is the cap."""

    def cap(self, percentiles: Mapping[str, float]) -> float:
        """The value from which on the feature counts fully; `percentiles` holds the wiki's own by name."""
        value = self.fixed if self.fixed is not None else max(self.floor, percentiles[self.name])
        return value if value > 0 else 1.0


@dataclass(frozen=True, slots=True)
class QualityModel:
    """A named, versioned quality model."""

    name: str
    """`v1` or `v2`."""
    title: str
    year: int
    """Year of the track that used it."""
    source: str
    """Where it is published."""
    note: str
    """What to know about it."""
    class_bounds: tuple[float, ...]
    """Highest score of each class but the last, in work order."""
    features: tuple[WeightedFeature, ...]

    @property
    def percentile_features(self) -> tuple[str, ...]:
        """Features whose percentile in the wiki matters."""
        return tuple(feature.name for feature in self.features if feature.fixed is None)

    def published_percentiles(self) -> dict[str, float]:
        """Percentiles of English Wikipedia from the table."""
        return {f.name: f.enwiki_p95 for f in self.features if f.enwiki_p95 is not None}

    def with_caps(self, caps: Mapping[str, float | None]) -> QualityModel:
        """The model with other fixed caps; None makes a cap the wiki's percentile."""
        if unknown := set(caps) - {feature.name for feature in self.features}:
            known = ", ".join(feature.name for feature in self.features)
            raise EvenrankError(f"quality model {self.name} has no feature {sorted(unknown)[0]!r}; it has: {known}")
        features = (replace(f, fixed=caps[f.name]) if f.name in caps else f for f in self.features)
        return replace(self, features=tuple(features))


@cache
def quality_models() -> dict[str, QualityModel]:
    """The known models by name."""
    return {name: _model(name, **table) for name, table in read_facts("quality.toml").items()}


def _model(name: str, *, features: list[dict[str, float]], class_bounds: list[float], **facts: object) -> QualityModel:
    weighted = tuple(WeightedFeature(**feature) for feature in features)  # type: ignore[arg-type]
    return QualityModel(name=name, features=weighted, class_bounds=tuple(class_bounds), **facts)  # type: ignore[arg-type]


def quality_scores(model: QualityModel, counts: QualityCounts, percentiles: Mapping[str, float]) -> Floats:
    """Σ weight · min(1, feature / cap) of each page."""
    score = np.zeros(np.shape(counts.n_bytes))
    for feature in model.features:
        score = score + feature.weight * np.minimum(FEATURES[feature.name](counts) / feature.cap(percentiles), 1.0)
    return score


def quality_classes(model: QualityModel, scores: Floats) -> NDArray[np.intp]:
    """Place of each page's class in the work order: Stub 0 … FA 5. A score on a bound is in the lower class."""
    return np.searchsorted(model.class_bounds, scores, side="left")


ACCURACY = 0.001
"""Largest relative error of a quantile."""
SMALLEST, LARGEST = 1e-9, 1e12
"""Positive values are distinguished between these; smaller ones count as 0, larger ones as the largest."""

_LOG_BASE = np.log((1 + ACCURACY) / (1 - ACCURACY))
_OFFSET = int(np.floor(np.log(SMALLEST) / _LOG_BASE))
N_BUCKETS = int(np.ceil(np.log(LARGEST) / _LOG_BASE)) - _OFFSET + 1


class QuantileSketch:
    """Counts of non-negative values by bucket; bucket 0 is for 0."""

    def __init__(self) -> None:
        self.counts: NDArray[np.int64] = np.zeros(N_BUCKETS + 1, np.int64)

    def add(self, values: NDArray[np.floating]) -> None:
        """Count some values."""
        buckets = np.zeros(len(values), np.int64)
        positive = values > SMALLEST
        exponents = np.ceil(np.log(np.minimum(values[positive], LARGEST)) / _LOG_BASE)
        buckets[positive] = exponents.astype(np.int64) - _OFFSET
        self.counts += np.bincount(buckets, minlength=len(self.counts))

    def quantile(self, share: float) -> float:
        """The value of rank ⌈share · n⌉; 0 when there are no values."""
        n_values = int(self.counts.sum())
        if not n_values:
            return 0.0
        rank = max(ceil(share * n_values), 1)
        bucket = int(np.searchsorted(np.cumsum(self.counts), rank))
        if bucket == 0:
            return 0.0
        return float(2 * np.exp((bucket + _OFFSET) * _LOG_BASE) / (np.exp(_LOG_BASE) + 1))


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
