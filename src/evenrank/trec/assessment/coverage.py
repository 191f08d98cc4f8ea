"""How complete the judgments are: the settled value of each page, settled pages per topic and tier, pace, and the
hours that remain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Literal

from evenrank.trec.assessment.votes import ADJUDICATION, Store, Vote, current_votes

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


SESSION_GAP = 600.0
"""A page that was open for longer than this many seconds was left alone; it does not count for the pace."""


@dataclass(frozen=True, slots=True)
class TierCoverage:
    """The pages of one tier of one topic, by what is known about them."""

    topic: int
    tier: int
    n_relevant: int
    n_not_relevant: int
    n_unassessable: int
    n_disputed: int
    n_skipped: int
    n_untouched: int

    @property
    def n_pages(self) -> int:
        return self.n_done + self.n_disputed + self.n_skipped + self.n_untouched

    @property
    def n_done(self) -> int:
        return self.n_relevant + self.n_not_relevant + self.n_unassessable

    @property
    def is_complete(self) -> bool:
        """Whether no page is open or disputed. A skipped page is undecided, as an unassessable one is, and does not
        hold the tier back, unless more pages are skipped than decided."""
        return self.n_untouched == self.n_disputed == 0 and self.n_skipped <= self.n_done


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast one assessor works."""

    assessor: str
    n_votes: int
    """Current votes, skips included."""
    n_open: int
    """Assigned pages without a vote."""
    median_seconds: float | None
    """Of the votes that carry their time."""

    @property
    def hours_left(self) -> float | None:
        """Projected hours for the open pages."""
        return None if self.median_seconds is None else self.n_open * self.median_seconds / 3600


DECIDED = ("relevant", "not relevant", "unassessable")


def coverage(store: Store) -> list[TierCoverage]:
    """Every tier of every pooled topic, in order; pages of withdrawn runs count where they are decided."""
    settled = settle_all(current_votes(store))
    counts: dict[tuple[int, int], Counter[str]] = {}
    items = "SELECT topic, page, tier, is_withdrawn FROM item ORDER BY topic, tier"
    for topic, page, tier, is_withdrawn in store.connection.execute(items):
        state = page_state(settled.get((topic, page)))
        counts.setdefault((topic, tier), Counter())[state] += not is_withdrawn or state in DECIDED
    states = (*DECIDED, "disputed", "skipped", "untouched")
    return [TierCoverage(topic, tier, *(n[state] for state in states)) for (topic, tier), n in counts.items()]


def page_state(settled: Settled | None) -> str:
    """What is known about a page, in the words of the counts of a tier."""
    if settled is None:
        return "untouched"
    if settled.grade is None:
        return settled.status
    return "relevant" if settled.grade > 0 else "not relevant"


def max_tiers(store: Store) -> dict[int, int]:
    """Topic → deepest tier that is complete with all before it; 0 when not even the first is.

    Topics without pooled pages keep what was imported.
    """
    known = "SELECT id, coalesce(pooled_tier, max_tier) FROM topic WHERE coalesce(pooled_tier, max_tier) IS NOT NULL"
    deepest: dict[int, int] = dict(store.connection.execute(known).fetchall())
    for entry in coverage(store):
        if not entry.is_complete:
            deepest[entry.topic] = min(deepest[entry.topic], entry.tier - 1)
    return deepest


def pace(store: Store) -> list[Pace]:
    """The pace of every assessor who has pages or votes, by name."""
    seconds: dict[str, list[float]] = {}
    n_votes: Counter[str] = Counter()
    for vote in current_votes(store):
        n_votes[vote.assessor] += 1
        if vote.seconds is not None and vote.seconds <= SESSION_GAP:
            seconds.setdefault(vote.assessor, []).append(vote.seconds)
    n_open = dict(store.connection.execute(OPEN_PAGES).fetchall())
    return [
        Pace(name, n_votes[name], n_open.get(name, 0), median(seconds[name]) if name in seconds else None)
        for name in sorted(n_votes.keys() | n_open.keys())
    ]


OPEN_PAGES = """
SELECT a.assessor, count(*) FROM assignment a JOIN item i ON i.topic = a.topic AND i.page = a.page
WHERE i.is_withdrawn = 0 AND i.is_set_aside = 0 AND NOT EXISTS
  (SELECT 1 FROM current_vote v WHERE v.assessor = a.assessor AND v.topic = a.topic AND v.page = a.page)
GROUP BY a.assessor
"""
