"""Assignments, queues, progress, coverage, pace."""

from __future__ import annotations

from collections import Counter

import pytest

from evenrank.errors import EvenrankError
from evenrank.trec.assessment.assessors import (
    Overlap,
    add_assessor,
    assessor_of,
    assessors,
    assign_pages,
    divide_topics,
    hand_over,
    load_pool,
    plan_assignments,
    withdraw_link,
)
from evenrank.trec.assessment.coverage import coverage, max_tiers, pace
from evenrank.trec.assessment.pool import Pool, PooledPage
from evenrank.trec.assessment.queues import (
    QueueItem,
    assessor_progress,
    next_item,
    queue,
)
from evenrank.trec.assessment.votes import Store, Vote, cast_vote

NONE = Overlap(share=0.0)
ALL = Overlap(share=1.0)


def judge(store: Store, assessor: str, item: QueueItem, outcome: str = "graded", grade: int | None = 1) -> None:
    token = f"{assessor}-{item.topic}-{item.page}-{outcome}-{grade}"
    cast_vote(store, Vote(token, item.topic, item.page, assessor, outcome, grade, seconds=10.0))  # type: ignore[arg-type]


def test_topics_go_to_who_has_least() -> None:
    assert divide_topics({1: 5, 2: 9, 3: 4, 4: 1}, ["b", "a"], {}) == {2: "a", 1: "b", 3: "b", 4: "a"}
    assert divide_topics({1: 5, 2: 9, 3: 4}, ["a", "b"], {1: "a", 2: "a"})[3] == "b"
    with pytest.raises(EvenrankError, match="no assessors"):
        divide_topics({1: 5}, [], {})


def test_each_page_has_one_primary_assessor(store: Store) -> None:
    assert assign_pages(store, ["Ada", "Ben"], NONE) == 20
    assert {item.topic for item in queue(store, "Ada")} == {101}
    assert {item.topic for item in queue(store, "Ben")} == {102}
    assert assign_pages(store, ["Ada", "Ben"], NONE) == 0, "assigning again changes nothing"


def test_the_overlap_sample_goes_to_two(store: Store) -> None:
    assert assign_pages(store, ["Ada", "Ben"], ALL) == 40
    assert len(list(queue(store, "Ada"))) == 20


def test_the_sample_is_about_its_share_and_late_pages_do_not_move_it() -> None:
    pages = [(101, page) for page in range(2000)]
    plan = list(plan_assignments(pages, {101: "a"}, ["a", "b", "c"], Overlap(share=0.2), seed=3))
    extra = Counter(entry.assessor for entry in plan if entry.reason == "overlap")
    assert extra.keys() == {"b", "c"}
    assert 340 < extra.total() < 460  # 400 ± 3.3 standard deviations
    assert abs(extra["b"] - extra["c"]) < 70
    early = list(plan_assignments(pages[:900], {101: "a"}, ["a", "b", "c"], Overlap(share=0.2), seed=3))
    assert plan[: len(early)] == early


def test_queues_are_shuffled_for_each_assessor_inside_tiers(store: Store) -> None:
    assign_pages(store, ["Ada", "Ben"], ALL)
    ada = [item.page for item in queue(store, "Ada", 101)]
    ben = [item.page for item in queue(store, "Ben", 101)]
    assert set(ada[:6]) == set(ben[:6]) == set(range(10, 16))
    assert ada != ben
    assert ada[:6] != sorted(ada[:6])


def test_next_item_moves_on_and_skipped_ones_come_back(store: Store) -> None:
    assign_pages(store, ["Ada", "Ben"], NONE)
    order = [item.page for item in queue(store, "Ada")]
    first = next_item(store, "Ada")
    assert first == QueueItem(101, order[0], None, None)
    judge(store, "Ada", first, "skipped", None)
    second = next_item(store, "Ada")
    assert second is not None
    assert second.page == order[1]
    assert QueueItem(101, order[0], "skipped", None) in queue(store, "Ada")
    while (item := next_item(store, "Ada")) is not None:
        judge(store, "Ada", item)
    [progress] = assessor_progress(store, "Ada")
    assert (progress.title, progress.n_pages, progress.n_judged, progress.n_skipped) == ("Mountains", 10, 9, 1)
    [untouched] = assessor_progress(store, "Ben")
    assert (untouched.topic, untouched.n_judged, untouched.n_skipped) == (102, 0, 0)


