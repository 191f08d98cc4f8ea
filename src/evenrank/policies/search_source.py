"""Candidates from the collection's own index, with probabilities that its training topics support."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from evenrank.collection.collection import Collection
from evenrank.policies.sources import Found
from evenrank.records import Topic
from evenrank.search.calibration import Calibration
from evenrank.search.candidates import CandidateSettings
from evenrank.search.engine import GROUP_FIELDS, Engine
from evenrank.search.indexing import open_index
from evenrank.search.relevance import LexicalModel, SearchSettings, calibrate


@dataclass(frozen=True)
class SearchSource:
    """The untrained search model over the index of a collection; every process opens the index for itself."""

    collection_path: Path
    n_pages: int
    """Pages of the plain search; those that the groups need come on top."""
    dimensions: tuple[str, ...]
    """Dimensions whose groups are searched for."""
    calibration: Calibration | None = None
    """Map from scores to probabilities; None takes probabilities from ranks."""

    def model(self) -> LexicalModel:
        """The model behind this source."""
        candidates = CandidateSettings(self.n_pages, dimensions=self.dimensions)
        return LexicalModel(_opened(self.collection_path), SearchSettings(candidates=candidates), self.calibration)

    def find(self, topic: Topic) -> Found:
        pages = self.model().score(topic, self.n_pages)
        return Found(pages.page_ids, pages.scores, pages.probabilities)

    def describe(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"candidates": "search", "n_pages": self.n_pages, "groups_of": list(self.dimensions)}
        if self.calibration is None:
            return {**facts, "relevance": "by rank"}
        method = self.calibration.settings.method
        return {
            **facts,
            "relevance": f"{method} calibration of scores on the training topics",
            "coefficients": self.calibration.coefficients.tolist(),
        }


def search_source(collection: Collection, n_pages: int, information: tuple[str, ...]) -> SearchSource:
    """The index of a collection as a source, calibrated on its training topics if there are any."""
    dimensions = tuple(name for name in information if name in GROUP_FIELDS)
    plain = SearchSource(collection.path, n_pages, dimensions)
    training = [topic for topic in collection.topics if topic.split == "train"]
    return SearchSource(collection.path, n_pages, dimensions, calibrate(plain.model(), training, n_pages))


@lru_cache(maxsize=1)
def _opened(path: Path) -> Engine:
    """The index, opened once in each process."""
    return open_index(Collection.open(path))
