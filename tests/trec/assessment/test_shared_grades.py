"""Agreement while votes come in: pairs are found in one pass, and estimated anew only where votes changed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenrank.core.rng import derive
from evenrank.trec.assessment.agreement import graded_pages, measure_agreement, pair_agreement, shared_grades
from evenrank.trec.assessment.assessors import add_assessor
from evenrank.trec.assessment.votes import Store, Vote, cast_votes, create_store, current_votes

NAMES = ("Ada", "Ben", "Cem", "Dot", "Eve")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Five assessors who have graded most of 40 pages, Eve none of those of Ada."""
    rng = derive(3, "agreeing")
    with create_store(tmp_path / "judgments.sqlite") as opened:
        for name in NAMES:
            add_assessor(opened, name)
        cells = [(name, page) for name in NAMES for page in range(40) if (page < 20) == (name != "Eve")]
        cast_votes(opened, [vote(name, page, int(rng.integers(2))) for name, page in cells if rng.random() < 0.8])
        yield opened


def vote(name: str, page: int, grade: int, number: int = 0) -> Vote:
    return Vote(f"{name}-{page}-{number}", 1, page, name, "graded", grade)


def test_pairs_are_those_of_a_scan_of_all_pages(store: Store) -> None:
    cast_votes(store, [Vote("x", 1, 3, "Ada", "unassessable"), Vote("s", 1, 4, "Ben", "skipped")])
    found, pages = measure_agreement(store), graded_pages(current_votes(store)).values()
    assert len(found.pairs) == 6
    assert found.disagreements
    for pair in found.pairs:
        both = [(page[pair.first], page[pair.second]) for page in pages if {pair.first, pair.second} <= set(page)]
        assert pair.n_pages == len(both)
        assert pair.observed == pytest.approx(sum(one == other for one, other in both) / len(both))


def test_a_vote_costs_one_estimate_for_each_pair_that_it_changes(store: Store) -> None:
    before = measure_agreement(store)
    n_made = pair_agreement.cache_info().misses
    assert measure_agreement(store) == before
    assert pair_agreement.cache_info().misses == n_made
    cast_votes(store, [vote(name, 77, 1) for name in ("Ada", "Ben")])
    after = measure_agreement(store)
    assert pair_agreement.cache_info().misses == n_made + 1
    assert [pair.n_pages for pair in after.pairs] == [
        before.pairs[0].n_pages + 1,
        *(p.n_pages for p in before.pairs[1:]),
    ]


def test_shared_grades_by_hand() -> None:
    grades = {
        (1, 1): {"Ben": 1, "Ada": 0},
        (1, 2): {"Ada": 0, "Ben": 1},
        (2, 1): {"Ada": 1},
        (2, 2): {"Ben": 0, "Cem": 0},
    }
    assert shared_grades(grades) == {("Ada", "Ben"): (((0, 1), 2),), ("Ben", "Cem"): (((0, 0), 1),)}


def test_what_is_shown_is_one_state_of_the_votes(tmp_path: Path) -> None:
    """Both votes on a page are stored together and differ, so there are always as many disagreements as pages."""
    with create_store(tmp_path / "judgments.sqlite") as store:
        for name in ("Ada", "Ben"):
            add_assessor(store, name)
        is_over = threading.Event()

        def write() -> None:
            for page in range(300):
                cast_votes(store, [vote("Ada", page, 1), vote("Ben", page, 0)])
            is_over.set()

        writer = threading.Thread(target=write)
        writer.start()
        seen = []
        while not is_over.is_set():
            found = measure_agreement(store)
            seen.append((found.n_pages, len(found.disagreements)))
        writer.join()
        assert [n_pages for n_pages, _ in seen] == [n_differing for _, n_differing in seen]
        assert measure_agreement(store).n_pages == 300
