"""How well assessors agree on the pages that several of them judged, and where they do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from evenrank.core.rng import derive
from evenrank.trec.assessment.agreement_coefficients import (
    Bootstrap,
    Estimate,
    alpha_estimate,
    count_values,
    kappa_estimate,
)
from evenrank.trec.assessment.settle import settle_votes
from evenrank.trec.assessment.store import Store
from evenrank.trec.assessment.votes import ADJUDICATION, Vote, current_votes


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two assessors on the pages that both graded."""

    first: str
    second: str
    n_pages: int
    observed: float
    """Share of pages with the same grade."""
    kappa: Estimate


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A page on which votes differ."""

    topic: int
    page: int
    votes: tuple[Vote, ...]
    """The votes that count, adjudications last."""
    is_settled: bool
    """Whether a majority or an adjudication decides it."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement over all pages that at least two assessors graded."""

    n_pages: int
    alpha: Estimate
    pairs: tuple[PairAgreement, ...]
    disagreements: tuple[Disagreement, ...]


Grades = dict[tuple[int, int], dict[str, int]]
"""(topic, page) → assessor → grade."""
GradePairs = tuple[tuple[tuple[int, int], int], ...]
"""((grade of the first, grade of the second), number of pages), in order."""
MOST_REMEMBERED = 50_000
"""Estimates that are remembered: all pairs of 300 assessors, a few MB for each 10,000."""


def measure_agreement(store: Store, bootstrap: Bootstrap | None = None) -> Agreement:
    """κ of every pair, α of all, and the list of disagreements, of one state of the file whatever others write.

    Only grades are compared: a page that somebody skipped or could not judge is a missing value for that person.
    """
    setting = bootstrap or Bootstrap()
    with store.snapshot():
        grades = graded_pages(current_votes(store))
        differing = tuple(disagreements(store))
    n_pages, alpha = overall_agreement(grades, setting)
    shared = sorted(shared_grades(grades).items())
    pairs = tuple(pair_agreement(first, second, both, setting) for (first, second), both in shared)
    return Agreement(n_pages, alpha, pairs, differing)


def overall_agreement(grades: Grades, bootstrap: Bootstrap) -> tuple[int, Estimate]:
    """Number of pages that at least two assessors graded, and α on them."""
    ratings = [list(page.values()) for page in grades.values()]
    alpha = alpha_estimate(count_values(ratings), derive(bootstrap.seed, "alpha"), bootstrap)
    return sum(len(page) >= 2 for page in ratings), alpha


def graded_pages(votes: Iterable[Vote]) -> Grades:
    """The grades that assessors gave on their own, adjudications left out."""
    grades: Grades = {}
    for vote in votes:
        if vote.grade is not None and vote.method != ADJUDICATION:
            grades.setdefault((vote.topic, vote.page), {})[vote.assessor] = vote.grade
    return grades


def shared_grades(grades: Grades) -> dict[tuple[str, str], GradePairs]:
    """The grades of every two assessors on the pages that both graded, in one pass over the pages."""
    counts: dict[tuple[str, str], Counter[tuple[int, int]]] = {}
    for page in grades.values():
        for first, second in combinations(sorted(page), 2):
            counts.setdefault((first, second), Counter())[page[first], page[second]] += 1
    return {names: tuple(sorted(both.items())) for names, both in counts.items()}


@lru_cache(MOST_REMEMBERED)
def pair_agreement(first: str, second: str, both: GradePairs, bootstrap: Bootstrap) -> PairAgreement:
    """κ of two assessors; it depends on nothing but these grades, so what is remembered is never out of date."""
    values = sorted({grade for pair, _ in both for grade in pair})
    table = np.zeros((len(values), len(values)), np.int64)
    for (one, other), n_pages in both:
        table[values.index(one), values.index(other)] = n_pages
    kappa = kappa_estimate(table, derive(bootstrap.seed, "kappa", first, second), bootstrap)
    return PairAgreement(first, second, int(table.sum()), float(np.trace(table) / table.sum()), kappa)


def disagreements(store: Store) -> list[Disagreement]:
    """Pages with differing votes, by topic and page."""
    pages: dict[tuple[int, int], list[Vote]] = {}
    for vote in current_votes(store):
        pages.setdefault((vote.topic, vote.page), []).append(vote)
    return [
        Disagreement(topic, page, _adjudications_last(votes), settle_votes(votes).status != "disputed")
        for (topic, page), votes in pages.items()
        if len({(vote.outcome, vote.grade) for vote in votes if _is_own(vote)}) > 1
    ]


def _is_own(vote: Vote) -> bool:
    """Whether an assessor decided on the page alone."""
    return vote.method != ADJUDICATION and vote.outcome != "skipped"


def _adjudications_last(votes: Sequence[Vote]) -> tuple[Vote, ...]:
    return tuple(sorted(votes, key=lambda vote: vote.method == ADJUDICATION))


def adjudication_queue(store: Store) -> list[Disagreement]:
    """Disagreements that nothing decides yet."""
    return [entry for entry in disagreements(store) if not entry.is_settled]
