"""How far the whole work is: settled pages per topic and tier, pace, and the hours that remain."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median

from evenrank.trec.assessment.settle import Settled, settle_all
from evenrank.trec.assessment.store import Store
from evenrank.trec.assessment.votes import current_votes

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
        """Whether every page is graded or unassessable."""
        return self.n_done == self.n_pages


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


def coverage(store: Store) -> list[TierCoverage]:
    """Every tier of every pooled topic, in order."""
    settled = settle_all(current_votes(store))
    counts: dict[tuple[int, int], Counter[str]] = {}
    for topic, page, tier in store.connection.execute("SELECT topic, page, tier FROM item ORDER BY topic, tier"):
        counts.setdefault((topic, tier), Counter())[_state(settled.get((topic, page)))] += 1
    states = ("relevant", "not relevant", "unassessable", "disputed", "skipped", "untouched")
    return [TierCoverage(topic, tier, *(n[state] for state in states)) for (topic, tier), n in counts.items()]


def _state(settled: Settled | None) -> str:
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
SELECT assessor, count(*) FROM assignment a WHERE NOT EXISTS
  (SELECT 1 FROM current_vote v WHERE v.assessor = a.assessor AND v.topic = a.topic AND v.page = a.page)
GROUP BY assessor
"""
