"""Candidates for people who wait: a search for each region and each gender, but not for each pair of them."""

from __future__ import annotations

from dataclasses import dataclass

from evenrank.collection.collection import Collection
from evenrank.policies.relevance import Relevance
from evenrank.ranking.build import BuildSettings
from evenrank.ranking.job import RankingJob, full_request
from evenrank.ranking.search_source import SearchSource, calibrated, own_group_counts
from evenrank.records import Task
from evenrank.search.model_choice import UNTRAINED, ModelChoice
from evenrank.search.query.candidates import CandidateSettings


@dataclass(frozen=True)
class DeskSource(SearchSource):
    """The search behind the desk. Lists score as with a search for each pair, and take a third less time."""

    n_per_group: int = 200
    """Pages wanted of each region and each gender."""

    def candidates(self) -> CandidateSettings:
        """How many pages are looked at."""
        return CandidateSettings(
            self.n_pages, self.n_per_group, self.dimensions, self.group_counts, has_intersections=False
        )


def desk_source(collection: Collection, n_pages: int, choice: ModelChoice = UNTRAINED) -> DeskSource:
    """The index of a collection as a source, calibrated on its training topics if there are any."""
    source = DeskSource(collection.path, n_pages, tuple(collection.masks), own_group_counts(collection), choice=choice)
    return calibrated(source, collection.topics)


def learned_goals(collection: Collection, source: DeskSource, n_pages: int) -> dict[Task, BuildSettings]:
    """How to estimate the goal of each task, from the training topics; what they found is forgotten afterwards."""
    information = collection.default_groups(BuildSettings().information)
    settings = BuildSettings(information, n_candidates=n_pages, scored=information)
    tasks: tuple[Task, ...] = (1, 2)
    jobs = {task: RankingJob(collection.path, source, Relevance(), full_request(task), settings) for task in tasks}
    goals = {task: job.learned().settings for task, job in jobs.items()}
    source.remembered.clear()
    return goals
