"""The agreement of assessors as organisers watch it: after a vote, only pairs that changed are estimated anew."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import combinations

from evenrank.assessment.agreement import (
    Agreement,
    Grades,
    PairAgreement,
    disagreements,
    graded_pages,
    overall_agreement,
    pair_agreement,
)
from evenrank.assessment.reliability import Bootstrap
from evenrank.assessment.store import Store
from evenrank.assessment.votes import current_votes

GradePairs = tuple[tuple[tuple[int, int], int], ...]
"""((grade of the first, grade of the second), number of pages), in order."""
BOOTSTRAP = Bootstrap()
MOST_REMEMBERED = 50_000
"""Estimates that are remembered: all pairs of 300 assessors, a few MB for each 10,000."""


def agreement_now(store: Store) -> Agreement:
    """What `assessment.agreement` gives, of one state of the file whatever others write meanwhile."""
    with store.snapshot():
        grades = graded_pages(current_votes(store))
        differing = tuple(disagreements(store))
    n_pages, alpha = overall_agreement(grades, BOOTSTRAP)
    pairs = tuple(estimated(*names, both) for names, both in sorted(shared_grades(grades).items()))
    return Agreement(n_pages, alpha, pairs, differing)


def shared_grades(grades: Grades) -> dict[tuple[str, str], GradePairs]:
    """The grades of every two assessors on the pages that both graded, in one pass over the pages."""
    counts: dict[tuple[str, str], Counter[tuple[int, int]]] = {}
    for page in grades.values():
        for first, second in combinations(sorted(page), 2):
            counts.setdefault((first, second), Counter())[page[first], page[second]] += 1
    return {names: tuple(sorted(both.items())) for names, both in counts.items()}


@lru_cache(MOST_REMEMBERED)
def estimated(first: str, second: str, both: GradePairs) -> PairAgreement:
    """κ of two assessors with its interval; it depends on nothing but these grades, so it is never out of date."""
    pairs = (pair for pair, n_pages in both for _ in range(n_pages))
    grades = {(0, number): {first: one, second: other} for number, (one, other) in enumerate(pairs)}
    return pair_agreement(grades, first, second, BOOTSTRAP)
