"""Jobs on the golden collection: what a policy sees, what it must not see, and the same result on any cores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evenrank.core.groups import GroupSpace
from evenrank.core.records import NO_CLASS, Topic
from evenrank.errors import EvenrankError
from evenrank.io.runs import read_run
from evenrank.policies.exposure_disparity import ExposureDisparity
from evenrank.policies.policy import Request
from evenrank.policies.sequences import PlackettLuce
from evenrank.ranking.build import BuildSettings, build_candidates
from evenrank.ranking.job import RankingJob, full_request, rank_topics, relevant_length
from evenrank.ranking.sources import NOTHING, Found, RunSource, Session
from evenrank.retrieval.learn.relevant_count import RelevantCount
from evenrank.trec.collection import Collection
from evenrank.trec.dimensions import DIMENSIONS

TOPICS = [101, 102, 103, 105, 107]


@pytest.fixture
def job(golden_collection: Collection, golden_runs: list[Path]) -> RankingJob:
    source = RunSource(read_run(golden_runs[0]))
    return RankingJob(Session(golden_collection.path), source, PlackettLuce(), Request(2, 6, 10), seed=5)


def test_pages_get_their_groups_work_and_class(golden_collection: Collection) -> None:
    known = golden_collection.page_ids[:50].copy()
    page_ids = np.append(known, np.int32(2_000_000_000))  # the last one has no metadata
    found = Found(page_ids, np.arange(51.0)[::-1], np.full(51, 0.5))
    candidates, target = build_candidates(golden_collection, 101, 2, found, BuildSettings())
    assert candidates.alignment.dense().shape == (51, 32)
    assert candidates.alignment.dense()[-1].tolist() == [1.0] + [0.0] * 31
    assert candidates.quality_class[-1] == NO_CLASS
    quality = golden_collection.quality_score[:50]
    scored = np.isfinite(quality)
    np.testing.assert_allclose(candidates.work_needed[:50][scored], 1.0 - quality[scored], rtol=1e-6)
    assert candidates.work_needed[-1] == pytest.approx(candidates.work_needed[:50][scored].mean())
    assert target.values.sum() == pytest.approx(1.0)


def test_information_decides_which_groups_a_policy_sees(golden_collection: Collection) -> None:
    found = Found(golden_collection.page_ids[:30].copy(), np.ones(30), np.full(30, 0.5))
    settings = BuildSettings(information=("geography",))
    candidates, target = build_candidates(golden_collection, 101, 1, found, settings)
    assert candidates.alignment.n_groups == 8
    assert target.space.names[0] == "Unknown"
    assert target.values[0] == 0.0
    kept = build_candidates(golden_collection, 101, 1, found, replace(settings, keep_unknown=True))[1]
    assert kept.values[0] > 0.0


def test_the_uncertain_number_of_relevant_pages_reaches_policies(golden_collection: Collection) -> None:
    count = RelevantCount(median=20.0, low=18.0, high=22.0)
    found = Found(golden_collection.page_ids[:50].copy(), np.arange(50.0)[::-1], np.full(50, 0.9), count)
    candidates, _ = build_candidates(golden_collection, 101, 1, found.take(np.arange(40)), BuildSettings())
    assert candidates.n_relevant == count
    assert relevant_length(candidates) == 22  # 36 expected, but no more than 22 in 9 of 10 cases
    assert relevant_length(replace(candidates, n_relevant=None)) == 36


def test_lists_end_after_as_many_pages_as_are_expected_to_be_relevant(job: RankingJob) -> None:
    """The sharpness of the target is not for lengths: cubed, probabilities of 0.5 made this list end at 20 pages."""
    pages = job.collection.page_ids[:160].copy()

    class EvenOdds:
        def find(self, topic: Topic) -> Found:
            return Found(pages, np.ones(160), np.full(160, 0.5))

        def describe(self) -> dict[str, str]:
            return {}

    sharp = BuildSettings(sharpness=3.0, group_odds="none")
    ending = replace(job, source=EvenOdds(), request=full_request(1), settings=sharp, length="relevant")
    assert ending.rank(101).page_ids.shape == (1, 80)


def test_same_bytes_on_one_and_on_two_cores(job: RankingJob) -> None:
    alone = list(rank_topics(job, TOPICS, 1))
    shared = list(rank_topics(job, TOPICS, 2))
    assert [topic.topic_id for topic in shared] == TOPICS
    for one, other in zip(alone, shared, strict=True):
        assert one.page_ids.shape == (6, 10)
        assert np.array_equal(one.page_ids, other.page_ids)


def test_a_topic_does_not_depend_on_its_neighbours_but_on_the_seed(job: RankingJob) -> None:
    together = list(rank_topics(job, TOPICS))[2]
    assert np.array_equal(together.page_ids, job.rank(103).page_ids)
    assert not np.array_equal(together.page_ids, replace(job, seed=6).rank(103).page_ids)


class Curious:
    """A source that remembers what it was shown."""

    def __init__(self) -> None:
        self.shown: list[Topic] = []

    def find(self, topic: Topic) -> Found:
        self.shown.append(topic)
        return NOTHING

    def describe(self) -> dict[str, str]:
        return {}


def test_judgments_are_not_shown_to_the_source(job: RankingJob) -> None:
    curious = Curious()
    result = replace(job, source=curious).rank(101)
    assert len(job.collection.topic_by_id[101].rel_docs)
    assert len(curious.shown[0].rel_docs) == 0
    assert curious.shown[0].assessed_docs is None
    assert result.page_ids.shape == (6, 0)


def test_learned_settings_come_from_training_topics(job: RankingJob) -> None:
    training = [topic for topic in job.collection.topics if topic.split == "train" and len(topic.rel_docs)]
    pages = {topic.id: topic.rel_docs[:200] for topic in training}

    class Perfect:
        def find(self, topic: Topic) -> Found:
            found = pages.get(topic.id, np.empty(0, np.int32))
            return Found(found, np.ones(len(found)), np.ones(len(found)))

        def describe(self) -> dict[str, str]:
            return {}

    learner = replace(job, source=Perfect(), policy=ExposureDisparity(learned=True), request=full_request(1))
    learned = learner.learned().policy
    assert isinstance(learned, ExposureDisparity)
    # the candidates are what is relevant, so the target's own blend of one half is what should be found
    assert learned.background == pytest.approx(0.5, abs=0.15)
    assert learned.background != 0.5
    nothing_to_learn = replace(
        learner, policy=ExposureDisparity(background=0.1), settings=BuildSettings(sharpness=1.0, group_odds="none")
    )
    assert nothing_to_learn.learned() is nothing_to_learn


def test_sharpness_is_learned_where_small_probabilities_say_too_much(job: RankingJob) -> None:
    training = {topic.id: topic.rel_docs[:200] for topic in job.collection.topics if topic.split == "train"}
    others = job.collection.page_ids[::7]

    class TooSure:
        """Relevant pages have probability 1; a thousand others have 0.3, though none of them is relevant."""

        def find(self, topic: Topic) -> Found:
            if topic.id not in training:
                return NOTHING
            wrong = np.setdiff1d(others, training[topic.id])
            relevance = np.repeat([1.0, 0.3], [len(training[topic.id]), len(wrong)])
            return Found(np.concatenate([training[topic.id], wrong]), relevance, relevance)

        def describe(self) -> dict[str, str]:
            return {}

    assert replace(job, source=TooSure()).learned().settings.sharpness > 2.0
    assert job.learned().settings.sharpness == 1.0  # this run has no training topic


def test_what_is_learned_of_groups_changes_the_target_and_no_page(job: RankingJob) -> None:
    n_groups = GroupSpace.of(job.settings.information, DIMENSIONS).n_groups
    plain = replace(job, settings=BuildSettings(sharpness=1.0, group_odds="none")).prepare(101)
    odds = tuple(np.linspace(0.2, 3.0, n_groups).tolist())
    corrected = replace(job, settings=BuildSettings(sharpness=2.0, odds=odds)).prepare(101)
    assert plain is not None
    assert corrected is not None
    np.testing.assert_array_equal(plain.candidates.relevance, corrected.candidates.relevance)
    assert not np.allclose(plain.target.values, corrected.target.values)


def test_dimension_that_the_pages_do_not_have(golden_collection: Collection) -> None:
    found = Found(golden_collection.page_ids[:3].copy(), np.ones(3), np.ones(3))
    bare = replace(golden_collection, masks={"gender": golden_collection.masks["gender"]})
    with pytest.raises(EvenrankError, match="pages have no geography"):
        build_candidates(bare, 101, 1, found, BuildSettings())
