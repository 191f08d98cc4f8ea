"""A ranking job: one policy over many topics, on several cores, the same result on any number of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.core.concentration import Concentration
from evenrank.core.exposure import Cascade
from evenrank.core.groups import GroupSpace
from evenrank.core.records import N_RANKINGS, RANKING_LENGTH, Task, Topic, no_pages
from evenrank.core.rng import derive
from evenrank.core.target import EstimatedTarget
from evenrank.parallel import map_batches
from evenrank.policies.policy import Candidates, LearningPolicy, Policy, Request, TrainingTopic, wants_learning
from evenrank.ranking.build import (
    BuildSettings,
    build_candidates,
    field_concentrations,
    learn_target,
    make_candidates,
    target_of,
    within_groups,
)
from evenrank.ranking.sources import CandidateSource, Found, SearchSource, Session
from evenrank.ranking.subject import DividedPages, divide_by_subject
from evenrank.retrieval.find import lexical_part
from evenrank.spark import map_on_spark
from evenrank.trec.collection import Collection
from evenrank.trec.target_choice import group_mass

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOPICS_AT_ONCE = 4
"""Topics sent to a process together; fewer are not worth starting one for."""


Length = Literal["full", "relevant"]
SUM_DECIMALS = 6
"""Of a sum of probabilities; those that were made to sum to twelve are twelve pages."""
LEAST_LENGTH = 10
"""Pages that a ranking has even if fewer are expected to be relevant."""


def relevant_length(candidates: Candidates) -> int:
    """How many pages are expected to be relevant: where a list ends that shows nothing but what it was asked for.

    That is the sum of their probabilities. The `sharpness` of estimated targets has no part in it: it says which pages
    tell the groups of a topic best, and with it lists ended at a third of their relevant pages. A sum is no surer than
    the model behind it, so it is kept inside the interval that a learned model gives.
    """
    expected = float(candidates.relevance.sum())
    if candidates.n_relevant is not None:
        expected = float(np.clip(expected, candidates.n_relevant.low, candidates.n_relevant.high))
    return max(LEAST_LENGTH, int(np.ceil(round(expected, SUM_DECIMALS))))


def full_request(task: Task) -> Request:
    """What the track asks of a task: 1000 pages, or 100 rankings of 50."""
    return Request(task, N_RANKINGS[task], RANKING_LENGTH[task])


@dataclass(frozen=True)
class TopicRankings:
    """The rankings of one topic as page ids."""

    topic_id: int
    page_ids: NDArray[np.int32]
    """Ranking by rank."""
    certificate: dict[str, float]
    n_candidates: int
    concentrations: tuple[Concentration, ...] = ()
    """Dimensions of the target in which nearly all relevant pages of the topic are in one group."""
    n_on_subject: int | None = None
    """Pages found that are about the subject of a query; None where that was not asked."""
    doubtful_keywords: tuple[str, ...] = ()
    """Keywords of a query that count less, because they fit neither its title nor its other keywords."""


class Prepared(NamedTuple):
    """What a policy is given for one topic."""

    candidates: Candidates
    target: EstimatedTarget


@dataclass(frozen=True)
class RankingJob:
    """All that decides the rankings of a topic; it can be sent to another process."""

    session: Session
    source: CandidateSource
    policy: Policy
    request: Request
    settings: BuildSettings = field(default_factory=BuildSettings)
    seed: int = 0
    protocol: str = "paper-2021"
    """Scorer that is served, for the record; what it looks at is in the settings."""
    length: Length = "full"
    """`relevant`: as many pages as are expected to be relevant."""
    extra_topics: tuple[Topic, ...] = ()
    """Topics that the collection does not have."""
    shown: Collection | None = field(default=None, compare=False, repr=False)
    """What the system sees of the pages, where that is not what the collection says of them."""

    def topic(self, topic_id: int) -> Topic:
        """A topic of this job by its id."""
        by_id = {topic.id: topic for topic in self.extra_topics}
        return by_id[topic_id] if topic_id in by_id else self.collection.topic_by_id[topic_id]

    @property
    def collection(self) -> Collection:
        return self.shown or self.session.collection

    @property
    def _space(self) -> GroupSpace:
        return GroupSpace.of(self.settings.information, self.collection.known_dimensions)

    def _found(self, topic: Topic) -> Found:
        """Candidates of a topic; the source is not shown the judgments."""
        question = replace(topic, rel_docs=no_pages(), assessed_docs=None)
        return self.source.find(question)

    def _divided(self, topic_id: int) -> DividedPages | None:
        """What was found for a query, by whether it is about the subject; None for topics of the collection."""
        asked = [topic for topic in self.extra_topics if topic.id == topic_id]
        if not (asked and self.settings.keep_to_subject and isinstance(self.source, SearchSource)):
            return None
        found = within_groups(self.collection, self._found(asked[0]), self.settings)
        return divide_by_subject(self.collection, self.source, asked[0], found)

    def prepare(self, topic_id: int) -> Prepared | None:
        """What the policy is given for a topic; None when the source found nothing."""
        return self._prepare(topic_id, self._divided(topic_id))

    def _prepare(self, topic_id: int, divided: DividedPages | None) -> Prepared | None:
        found = self._found(self.topic(topic_id)) if divided is None else divided.found
        if not len(found):
            return None
        task, needs = self.request.task, self.policy
        return Prepared(
            *build_candidates(
                self.collection,
                topic_id,
                task,
                found,
                self.settings,
                with_text=bool(getattr(needs, "needs_text", False)),
                with_beliefs=bool(getattr(needs, "needs_beliefs", False)),
            )
        )

    def rank_prepared(self, prepared: Prepared) -> TopicRankings:
        """The policy's rankings of what was prepared; all chance comes from the seed and the topic."""
        candidates, target = prepared
        rng = derive(self.seed, candidates.topic_id)
        rankings = self.policy.rank(candidates, target, self.topic_request(candidates), rng)
        page_ids = candidates.page_ids[rankings.positions]
        unfit = self._unfit(candidates, target)
        return TopicRankings(candidates.topic_id, page_ids, rankings.certificate, len(candidates), unfit)

    def topic_request(self, candidates: Candidates) -> Request:
        """What is asked of the policy for one topic: how long rankings are, and how people read them.

        In a cascade that depends on what is relevant; what is expected of the order by relevance is planned for.
        """
        request = self.request
        if self.length == "relevant":
            request = replace(request, length=min(request.length, relevant_length(candidates)))
        if isinstance(request.attention, Cascade):
            first = np.zeros(request.length)
            best = np.sort(candidates.relevance)[::-1][: request.length]
            first[: len(best)] = best
            request = replace(request, attention=request.attention.expected(first))
        return request

    def _unfit(self, candidates: Candidates, target: EstimatedTarget) -> tuple[Concentration, ...]:
        """Dimensions whose target does not fit the topic; none where the user chose it or nothing follows it."""
        choice = self.settings.target
        if choice.is_table or choice.word == "field" or self.policy.name in ("relevance", "mmr"):
            return ()
        return field_concentrations(self.collection, candidates, target.space, self.settings)

    def rank(self, topic_id: int) -> TopicRankings:
        """The rankings of one topic; empty when the source found nothing."""
        divided = self._divided(topic_id)
        prepared = self._prepare(topic_id, divided)
        if prepared is None:
            return TopicRankings(topic_id, np.empty((self.request.n_rankings, 0), np.int32), {}, 0)
        ranked = self.rank_prepared(prepared)
        if divided is None:
            return ranked
        assert isinstance(self.source, SearchSource)
        doubtful = lexical_part(self.source.model()).doubtful_keywords(self.topic(topic_id))
        return replace(self._filled_up(ranked, divided), doubtful_keywords=doubtful)

    def _filled_up(self, ranked: TopicRankings, divided: DividedPages) -> TopicRankings:
        """Rankings of pages on the subject with the other pages below them, as far as the full length asks for them."""
        n_missing = max(0, self.request.length - ranked.page_ids.shape[1]) if self.length == "full" else 0
        below = np.tile(divided.below.page_ids[:n_missing], (len(ranked.page_ids), 1))
        pages = np.concatenate([ranked.page_ids, below], axis=1)
        return replace(ranked, page_ids=pages, n_on_subject=divided.n_on_subject)

    def learned(self) -> RankingJob:
        """This job with all settings filled in that are learned on the training topics; itself if none are."""
        if not (self.settings.is_open or wants_learning(self.policy)):
            return self
        training = [found for found in map(self._training, self.collection.topics) if found is not None]
        policy, settings = self.policy, learn_target(training, self.request.task, self.settings)
        if isinstance(policy, LearningPolicy) and wants_learning(policy):
            policy = policy.fit(training, self.request)
        return replace(self, settings=settings, policy=policy)

    def _training(self, topic: Topic) -> TrainingTopic | None:
        """A training topic with the target that its judgments give; None for other topics, and without candidates."""
        if topic.split != "train" or not len(topic.rel_docs):
            return None
        found = self._found(topic)
        found = found.take(np.flatnonzero(topic.was_judged(found.page_ids)))
        if not len(found):
            return None
        space, certain = self._space, np.ones(len(topic.rel_docs))
        relevant = Found(topic.rel_docs, certain, certain)
        judged = make_candidates(self.collection, topic.id, relevant, space, self.settings.divided)
        wanted = target_of(judged, self.request.task, space, replace(self.settings, sharpness=1.0, odds=()))
        candidates = make_candidates(self.collection, topic.id, found, space, self.settings.divided)
        mass = group_mass(
            self.request.task, certain, judged.quality_class, judged.alignment, self.settings.attention_model
        )
        return TrainingTopic(candidates, wanted, mass, np.isin(candidates.page_ids, topic.rel_docs))


