"""Runs are withdrawn and come back, topics are corrected, people leave: nothing is lost, nobody judges in vain."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from threading import Thread

import pytest

from evenrank.core.records import Topic
from evenrank.errors import EvenrankError
from evenrank.trec.assessment import files
from evenrank.trec.assessment.agreement import adjudication_queue, disagreements
from evenrank.trec.assessment.assessors import (
    Overlap,
    add_assessor,
    assign_pages,
    hand_over,
    load_pool,
    withdraw_link,
)
from evenrank.trec.assessment.campaign import known_runs, restore_run, revise_topics, withdraw_run
from evenrank.trec.assessment.coverage import coverage, max_tiers, pace
from evenrank.trec.assessment.files import export_together, import_qrels, import_topics, judged_topics, settled_pages
from evenrank.trec.assessment.log import log_entries
from evenrank.trec.assessment.pool import Pool, PooledPage, PooledRun
from evenrank.trec.assessment.queues import next_after, next_item, queue
from evenrank.trec.assessment.votes import Store, Vote, cast_or_change, create_store, current_votes
from tests.trec.assessment.conftest import POOL

NONE = Overlap(0)


def judge(store: Store, name: str, topic: int, page: int, grade: int = 0) -> None:
    cast_or_change(store, Vote(f"{name}-{topic}-{page}", topic, page, name, "graded", grade))


def test_pages_that_only_a_withdrawn_run_brought_leave_the_queue_and_come_back(store: Store) -> None:
    both = replace(POOL.pages[-1], runs=("one", "two"))
    load_pool(store, replace(POOL, pages=(*POOL.pages[:-1], both)), {})
    assign_pages(store, ["Ada"], NONE)
    judge(store, "Ada", 101, 20, 1)
    assert [(run.name, run.n_pages, run.n_unique) for run in known_runs(store)] == [("one", 13, 12), ("two", 8, 7)]
    assert withdraw_run(store, "two", "the team asked") == 7
    tier2 = [(item.topic, item.page) for item in queue(store, "Ada") if item.page >= 20]
    assert tier2 == [(101, 20), (102, 23)], "what is judged stays, and what another run brought"
    assert settled_pages(store)[101, 20].grade == 1
    assert [row.n_open for row in pace(store)] == [13]
    assert sum(entry.n_untouched for entry in coverage(store)) == 13
    assert assign_pages(store, ["Ada", "Ben"], NONE) == 0
    with pytest.raises(EvenrankError, match="already withdrawn"):
        withdraw_run(store, "two")
    assert restore_run(store, "two") == 7
    assert len(list(queue(store, "Ada"))) == 20
    with pytest.raises(EvenrankError, match=r"no run 'three' brought pages .*known: one, two"):
        withdraw_run(store, "three")


def test_a_withdrawn_run_does_not_keep_a_tier_open(store: Store) -> None:
    assign_pages(store, ["Ada"], NONE)
    for item in list(queue(store, "Ada")):
        if item.page < 20:
            judge(store, "Ada", item.topic, item.page)
    assert max_tiers(store) == {101: 1, 102: 1}
    withdraw_run(store, "two")
    assert next_item(store, "Ada") is None
    late = Pool(runs=(*POOL.runs, PooledRun("late", 1, "x")), pages=(PooledPage(101, 1, 40, ("late", "two")),))
    assert load_pool(store, late, {}) == 1
    assert [row.is_withdrawn for row in known_runs(store)] == [False, False, True]
    assert assign_pages(store, ["Ada"], NONE) == 1


def test_another_run_of_a_known_name_is_refused(store: Store) -> None:
    other = replace(POOL, runs=(PooledRun("one", 1, "changed"), POOL.runs[1]))
    with pytest.raises(EvenrankError, match="another run of the name one"):
        load_pool(store, other, {})


def test_a_pool_of_late_runs_alone_is_refused(store: Store) -> None:
    """It would say that its topics are pooled to tier 1 alone, and take them out of Task 2."""
    late = Pool(runs=(PooledRun("late", 1, "x"),), pages=(PooledPage(101, 1, 40, ("late",)),))
    with pytest.raises(EvenrankError, match=r"lacks runs whose pages are being judged \(one, two\)"):
        load_pool(store, late, {})
    assert load_pool(store, replace(late, pages=(PooledPage(103, 1, 40, ("late",)),)), {}) == 1
    withdraw_run(store, "two")
    without = replace(late, runs=(*late.runs, POOL.runs[0]))
    assert load_pool(store, without, {}) == 1


def test_work_goes_tier_by_tier_over_all_topics(store: Store) -> None:
    assign_pages(store, ["Ada"], NONE)
    order = [(item.topic, item.page) for item in queue(store, "Ada")]
    assert [page < 20 for _, page in order] == [True] * 12 + [False] * 8
    item, seen = next_item(store, "Ada"), []
    while item is not None:
        seen.append((item.topic, item.page))
        judge(store, "Ada", item.topic, item.page)
        item = next_after(store, "Ada", item.topic, item.page)
    assert sorted(seen[:12]) == sorted(order[:12])
    assert sorted(seen[12:]) == sorted(order[12:])
    topics = [topic for topic, _ in seen]
    assert sum(one != other for one, other in pairwise(topics)) == 2, "an assessor stays with a topic while it lasts"


def test_somebody_without_a_link_gets_no_new_pages(store: Store) -> None:
    assign_pages(store, ["Ada"], NONE)
    withdraw_link(store, "Ada")
    late = tuple(PooledPage(101, 1, page, ("one",)) for page in (30, 31))
    load_pool(store, replace(POOL, pages=(*POOL.pages, *late)), {})
    assert assign_pages(store, ["Ben"], NONE) == 2
    assert {item.page for item in queue(store, "Ben")} == {30, 31}


def test_a_hand_over_keeps_second_judgments(store: Store) -> None:
    assign_pages(store, ["Ada", "Ben"], Overlap(1.0, 2))
    add_assessor(store, "Cleo")
    n_before = n_assignments(store)
    judge(store, "Ada", 101, 10)
    cast_or_change(store, Vote("skip", 101, 11, "Ada", "skipped"))
    done = hand_over(store, 101, "Ada", "Ben")
    assert (done.n_pages, done.n_to_others, done.n_kept) == (0, 9, 0)
    assert n_assignments(store) == n_before
    assert {item.page for item in queue(store, "Cleo", 101)} == {entry.page for entry in POOL.pages} - {10}
    assert [item.page for item in queue(store, "Ada", 101)] == [10]
    withdraw_link(store, "Ada")
    assert hand_over(store, 101, "Cleo", "Ben").n_kept == 9
    assert n_assignments(store) == n_before
    assert [entry.details["n_to_others"] for entry in log_entries(store) if entry.action == "hand-over"] == [9, 0]


def test_pages_are_handed_to_nobody_who_cannot_judge(store: Store) -> None:
    assign_pages(store, ["Ada", "Ben"], NONE)
    add_assessor(store, "Olga", "organiser")
    withdraw_link(store, "Ben")
    n_before = n_assignments(store)
    for taker in ("Olga", "Ben", "Nobody"):
        with pytest.raises(EvenrankError, match=f"{taker} is no assessor with a link"):
            hand_over(store, 101, "Ada", taker)
    assert n_assignments(store) == n_before
    assert not [entry for entry in log_entries(store) if entry.action == "hand-over"]


def test_nobody_is_asked_to_settle_what_only_a_withdrawn_run_brought(store: Store) -> None:
    for name, grade in (("Ada", 1), ("Ben", 0)):
        judge(store, name, 101, 10, grade)
        judge(store, name, 101, 20, grade)
    assert [entry.page for entry in adjudication_queue(store)] == [10, 20]
    withdraw_run(store, "two")
    assert [entry.page for entry in adjudication_queue(store)] == [10]
    assert [(entry.page, entry.is_withdrawn) for entry in disagreements(store)] == [(10, False), (20, True)]
    restore_run(store, "two")
    assert [entry.page for entry in adjudication_queue(store)] == [10, 20]


def test_exports_made_together_are_of_one_state_while_people_judge(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(store, "Ada", 101, 10, 1)
    written = files.EXPORTS["qrels"]

    def write_and_judge(opened: Store, path: Path) -> None:
        written(opened, path)  # type: ignore[arg-type]
        other = Thread(target=judge, args=(store, "Ben", 102, 11, 1))
        other.start()
        other.join()

    monkeypatch.setitem(files.EXPORTS, "qrels", write_and_judge)
    paths = {"qrels": tmp_path / "qrels.txt", "topics": tmp_path / "topics.json.gz", "votes": tmp_path / "votes.jsonl"}
    assert export_together(store, paths)
    assert len((tmp_path / "votes.jsonl").read_text().splitlines()) == 1
    found = []
    for form, read in (("qrels", import_qrels), ("topics", import_topics)):
        with create_store(tmp_path / f"{form}.sqlite") as copy:
            read(copy, paths[form], "Ada")
            found.append([(topic.id, topic.rel_docs.tolist(), topic.max_tier) for topic in judged_topics(copy)])
    assert found[0] == found[1] == [(101, [10], 0), (102, [], 0)]
    assert [entry.action for entry in log_entries(store)][-3:] == ["export"] * 3
    assert len(list(current_votes(store))) == 2


def n_assignments(store: Store) -> int:
    return int(store.connection.execute("SELECT count(*) FROM assignment").fetchone()[0])


def test_votes_carry_the_version_of_the_topic(store: Store) -> None:
    mountains = Topic(101, "Mountains", ("peak",), "All mountains")
    assert revise_topics(store, [mountains, Topic(999, "Elsewhere")]) == []
    judge(store, "Ada", 101, 10)
    assert revise_topics(store, [mountains]) == []
    assert revise_topics(store, [replace(mountains, scope="Mountains above 1000 m")], "Ada") == [101]
    judge(store, "Ada", 101, 11)
    judge(store, "Ada", 102, 10)
    assert {(vote.topic, vote.page): vote.topic_version for vote in current_votes(store)} == {
        (101, 10): 1,
        (101, 11): 2,
        (102, 10): 1,
    }
    [entry] = [entry for entry in log_entries(store) if entry.action == "revise-topics"]
    assert entry.details == {"versions": {"101": 2}}
