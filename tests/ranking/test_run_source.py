"""Candidates from a run: scores, ranks and exposure, and what training topics teach about them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenrank.core.records import Run, Topic
from evenrank.ranking.sources import NOTHING, Found, RunSource, Supplemented, append, calibrate_run, pages_of_topic


def run_of(rankings: list[tuple[int, int, list[int]]], scores: list[float] | None = None, task: int = 1) -> Run:
    made = Run.from_rankings("made-up", task, ((t, r, np.array(pages, np.int32)) for t, r, pages in rankings))
    return made if scores is None else Run(**{**_fields(made), "scores": np.array(scores)})


def _fields(run: Run) -> dict:
    return {name: getattr(run, name) for name in Run.__dataclass_fields__}


def test_scores_of_the_file_order_the_pages_and_repetitions_go() -> None:
    run = run_of([(5, 1, [30, 10, 20, 10])], [1.0, 3.0, 2.0, 0.5])
    pages, scores = pages_of_topic(run, 5)
    assert pages.tolist() == [10, 20, 30]
    assert scores.tolist() == [3.0, 2.0, 1.0]


def test_without_scores_exposure_orders_the_pages_of_all_rankings() -> None:
    run = run_of([(5, 1, [10, 20, 30]), (5, 2, [20, 30, 10]), (6, 1, [99])], task=2)
    pages, scores = pages_of_topic(run, 5)
    third = 1 / np.log2(3)
    # ranks 1 and 2 weigh the same: 20 has 1 + 1, 10 and 30 have 1 + third each; 10 stands first in the file
    assert pages.tolist() == [20, 10, 30]
    assert scores.tolist() == pytest.approx([1.0, (1 + third) / 2, (1 + third) / 2])


def test_a_topic_that_the_run_does_not_answer() -> None:
    assert len(RunSource(run_of([(5, 1, [10])])).find(Topic(6, "other"))) == 0


def test_training_topics_calibrate_and_evaluation_topics_do_not() -> None:
    rng = np.random.default_rng(4)
    rankings, scores, topics = [], [], []
    for topic in (1, 2, 3):
        values = np.sort(rng.gamma(2.0, 3.0, 400))[::-1]
        relevant = rng.random(400) < 1 / (1 + np.exp(6 - values))
        pages = np.arange(400) + 1000 * topic
        rankings.append((topic, 1, pages.tolist()))
        scores.extend(values.tolist())
        topics.append(Topic(topic, "made up", split="train", rel_docs=pages[relevant].astype(np.int32)))
    run = run_of(rankings, scores)
    learned = calibrate_run(run, topics)
    assert learned.calibration is not None
    found = learned.find(Topic(1, "made up"))
    assert found.relevance[:20].mean() > 0.6 > 0.1 > found.relevance[-100:].mean()
    assert "calibration" in learned.describe()["relevance"]

    as_eval = [Topic(t.id, t.title, split="eval", rel_docs=t.rel_docs) for t in topics]
    assert calibrate_run(run, as_eval).calibration is None
    assert calibrate_run(run, as_eval).describe()["relevance"] == "by rank"


def test_a_topic_has_as_many_relevant_pages_as_match_strongly() -> None:
    """Training topics have about 60 relevant pages each; one with 6 strong matches is not given 60, whatever its
    ranks."""
    rng = np.random.default_rng(7)
    rankings, scores, topics = [], [], []
    for topic, n_relevant in enumerate([*rng.integers(50, 70, 12).tolist(), 6], 1):
        levels = np.where(np.arange(300) < n_relevant, 5.0, 0.5)
        values = np.sort(np.append(10.0, np.abs(levels[1:] + rng.normal(0.0, 0.3, 299))))[::-1]
        pages = np.arange(300) + 1000 * topic
        rankings.append((topic, 1, pages.tolist()))
        scores.extend(values.tolist())
        topics.append(Topic(topic, "made up", split="train", rel_docs=pages[:n_relevant].astype(np.int32)))
    source = calibrate_run(run_of(rankings, scores), topics[:12])
    usual, small = source.find(Topic(1, "made up")), source.find(Topic(13, "made up"))
    assert usual.relevance.sum() == pytest.approx(len(topics[0].rel_docs), rel=0.25)
    assert small.relevance.sum() == pytest.approx(6.0, rel=0.6)
    assert small.relevance[:3].mean() > 0.5  # the first pages of a small topic are as likely as those of a large one
    assert small.n_relevant is not None
    assert small.relevance.sum() == pytest.approx(small.n_relevant.median, rel=1e-6)
    assert source.describe()["n_relevant"]["from"] == "strong matches"
    incomplete = [replace(topic, assessed_docs=topic.rel_docs) for topic in topics[:12]]
    assert calibrate_run(run_of(rankings, scores), incomplete).count is None


class Fixed:
    """A source that finds the same for every topic."""

    def __init__(self, found: Found) -> None:
        self.found = found

    def find(self, topic: Topic) -> Found:
        return self.found

    def describe(self) -> dict[str, str]:
        return {"candidates": "fixed"}


def test_short_lists_are_filled_up_below_what_is_there() -> None:
    short = Found(np.array([1, 2], np.int32), np.array([7.0, 6.0]), np.array([0.5, 0.4]))
    more = Found(np.array([2, 3, 4], np.int32), np.array([9.0, 8.0, 7.0]), np.array([0.9, 0.8, 0.1]))
    filled = Supplemented(Fixed(short), Fixed(more), 3).find(Topic(1, "x"))
    assert filled.page_ids.tolist() == [1, 2, 3, 4]
    assert filled.scores.tolist() == [7.0, 6.0, 5.0, 4.0]
    assert filled.relevance.tolist() == [0.5, 0.4, 0.4, 0.1]
    assert Supplemented(Fixed(short), Fixed(more), 2).find(Topic(1, "x")) is short
    assert append(NOTHING, more) is more
