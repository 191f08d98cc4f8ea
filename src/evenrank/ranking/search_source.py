"""Candidates from the collection's own index, with probabilities that its training topics support."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from evenrank.collection.collection import Collection
from evenrank.progress import track
from evenrank.ranking.sources import CALIBRATION, Found
from evenrank.records import Topic
from evenrank.search.engine.indexing import index_folder, open_index
from evenrank.search.engine.protocol import Engine
from evenrank.search.learn.calibration import Calibration, fit_calibration
from evenrank.search.learn.learned_model import LEARNED_CALIBRATION
from evenrank.search.model_choice import UNTRAINED, ModelChoice
from evenrank.search.query.candidates import CandidateSettings
from evenrank.search.relevance import LexicalModel, RelevanceModel, ScoredPages, SearchSettings, probabilities


@dataclass(frozen=True)
class SearchSource:
    """A relevance model over the index of a collection; every process opens both for itself."""

    collection_path: Path
    n_pages: int
    """Pages of the plain search; those that the groups need come on top."""
    dimensions: tuple[str, ...]
    """Dimensions whose groups are searched for."""
    group_counts: tuple[tuple[str, int], ...] = ()
    """Number of known groups of those dimensions that are the collection's own."""
    calibration: Calibration | None = None
    """Map from scores to probabilities; None takes those of the model, which are by rank if it is untrained."""
    choice: ModelChoice = UNTRAINED
    """The relevance model."""
    remembered: dict[int, ScoredPages] = field(default_factory=dict, compare=False, repr=False)
    """What was found already, by topic; not sent to other processes."""

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "remembered": {}}

    def candidates(self) -> CandidateSettings:
        """How many pages are looked at."""
        return CandidateSettings(self.n_pages, dimensions=self.dimensions, group_counts=self.group_counts)

    def model(self) -> RelevanceModel:
        """The model behind this source."""
        opened = _opened(self.collection_path)
        lexical = LexicalModel(opened.engine, SearchSettings(candidates=self.candidates()))
        return self.choice.open(lexical, opened.folder)

    def find(self, topic: Topic) -> Found:
        pages = self.remembered.get(topic.id) or self.pages(topic)
        is_calibrated = self.calibration is not None
        relevance = probabilities(self.calibration, pages.scores) if is_calibrated else pages.probabilities
        return Found(pages.page_ids, pages.scores, relevance)

    def pages(self, topic: Topic) -> ScoredPages:
        """The pages of the plain search and of each group, without the features behind their scores."""
        return replace(self.model().score(topic, self.n_pages), features={})

    def describe(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"candidates": "search", "n_pages": self.n_pages, "groups_of": list(self.dimensions)}
        facts["model"] = self.choice.describe()
        if self.calibration is None:
            return {**facts, "relevance": "by the model" if self.choice.kind == "learned" else "by rank"}
        method = self.calibration.settings.method
        return {
            **facts,
            "relevance": f"{method} calibration of scores on the training topics",
            "coefficients": self.calibration.coefficients.tolist(),
        }


Source = TypeVar("Source", bound=SearchSource)


def search_source(
    collection: Collection, n_pages: int, information: tuple[str, ...], choice: ModelChoice = UNTRAINED
) -> SearchSource:
    """The index of a collection as a source, calibrated on its training topics if there are any."""
    dimensions = tuple(name for name in information if name in collection.masks)
    source = SearchSource(collection.path, n_pages, dimensions, own_group_counts(collection), choice=choice)
    return calibrated(source, collection.topics)


def own_group_counts(collection: Collection) -> tuple[tuple[str, int], ...]:
    """Name and number of known groups of each dimension that is the collection's own."""
    known = collection.known_dimensions
    return tuple((name, len(known[name].groups) - 1) for name in collection.manifest.own_dimensions)


def calibrated(source: Source, topics: Iterable[Topic]) -> Source:
    """A source whose probabilities the training topics support; it remembers what it found for them.

    A learned model scores a topic that it was trained on by the rankers that did not see it, so its scores are as good
    there as on any other topic, and no better.
    """
    training = [topic for topic in topics if topic.split == "train" and len(topic.rel_docs)]
    for topic in track(training, "training topics", len(training), "topic"):
        source.remembered[topic.id] = source.pages(topic)
    found = [(source.remembered[topic.id], topic) for topic in training]
    samples = [(pages.scores, np.isin(pages.page_ids, topic.rel_docs)) for pages, topic in found if len(pages)]
    settings = LEARNED_CALIBRATION if source.choice.kind == "learned" else CALIBRATION
    return replace(source, calibration=fit_calibration(samples, settings)) if samples else source


class _Index(NamedTuple):
    engine: Engine
    folder: Path


@lru_cache(maxsize=1)
def _opened(path: Path) -> _Index:
    """The index, opened once in each process."""
    collection = Collection.open(path)
    return _Index(open_index(collection), index_folder(collection))


def forget_index() -> None:
    """Open the index anew when it is next used, because another one has taken its place."""
    _opened.cache_clear()
