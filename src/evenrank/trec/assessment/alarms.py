"""Alarms about assessors: answers that came too fast, a pace that has changed, grades that differ from the others', and
wrong answers on gold pages.

An alarm is a reason to look, never a verdict: nothing is withdrawn because of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

import numpy as np

from evenrank.trec.assessment.agreement import GradePairs, cohens_kappa, graded_pages, shared_grades
from evenrank.trec.assessment.coverage import SESSION_GAP
from evenrank.trec.assessment.gold import GoldScore, gold_scores
from evenrank.trec.assessment.votes import ADJUDICATION, Store, Vote, current_votes, first_votes

MIN_SECONDS = 1.0
"""Nobody reads an article in less time."""
LAST_ANSWERS = 20
"""The pace of so many last answers is compared with the pace before."""
PACE_RATIO = 3.0
"""A pace that is so many times faster or slower than before is an alarm."""
MIN_SHARED = 10
"""Pages that an assessor must share with others before their grades are compared."""
LOW_KAPPA = 0.4
"""Below it, agreement is no more than fair (J. R. Landis, G. G. Koch, Biometrics 33, 1977)."""
MIN_GOLD = 5
"""Gold pages that an assessor must have answered before wrong answers are an alarm."""
LOW_GOLD = 0.7
"""An alarm below this share of right answers on gold pages."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """One reason to look at the work of an assessor."""

    assessor: str
    kind: Literal["speed", "drift", "disagreement", "gold"]
    n: int
    """Answers under `MIN_SECONDS`; answers compared; pages shared with others; gold pages answered."""
    value: float
    """Seconds of the fastest answer; median seconds of the last answers; κ with the others; share of right answers."""
    expected: float
    """`MIN_SECONDS`; median seconds before; `LOW_KAPPA`; `LOW_GOLD`."""


def alarms(store: Store) -> list[Alarm]:
    """The alarms of all assessors, by name."""
    votes = [vote for vote in current_votes(store) if vote.method not in (ADJUDICATION, "import")]
    by_name: dict[str, list[Vote]] = {}
    for vote in sorted(votes, key=lambda vote: vote.time):
        by_name.setdefault(vote.assessor, []).append(vote)
    shared = shared_grades(graded_pages(first_votes(store)))
    gold = {score.assessor: score for score in gold_scores(store)}
    names = sorted(by_name.keys() | gold.keys() | {name for pair in shared for name in pair})
    return [
        alarm
        for name in names
        for alarm in (
            *pace_alarms(name, by_name.get(name, ())),
            *disagreement_alarm(name, shared),
            *gold_alarm(gold.get(name)),
        )
    ]


def gold_alarm(score: GoldScore | None) -> Iterator[Alarm]:
    """An alarm when too few answers on gold pages were right."""
    if score is not None and score.n_pages >= MIN_GOLD and score.share < LOW_GOLD:
        yield Alarm(score.assessor, "gold", score.n_pages, score.share, LOW_GOLD)


def is_fast(vote: Vote) -> bool:
    """Whether an answer came faster than anybody can read; skips need no reading."""
    return vote.seconds is not None and vote.seconds < MIN_SECONDS and vote.outcome != "skipped"


def pace_alarms(name: str, votes: Sequence[Vote]) -> Iterator[Alarm]:
    """Alarms for answers without reading, and for a pace that has changed; `votes` in the order of time."""
    fast = [vote.seconds for vote in votes if vote.seconds is not None and is_fast(vote)]
    if fast:
        yield Alarm(name, "speed", len(fast), min(fast), MIN_SECONDS)
    seconds = [vote.seconds for vote in votes if vote.seconds is not None and vote.seconds <= SESSION_GAP]
    if len(seconds) < 2 * LAST_ANSWERS:
        return
    before, last = median(seconds[:-LAST_ANSWERS]), median(seconds[-LAST_ANSWERS:])
    if max(before, last) > PACE_RATIO * min(before, last):
        yield Alarm(name, "drift", LAST_ANSWERS, last, before)


def disagreement_alarm(name: str, shared: dict[tuple[str, str], GradePairs]) -> Iterator[Alarm]:
    """An alarm when the first grades of an assessor agree with those of all others together little beyond chance."""
    counts: Counter[tuple[int, int]] = Counter()
    for (first, second), pairs in shared.items():
        for (one, other), n_pages in pairs:
            if name == first:
                counts[one, other] += n_pages
            elif name == second:
                counts[other, one] += n_pages
    n_shared = counts.total()
    if n_shared < MIN_SHARED:
        return
    grades = sorted({grade for pair in counts for grade in pair})
    table = np.array([[counts[one, other] for other in grades] for one in grades])
    kappa = float(cohens_kappa(table))
    if kappa < LOW_KAPPA:
        yield Alarm(name, "disagreement", n_shared, kappa, LOW_KAPPA)
