"""Pools: hand counts, budgets, late runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenrank.core.records import Run, Task
from evenrank.errors import EvenrankError
from evenrank.trec.assessment.pool import TRACK_TIERS, Pool, Tier, build_pool, parse_tier, whole_tiers
from evenrank.trec.assessment.pool_file import pool_statistics


def make_run(name: str, task: Task, *rankings: tuple[int, int, list[int]]) -> Run:
    return Run.from_rankings(name, task, iter([(t, r, np.array(p, np.int32)) for t, r, p in rankings]))


TINY = (Tier(1, 3), Tier(2, 2, 2))
ALPHA = make_run("alpha", 1, (101, 1, [1, 2, 3, 4]), (102, 1, [50, 51]))
BETA = make_run("beta", 1, (101, 1, [2, 5, 1, 9]))
GAMMA = make_run("gamma", 2, (101, 1, [1, 7, 8]), (101, 2, [7, 6, 8]), (101, 3, [90, 91, 92]))


def entries(pool: Pool) -> dict[tuple[int, int], tuple[int, tuple[str, ...]]]:
    return {(entry.topic, entry.page): (entry.tier, entry.runs) for entry in pool.pages}


def test_hand_counted_pool() -> None:
    # tier 1 (first 3 of Task 1): 101: {1,2,3} ∪ {2,5,1} = 1,2,3,5; 102: 50,51.
    # tier 2 (first 2 of the first 2 rankings): {1,7} ∪ {7,6}, of which 7 and 6 are new.
    assert entries(build_pool([GAMMA, BETA, ALPHA], TINY)) == {
        (101, 1): (1, ("alpha", "beta", "gamma")),
        (101, 2): (1, ("alpha", "beta")),
        (101, 3): (1, ("alpha",)),
        (101, 5): (1, ("beta",)),
        (101, 6): (2, ("gamma",)),
        (101, 7): (2, ("gamma",)),
        (102, 50): (1, ("alpha",)),
        (102, 51): (1, ("alpha",)),
    }


def test_hand_counted_statistics() -> None:
    counts = pool_statistics(build_pool([ALPHA, BETA, GAMMA], TINY))
    assert counts.n_pages == 8
    assert counts.n_by_topic_and_tier == {101: (4, 2), 102: (2, 0)}
    assert counts.n_by_tier == (6, 2)
    assert [(s.run, s.n_pages, s.n_unique) for s in counts.shares] == [("alpha", 5, 3), ("beta", 3, 1), ("gamma", 3, 2)]
    # alpha {1,2,3,50,51}, beta {1,2,5}, gamma {1,6,7}
    assert np.allclose(counts.overlap, [[1, 2 / 6, 1 / 7], [2 / 6, 1, 1 / 5], [1 / 7, 1 / 5, 1]])
    assert counts.hours(90) == 8 * 90 / 3600
    assert counts.hours(90, overlap_share=0.5, n_judges=3) == 16 * 90 / 3600


def test_the_first_rankings_are_those_of_the_lowest_repeat_numbers() -> None:
    run = make_run("late first", 2, (101, 3, [30]), (101, 1, [10]), (101, 2, [20]))
    assert {entry.page for entry in build_pool([run], [Tier(2, 5, 2)]).pages} == {10, 20}


def test_track_tiers_on_full_rankings() -> None:
    task1 = make_run("a", 1, (101, 1, list(range(1, 1001))))
    task2 = make_run("b", 2, *((101, r, list(range(2000 + 50 * r, 2050 + 50 * r))) for r in range(1, 101)))
    assert pool_statistics(build_pool([task1, task2])).n_by_tier == (20, 5 * 25)


def test_only_wanted_topics_are_pooled() -> None:
    assert {entry.topic for entry in build_pool([ALPHA, BETA], TINY, topics=[102]).pages} == {102}


@pytest.mark.parametrize(
    "budget, expected",
    [
        (1, set()),  # rank 1 of tier 1 holds two pages: 1 and 2
        (2, {1, 2}),
        (3, {1, 2, 5}),  # rank 2 adds 5 alone, because 2 is there
        (4, {1, 2, 5, 3}),
        (5, {1, 2, 5, 3, 7}),  # tier 2 rank 1: pages 1 and 7, one of them new
        (6, {1, 2, 5, 3, 7, 6}),
    ],
)
def test_a_budget_ends_before_the_first_rank_that_does_not_fit(budget: int, expected: set[int]) -> None:
    pool = build_pool([ALPHA, BETA, GAMMA], TINY, budget)
    assert {entry.page for entry in pool.pages if entry.topic == 101} == expected


def test_a_late_run_adds_only_new_pages_and_changes_no_tier() -> None:
    early = build_pool([GAMMA], TINY)
    late = build_pool([ALPHA], TINY, start=early)
    assert entries(late)[101, 1] == (2, ("alpha", "gamma"))
    assert entries(late)[101, 2] == (1, ("alpha",))
    kept = {key: tier for key, (tier, _) in entries(early).items()}
    assert {key: entries(late)[key][0] for key in kept} == kept
    assert [run.name for run in late.runs] == ["alpha", "gamma"]


def test_the_deepest_whole_tier_knows_cuts_and_absent_runs() -> None:
    assert whole_tiers(build_pool([ALPHA, BETA, GAMMA], TINY)) == {101: 2, 102: 1}
    assert whole_tiers(build_pool([ALPHA, BETA, GAMMA], TINY, budget=5)) == {101: 1, 102: 1}
    cut = build_pool([ALPHA, BETA], TINY, budget=3)
    assert whole_tiers(cut) == {101: 0, 102: 1}
    assert whole_tiers(build_pool([GAMMA], TINY, budget=9, start=cut)) == {101: 0, 102: 1}  # alpha is still cut
    assert whole_tiers(build_pool([ALPHA, BETA, GAMMA], TINY, budget=9, start=cut)) == {101: 2, 102: 1}


def test_building_again_changes_nothing() -> None:
    pool = build_pool([ALPHA, BETA, GAMMA], TINY, budget=5)
    assert build_pool([ALPHA, BETA, GAMMA], TINY, budget=5, start=pool) == pool


def test_a_deeper_tier_can_be_added_but_none_changed() -> None:
    pool = build_pool([ALPHA], TINY)
    deeper = build_pool([ALPHA], (*TINY, Tier(1, 4)), start=pool)
    assert entries(deeper)[101, 4] == (3, ("alpha",))
    with pytest.raises(EvenrankError, match="none changed"):
        build_pool([ALPHA], (Tier(1, 4),), start=pool)


def test_one_name_for_two_runs_is_refused() -> None:
    other = make_run("alpha", 1, (101, 1, [8]))
    with pytest.raises(EvenrankError, match="named 'alpha'"):
        build_pool([other], TINY, start=build_pool([ALPHA], TINY))


rankings = st.lists(st.lists(st.integers(1, 12), max_size=6), min_size=1, max_size=3)


@settings(deadline=None)
@given(st.lists(rankings, min_size=1, max_size=4), st.integers(0, 4))
def test_late_runs_end_in_the_same_pages(systems: list[list[list[int]]], n_early: int) -> None:
    runs = [make_run(f"r{i}", 2, *((7, j, pages) for j, pages in enumerate(s, 1))) for i, s in enumerate(systems)]
    tiers = (Tier(2, 2, 1), Tier(2, 4))
    at_once = build_pool(runs, tiers)
    in_two = build_pool(runs[n_early:], tiers, start=build_pool(runs[:n_early], tiers))
    assert {(e.page, e.runs) for e in at_once.pages} == {(e.page, e.runs) for e in in_two.pages}
    assert at_once.runs == in_two.runs


@settings(deadline=None)
@given(st.lists(rankings, min_size=1, max_size=4), st.integers(1, 10))
def test_no_topic_exceeds_its_budget(systems: list[list[list[int]]], budget: int) -> None:
    runs = [make_run(f"r{i}", 2, *((7, j, pages) for j, pages in enumerate(s, 1))) for i, s in enumerate(systems)]
    pool = build_pool(runs, (Tier(2, 3),), budget)
    assert len(pool.pages) <= budget
    assert (7 in pool.cut) == (len(build_pool(runs, (Tier(2, 3),)).pages) > budget)


def test_tiers_are_written_as_they_are_read() -> None:
    assert [parse_tier(str(tier)) for tier in (*TRACK_TIERS, Tier(1, 7))] == [*TRACK_TIERS, Tier(1, 7)]
    with pytest.raises(EvenrankError, match="not a tier: '3:5'"):
        parse_tier("3:5")
