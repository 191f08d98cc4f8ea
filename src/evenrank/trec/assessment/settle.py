"""The settled value of a page, derived from the votes that count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from evenrank.trec.assessment.votes import ADJUDICATION, Vote

Status = Literal["graded", "unassessable", "disputed", "skipped"]


@dataclass(frozen=True, slots=True)
class Settled:
    """What the votes on a page come to; only a graded page has a grade."""

    status: Status
    grade: int | None = None
    is_adjudicated: bool = False


def settle_votes(votes: Iterable[Vote]) -> Settled:
    """The value of one page from its current votes.

    The last adjudication wins. Without one, each grade and "unassessable" are candidates and the one with most
    votes wins; a tie is disputed until somebody adjudicates. Skips never count: a page that everybody skipped
    is skipped.
    """
    votes = list(votes)
    ruled = [vote for vote in votes if vote.method == ADJUDICATION and vote.outcome != "skipped"]
    if ruled:
        return _of(ruled[-1].outcome == "graded", ruled[-1].grade, is_adjudicated=True)
    counts = Counter((vote.outcome == "graded", vote.grade) for vote in votes if vote.outcome != "skipped")
    if not counts:
        return Settled("skipped")
    (first, n_first), *rest = counts.most_common()
    if rest and rest[0][1] == n_first:
        return Settled("disputed")
    return _of(*first)


def _of(is_graded: bool, grade: int | None, is_adjudicated: bool = False) -> Settled:
    return Settled("graded" if is_graded else "unassessable", grade, is_adjudicated)


def settle_all(votes: Iterable[Vote]) -> dict[tuple[int, int], Settled]:
    """(topic, page) → settled value, from current votes sorted by topic and page."""
    pages = groupby(votes, key=lambda vote: (vote.topic, vote.page))
    return {key: settle_votes(group) for key, group in pages}
