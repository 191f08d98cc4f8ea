"""Candidates for people who wait: a search for each region and each gender, but not for each pair of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from evenrank.collection.collection import Collection
from evenrank.policies.build import BuildSettings
from evenrank.policies.job import RankingJob, full_request
from evenrank.policies.relevance import Relevance
from evenrank.policies.search_source import SearchSource
from evenrank.policies.sources import CALIBRATION
from evenrank.records import Task, Topic
from evenrank.search.calibration import fit_calibration
from evenrank.search.candidates import CandidateSettings
from evenrank.search.engine import GROUP_FIELDS, Hits
from evenrank.search.relevance import LexicalModel


@dataclass(frozen=True)
class DeskSource(SearchSource):
    """The search behind the desk. Lists score as with a search for each pair, and take a third less time."""

    n_per_group: int = 200
    """Pages wanted of each region and each gender."""

    def model(self) -> LexicalModel:
        """The model behind this source."""
        model = super().model()
        groups = CandidateSettings(self.n_pages, self.n_per_group, self.dimensions, has_intersections=False)
        return replace(model, settings=replace(model.settings, candidates=groups))


def desk_source(collection: Collection, n_pages: int) -> DeskSource:
    """The index of a collection as a source, calibrated on its training topics if there are any."""
    source = DeskSource(collection.path, n_pages, tuple(GROUP_FIELDS))
    training = [topic for topic in collection.topics if topic.split == "train" and len(topic.rel_docs)]
    for topic in training:
        source.remembered[topic.id] = source.hits(topic)
    samples = [(hits.scores, np.isin(hits.page_ids, topic.rel_docs)) for topic, hits in _found(source, training)]
    return replace(source, calibration=fit_calibration(samples, CALIBRATION)) if samples else source


def _found(source: DeskSource, training: list[Topic]) -> Iterator[tuple[Topic, Hits]]:
    """Training topics for which something was found, with it."""
    for topic in training:
        hits = source.remembered[topic.id]
        if len(hits.scores):
            yield topic, hits


def learned_goals(collection: Collection, source: DeskSource, n_pages: int) -> dict[Task, BuildSettings]:
    """How to estimate the goal of each task, from the training topics; what they found is forgotten afterwards."""
    settings = BuildSettings(n_candidates=n_pages)
    tasks: tuple[Task, ...] = (1, 2)
    jobs = {task: RankingJob(collection.path, source, Relevance(), full_request(task), settings) for task in tasks}
    goals = {task: job.learned().settings for task, job in jobs.items()}
    source.remembered.clear()
    return goals
