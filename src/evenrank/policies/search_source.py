"""Candidates from the collection's own index, with probabilities that its training topics support."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from evenrank.collection.collection import Collection
from evenrank.policies.sources import CALIBRATION, Found
from evenrank.progress import track
from evenrank.records import Topic
from evenrank.search.calibration import Calibration, fit_calibration
from evenrank.search.candidates import CandidateSettings
from evenrank.search.engine import GROUP_FIELDS, Engine, Hits
from evenrank.search.indexing import open_index
from evenrank.search.relevance import LexicalModel, SearchSettings, probabilities


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
    remembered: dict[int, Hits] = field(default_factory=dict, compare=False, repr=False)
    """What was found already, by topic; not sent to other processes."""

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "remembered": {}}

    def model(self) -> LexicalModel:
        """The model behind this source."""
        candidates = CandidateSettings(self.n_pages, dimensions=self.dimensions)
        return LexicalModel(_opened(self.collection_path), SearchSettings(candidates=candidates), self.calibration)

    def find(self, topic: Topic) -> Found:
        hits = self.remembered.get(topic.id) or self.hits(topic)
        return Found(hits.page_ids, hits.scores, probabilities(self.calibration, hits.scores))

    def hits(self, topic: Topic) -> Hits:
        """The pages of the plain search and of each group."""
        pages = self.model().score(topic, self.n_pages)
        return Hits(pages.page_ids, pages.scores)

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
    training = [topic for topic in collection.topics if topic.split == "train" and len(topic.rel_docs)]
    for topic in track(training, "training topics", len(training), "topic"):
        plain.remembered[topic.id] = plain.hits(topic)
    samples = [
        (plain.remembered[topic.id].scores, np.isin(plain.remembered[topic.id].page_ids, topic.rel_docs))
        for topic in training
        if len(plain.remembered[topic.id].scores)
    ]
    return replace(plain, calibration=fit_calibration(samples, CALIBRATION) if samples else None)


@lru_cache(maxsize=1)
def _opened(path: Path) -> Engine:
    """The index, opened once in each process."""
    return open_index(Collection.open(path))
