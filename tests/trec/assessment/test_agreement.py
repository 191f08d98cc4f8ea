"""Agreement of assessors in a judgments file, disagreements, adjudication."""

from __future__ import annotations

import math

import pytest

from evenrank.trec.assessment.agreement import Bootstrap, adjudication_queue, disagreements, measure_agreement
from evenrank.trec.assessment.coverage import settle_votes
from evenrank.trec.assessment.votes import Store, Vote, cast_votes, votes_on

QUICK = Bootstrap(n_resamples=500)


def graded(assessor: str, grades: dict[int, int | None]) -> list[Vote]:
    """Votes on topic 101; None is a skip."""
    return [
        Vote(f"{assessor}{page}", 101, page, assessor, "skipped" if grade is None else "graded", grade)
        for page, grade in grades.items()
    ]


def test_kappa_and_alpha_by_hand(store: Store) -> None:
    # both graded five pages: 1/1 twice, 0/0 twice, 1/0 once; a sixth was skipped by Ben
    cast_votes(store, graded("Ada", {10: 1, 11: 1, 12: 0, 13: 0, 14: 1, 15: 1}))
    cast_votes(store, graded("Ben", {10: 1, 11: 1, 12: 0, 13: 0, 14: 0, 15: None}))
    report = measure_agreement(store, QUICK)
    [pair] = report.pairs
    assert (pair.first, pair.second, pair.n_pages, pair.observed) == ("Ada", "Ben", 5, 0.8)
    assert pair.kappa.value == pytest.approx((0.8 - 0.48) / 0.52)
    assert pair.kappa.low < pair.kappa.value < pair.kappa.high
    # ten values, five of each grade, one differing pair counted in both directions: 1 − 9 · 2 / (100 − 50)
    assert report.n_pages == 5
    assert report.alpha.value == pytest.approx(1 - 9 * 2 / 50)
    assert [entry.page for entry in report.disagreements] == [14]
    assert measure_agreement(store, QUICK) == report, "the same seed gives the same intervals"


def test_nobody_overlaps(store: Store) -> None:
    cast_votes(store, graded("Ada", {10: 1}) + graded("Ben", {11: 1}))
    report = measure_agreement(store, QUICK)
    assert report.n_pages == 0
    assert report.pairs == ()
    assert math.isnan(report.alpha.value)


def test_an_empty_file_has_no_agreement(store: Store) -> None:
    assert math.isnan(measure_agreement(store, QUICK).alpha.value)


def test_adjudication_settles_and_does_not_count_as_agreement(store: Store) -> None:
    cast_votes(store, graded("Ada", {10: 1, 11: 0}) + graded("Ben", {10: 0, 11: 0}))
    before = measure_agreement(store, QUICK)
    [dispute] = adjudication_queue(store)
    assert (dispute.topic, dispute.page, dispute.is_settled) == (101, 10, False)
    ruling = Vote("r", 101, 10, "Ada", "graded", 0, method="adjudication")
    assert cast_votes(store, [ruling, ruling]) == 1
    assert settle_votes(votes_on(store, 101, 10)).grade == 0
    assert adjudication_queue(store) == []
    [entry] = disagreements(store)
    assert [vote.method for vote in entry.votes] == ["web", "web", "adjudication"]
    assert measure_agreement(store, QUICK).alpha == before.alpha
