"""Quality of a page in [0, 1] and its class, by the two published language-agnostic models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from evenrank.annotate.facts import read_toml
from evenrank.annotate.quality_features import FEATURES, Floats, QualityCounts
from evenrank.errors import EvenrankError
from evenrank.records import WORK_ORDER


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
    return {name: _model(name, **table) for name, table in read_toml("quality.toml").items()}


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


def class_name(index: int) -> str:
    """Name of a class by its place in the work order."""
    return WORK_ORDER[index]