def rank_topics(
    job: RankingJob, topic_ids: Sequence[int], n_workers: int = 1, spark: SparkSession | None = None
) -> Iterator[TopicRankings]:
    """The rankings of each topic, in the order asked for, from as many processes as there are workers, or from the
    executors of a Spark session, which see the collection under the same path."""
    parts = [topic_ids[start : start + TOPICS_AT_ONCE] for start in range(0, len(topic_ids), TOPICS_AT_ONCE)]
    if spark is not None:
        absolute = _with_absolute_path(job)  # executors run in folders of their own
        for results in map_on_spark(spark, _rank_part, ((absolute, part) for part in parts)):
            yield from results
        return
    n_workers = min(n_workers, len(parts))
    if n_workers <= 1:
        yield from map(job.rank, topic_ids)
        return
    for results in map_batches(_rank_part, ((job, part) for part in parts), n_workers):
        yield from results


def _with_absolute_path(job: RankingJob) -> RankingJob:
    """The job with a collection that is found from any folder, by the source of the candidates, too."""
    session = replace(job.session, path=job.session.path.absolute())
    source = replace(job.source, session=session) if isinstance(job.source, SearchSource) else job.source
    return replace(job, session=session, source=source)


def _rank_part(part: tuple[RankingJob, Sequence[int]]) -> list[TopicRankings]:
    job, topic_ids = part
    return [job.rank(topic_id) for topic_id in topic_ids]