def test_late_pages_join_without_moving_others(store: Store) -> None:
    assign_pages(store, ["Ada", "Ben"], NONE)
    before = [item.page for item in queue(store, "Ada", 101)]
    late = Pool(pages=tuple(PooledPage(101, 1, page, ()) for page in (*range(10, 16), 30, 31)))
    assert load_pool(store, late, {101: "Mountains"}) == 2
    assert assign_pages(store, ["Ada", "Ben"], NONE) == 2
    after = [item.page for item in queue(store, "Ada", 101)]
    assert [page for page in after if page not in (30, 31)] == before


def test_open_pages_can_be_handed_over(store: Store) -> None:
    assign_pages(store, ["Ada", "Ben"], NONE)
    item = next_item(store, "Ada")
    assert item is not None
    judge(store, "Ada", item)
    assert hand_over(store, 101, "Ada", "Ben").n_pages == 9
    assert [entry.page for entry in queue(store, "Ada")] == [item.page]
    assert len(list(queue(store, "Ben", 101))) == 9


def test_coverage_and_the_deepest_complete_tier(store: Store) -> None:
    assign_pages(store, ["Ada", "Ben"], NONE)
    assert max_tiers(store) == {101: 0, 102: 0}
    for item in list(queue(store, "Ada", 101)):
        outcome = {10: "skipped", 11: "unassessable"}.get(item.page, "graded")
        if item.page != 23:
            judge(store, "Ada", item, outcome, item.page % 2 if outcome == "graded" else None)
    [tier1, tier2, *_] = coverage(store)
    assert (tier1.n_relevant, tier1.n_not_relevant, tier1.n_unassessable, tier1.n_skipped) == (2, 2, 1, 1)
    assert (tier2.n_pages, tier2.n_done, tier2.n_untouched) == (4, 3, 1)
    assert max_tiers(store)[101] == 1, "one skipped page does not drop the topic"
    judge(store, "Ada", QueueItem(101, 10, None, None), "graded", 0)
    assert max_tiers(store)[101] == 1
    judge(store, "Ada", QueueItem(101, 23, None, None))
    assert max_tiers(store)[101] == 2


def test_pace(store: Store) -> None:
    assign_pages(store, ["Ada", "Ben"], NONE)
    for item in list(queue(store, "Ada"))[:4]:
        judge(store, "Ada", item)
    ada, ben = pace(store)
    assert (ada.assessor, ada.n_votes, ada.n_open, ada.median_seconds) == ("Ada", 4, 6, 10.0)
    assert ada.hours_left == 60 / 3600
    assert (ben.n_open, ben.hours_left) == (10, None)


def test_secret_links(store: Store) -> None:
    secret = add_assessor(store, "Cleo", "organiser")
    found = assessor_of(store, secret)
    assert found is not None
    assert (found.name, found.role) == ("Cleo", "organiser")
    assert assessor_of(store, secret + "x") is None
    rows = store.connection.execute("SELECT * FROM assessor WHERE name = 'Cleo'").fetchall()
    assert secret not in repr([tuple(row) for row in rows])
    renewed = add_assessor(store, "Cleo")
    assert assessor_of(store, secret) is None
    assert assessor_of(store, renewed) is not None
    withdraw_link(store, "Cleo")
    assert assessor_of(store, renewed) is None
    assert [entry.name for entry in assessors(store)] == ["Ada", "Ben", "Cleo"]
    for name in ("", " ", "a\nb", "x" * 81):
        with pytest.raises(EvenrankError, match="not a name"):
            add_assessor(store, name)
