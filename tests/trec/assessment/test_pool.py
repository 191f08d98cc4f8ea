"""Pools: hand counts, budgets, late runs."""

from __future__ import annotations

from collections import Counter

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
        (1, {1: 2}),  # rank 1 of tier 1 holds two pages, 1 and 2; of half of tier 2 only one
        (2, {1: 1, 2: 1}),
        (3, {1: 1, 2: 1, 5: 1}),
        (4, {1: 1, 2: 1, 5: 1, 3: 1}),
        (5, {1: 1, 2: 1, 5: 1, 3: 1, 6: 3}),  # one page is left over: the rest of tier 2 would be two
        (6, {1: 1, 2: 1, 5: 1, 3: 1, 7: 2, 6: 2}),
    ],
)
def test_a_budget_is_spent_over_all_tiers(budget: int, expected: dict[int, int]) -> None:
    pool = build_pool([ALPHA, BETA, GAMMA], TINY, budget)
    assert {entry.page: entry.tier for entry in pool.pages if entry.topic == 101} == expected


def test_what_the_even_depths_leave_is_spent_beyond_them() -> None:
    wide = [make_run(f"r{n}", 1, (7, 1, [10 * n, 10 * n + 1])) for n in range(4)]
    pool = build_pool(wide, (Tier(1, 2),), budget=6)
    assert pool.shares == {7: (0.5,)}
    assert Tier(1, 2).reduced(0.5) == "1:1"
    assert Tier(2, 5, 25).reduced(0.4) == "2:2x10"
    assert [entry.tier for entry in pool.pages] == [1, 1, 1, 1, 2, 2]
    assert whole_tiers(pool) == {7: 1}
    more = build_pool(wide, (Tier(1, 2),), budget=8, start=pool)
    assert [entry.tier for entry in more.pages] == [1] * 8, "pages beyond move up when the budget reaches them"


@pytest.mark.parametrize(("total", "expected"), [(7, [2, 2, 3]), (11, [2, 4, 5]), (16, [2, 6, 8]), (99, [2, 6, 8])])
def test_a_total_is_spent_over_all_topics(total: int, expected: list[int]) -> None:
    sizes = {101: 2, 102: 6, 103: 8}
    lists = ((topic, 1, np.arange(1, n + 1, dtype=np.int32)) for topic, n in sizes.items())
    run = Run.from_rankings("one", 1, lists)
    pool = build_pool([run], (parse_tier("1:20"),), total=total)
    assert [Counter(entry.topic for entry in pool.pages)[topic] for topic in sizes] == expected
    again = build_pool([run], pool.tiers, start=pool, total=pool.total)
    assert again.pages == pool.pages


def test_a_late_run_that_does_not_fit_leaves_its_tier_incomplete() -> None:
    pool = build_pool([ALPHA, BETA], TINY, budget=4)
    assert whole_tiers(pool) == {101: 1, 102: 1}
    late = build_pool([make_run("late", 1, (101, 1, [60, 61, 62]))], TINY, budget=4, start=pool)
    assert late.cut == {101: 1}
    assert whole_tiers(late)[101] == 0


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
    assert whole_tiers(build_pool([ALPHA, BETA, GAMMA], TINY, budget=5)) == {101: 2, 102: 1}
    cut = build_pool([ALPHA, BETA], TINY, budget=1)
    assert whole_tiers(cut) == {101: 0, 102: 1}
    assert whole_tiers(build_pool([GAMMA], TINY, budget=9, start=cut))[101] == 0  # alpha is still cut
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
    n_all = len(build_pool(runs, (Tier(2, 3),)).pages)
    assert len(pool.pages) == min(budget, n_all)
    assert (7 in pool.shares) == (n_all > budget)


def test_tiers_are_written_as_they_are_read() -> None:
    assert [parse_tier(str(tier)) for tier in (*TRACK_TIERS, Tier(1, 7))] == [*TRACK_TIERS, Tier(1, 7)]
    with pytest.raises(EvenrankError, match="not a tier: '3:5'"):
        parse_tier("3:5")
