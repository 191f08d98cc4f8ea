"""Incomplete judgments: judged@k, judged pages only, leaving one run out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenrank.core.records import Run, Task, Topic
from evenrank.trec.assessment.leave_one_out import leave_one_out, unique_pages, without_pages
from evenrank.trec.assessment.pool import Tier, build_pool
from evenrank.trec.judged_pages import is_judged, judged_at, judged_only, judged_pages


def make_run(name: str, task: Task, *rankings: tuple[int, int, list[int]]) -> Run:
    return Run.from_rankings(name, task, iter([(t, r, np.array(p, np.int32)) for t, r, p in rankings]))


def ids(*pages: int) -> np.ndarray:
    return np.array(pages, np.int32)


JUDGED = {101: ids(1, 2, 3), 102: ids(1)}
RUN = make_run("r", 2, (101, 1, [1, 9, 2, 8]), (101, 2, [7, 3]), (102, 1, [2, 1]), (103, 1, [1, 2]), (102, 2, []))


def test_judged_only_by_hand() -> None:
    kept = [(topic, repeat, pages.tolist()) for topic, repeat, pages in judged_only(RUN, JUDGED).rankings()]
    assert kept == [(101, 1, [1, 2]), (101, 2, [3]), (102, 1, [1]), (103, 1, []), (102, 2, [])]


def test_judged_at_by_hand() -> None:
    assert judged_at(RUN, JUDGED, 1) == {101: (1 + 0) / 2, 102: 0.0}
    assert judged_at(RUN, JUDGED, 3) == {101: pytest.approx((2 / 3 + 1 / 2) / 2), 102: (1 / 2 + 0) / 2}


def test_scores_stay_beside_their_pages() -> None:
    run = Run("r", 1, ids(101), ids(1), np.array([0, 3]), ids(1, 9, 2), np.array([3.0, 2.0, 1.0]))
    kept = judged_only(run, JUDGED)
    assert kept.scores is not None
    assert kept.scores.tolist() == [3.0, 1.0]


def test_nothing_judged() -> None:
    assert not is_judged(RUN, {}).any()
    assert judged_at(RUN, {}, 5) == {}
    assert judged_pages([Topic(1, "a"), Topic(2, "b", assessed_docs=ids(5))]).keys() == {2}


pages = st.lists(st.integers(0, 30), unique=True, max_size=10)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), pages), max_size=5), st.dictionaries(st.integers(1, 3), pages))
def test_judged_only_is_filtering_each_ranking(
    rankings: list[tuple[int, list[int]]], known: dict[int, list[int]]
) -> None:
    run = make_run("r", 2, *((topic, n, ranking) for n, (topic, ranking) in enumerate(rankings)))
    judged = {topic: ids(*found) for topic, found in known.items()}
    kept = [ranking.tolist() for _, _, ranking in judged_only(run, judged).rankings()]
    assert kept == [[page for page in ranking if page in known.get(topic, [])] for topic, ranking in rankings]


ONE = make_run("one", 1, (101, 1, [1, 2, 3]))
TWO = make_run("two", 1, (101, 1, [1, 4, 9]))
THREE = make_run("three", 1, (101, 1, [5, 6, 4]))
RUNS = [ONE, TWO, THREE]
POOL = build_pool(RUNS, (Tier(1, 2),))
TOPIC = Topic(101, "t", split="eval", rel_docs=ids(1, 4, 5), assessed_docs=ids(1, 2, 4, 5, 6))


def n_relevant(run: Run, topics: Sequence[Topic]) -> dict[int, float]:
    """Relevant pages among the first three, for topics that have any."""
    return {
        topic.id: float(np.isin(pages[:3], topic.rel_docs).sum())
        for topic in topics
        for wanted, _, pages in run.rankings()
        if topic.id == wanted and len(topic.rel_docs)
    }


def test_unique_pages_of_a_run_and_of_a_team() -> None:
    assert unique_pages(POOL, {"two"}) == {101: {4}}
    assert unique_pages(POOL, {"one", "two"}) == {101: {1, 2, 4}}
    without = without_pages(TOPIC, {4, 6})
    assert (without.rel_docs.tolist(), without.assessed_docs.tolist()) == ([1, 5], [1, 2, 5])  # type: ignore[union-attr]


def test_leave_one_out_by_hand() -> None:
    # one finds 1; two finds 1 and 4; three finds 5 and 4. Unique pool pages: one {2}, two {4}, three {5, 6}.
    rows = {row.run: row for row in leave_one_out(RUNS, POOL, [TOPIC], n_relevant)}
    assert list(rows) == ["three", "two", "one"]
    assert {name: (r.score, r.score_without) for name, r in rows.items()} == {
        "one": (1, 1),
        "two": (2, 1),
        "three": (2, 1),
    }
    assert (rows["two"].n_unique, rows["two"].n_unique_relevant, rows["two"].change) == (1, 1, -1)
    assert (rows["three"].n_unique, rows["three"].n_unique_relevant) == (2, 1)
    assert (rows["two"].rank, rows["two"].rank_without, rows["one"].rank, rows["one"].rank_without) == (1, 2, 3, 3)


def test_leaving_out_a_team() -> None:
    rows = leave_one_out(RUNS, POOL, [TOPIC], n_relevant, {"one": "A", "two": "A"})
    assert {row.run: row.score_without for row in rows} == {"one": 0, "two": 0, "three": 1}


def test_a_topic_that_loses_all_its_relevant_pages_counts_neither_way() -> None:
    run = make_run("solo", 1, (101, 1, [1]), (102, 1, [8]))
    topics = [TOPIC, Topic(102, "u", rel_docs=ids(8), assessed_docs=ids(8))]
    pool = build_pool([run, ONE], (Tier(1, 2),))
    row = next(row for row in leave_one_out([run, ONE], pool, topics, n_relevant) if row.run == "solo")
    assert (row.n_topics, row.n_unique, row.score, row.score_without) == (1, 1, 1.0, 1.0)


def test_lower_may_be_better() -> None:
    rows = leave_one_out(RUNS, POOL, [TOPIC], n_relevant, higher_is_better=False)
    assert {row.run: row.rank for row in rows} == {"one": 1, "two": 2, "three": 2}
