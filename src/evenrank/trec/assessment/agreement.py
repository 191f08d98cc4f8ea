"""How well assessors agree: Cohen's κ for two, Krippendorff's α for any number with gaps, and where they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from evenrank.core.rng import derive
from evenrank.core.types import Floats
from evenrank.trec.assessment.coverage import settle_votes
from evenrank.trec.assessment.votes import ADJUDICATION, Store, Vote, current_votes, first_votes


def cohens_kappa(table: NDArray[np.generic]) -> Floats:
    """κ = (p_o − p_e) / (1 − p_e) of contingency tables in the last two axes; NaN where p_e is 1.

    `table[i, j]` counts the items that one assessor gave value i and the other value j
    (J. Cohen, A coefficient of agreement for nominal scales, 1960).
    """
    shares = np.asarray(table, np.float64)
    shares = shares / shares.sum(axis=(-2, -1), keepdims=True)
    observed = np.trace(shares, axis1=-2, axis2=-1)
    expected = (shares.sum(axis=-1) * shares.sum(axis=-2)).sum(axis=-1)
    return _above_chance(1 - observed, 1 - expected)


def krippendorffs_alpha(value_counts: NDArray[np.generic], times: NDArray[np.generic] | None = None) -> Floats:
    """α = 1 − D_o / D_e for nominal values; NaN where only one value occurs.

    `value_counts[u, c]` says how many assessors gave item u the value c; items with fewer than two values do
    not count. `times[…, u]` repeats item u. (K. Krippendorff, Computing Krippendorff's alpha-reliability, 2011.)
    """
    counts = np.asarray(value_counts, np.float64)
    per_item = counts.sum(axis=1)
    paired = per_item >= 2
    weights = (np.ones(len(counts)) if times is None else np.asarray(times, np.float64)) * paired
    disagreement = (per_item**2 - (counts**2).sum(axis=1)) / np.maximum(per_item - 1, 1)
    n_by_value = weights @ counts
    n_values = n_by_value.sum(axis=-1)
    expected = n_values**2 - (n_by_value**2).sum(axis=-1)
    return _above_chance((n_values - 1) * (weights @ disagreement), expected)


def _above_chance(disagreement: Floats, expected: Floats) -> Floats:
    """1 − disagreement ÷ expected; NaN where chance alone would agree always."""
    possible = np.asarray(expected > 1e-12)
    ratio = np.divide(disagreement, expected, out=np.full(possible.shape, np.nan), where=possible)
    return np.asarray(1 - ratio)


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How intervals are made: items are drawn again with replacement, percentiles taken."""

    n_resamples: int = 9999
    level: float = 0.95
    """Share of the resamples inside the interval."""
    seed: int = 20220101
    """Start of all randomness."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A coefficient with its interval; NaN where it is undefined."""

    value: float
    low: float
    high: float


def kappa_estimate(
    table: NDArray[np.generic], rng: np.random.Generator, bootstrap: Bootstrap | None = None
) -> Estimate:
    """κ of one contingency table with its bootstrap interval."""
    cells = np.asarray(table).reshape(-1)
    shape = np.asarray(table).shape
    return _estimate(cells, lambda drawn: cohens_kappa(drawn.reshape(*drawn.shape[:-1], *shape)), rng, bootstrap)


def alpha_estimate(
    value_counts: NDArray[np.generic], rng: np.random.Generator, bootstrap: Bootstrap | None = None
) -> Estimate:
    """α of items by values with its bootstrap interval (items drawn again: Zapf and others 2016)."""
    counts = np.asarray(value_counts)
    patterns, times = np.unique(counts[counts.sum(axis=1) >= 2], axis=0, return_counts=True)
    return _estimate(times, lambda drawn: krippendorffs_alpha(patterns, drawn), rng, bootstrap)


def _estimate(
    counts: NDArray[np.generic],
    coefficient: Callable[[NDArray[np.generic]], Floats],
    rng: np.random.Generator,
    bootstrap: Bootstrap | None,
) -> Estimate:
    """Drawing n items again is one multinomial draw over the kinds of item, of which there are `counts`."""
    setting = bootstrap or Bootstrap()
    kinds = np.asarray(counts, np.int64)
    n_items = int(kinds.sum())
    if n_items == 0:
        return Estimate(np.nan, np.nan, np.nan)
    drawn = coefficient(rng.multinomial(n_items, kinds / n_items, size=setting.n_resamples))
    drawn = drawn[~np.isnan(drawn)]
    tail = (1 - setting.level) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail]) if len(drawn) else (np.nan, np.nan)
    return Estimate(float(coefficient(kinds)), float(low), float(high))


def count_values(ratings: Sequence[Sequence[object]]) -> NDArray[np.int64]:
    """Items by values: how often each value was given; None is a missing one, values in sorted order."""
    values = sorted({value for item in ratings for value in item if value is not None}, key=repr)
    counts = [[list(item).count(value) for value in values] for item in ratings]
    return np.array(counts, np.int64).reshape(len(ratings), len(values))


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
    is_withdrawn: bool
    """Whether only withdrawn runs brought it, so that nobody needs to decide it."""

    @property
    def is_open(self) -> bool:
        """Whether an organiser is asked to decide it."""
        return not (self.is_settled or self.is_withdrawn)


@dataclass(frozen=True, slots=True)
class TopicAgreement:
    """Agreement on the pages of one topic that at least two assessors graded."""

    topic: int
    n_pages: int
    alpha: Estimate
    kappa: Estimate
    """Cohen's κ of all pairs of assessors taken together: their tables are added."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement over all pages that at least two assessors graded, by the votes that count now and by the first ones.

    First votes say how well people agree on their own. Those that count now were changed after discussions.
    """

    n_pages: int
    alpha: Estimate
    pairs: tuple[PairAgreement, ...]
    disagreements: tuple[Disagreement, ...]
    topics: tuple[TopicAgreement, ...]
    first_n_pages: int
    first_alpha: Estimate
    first_pairs: tuple[PairAgreement, ...]
    first_topics: tuple[TopicAgreement, ...]


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
        grades, first = graded_pages(current_votes(store)), graded_pages(first_votes(store))
        differing = tuple(disagreements(store))
    return Agreement(
        *overall_agreement(grades, setting),
        all_pairs(grades, setting),
        differing,
        by_topic(grades, setting),
        *overall_agreement(first, setting),
        all_pairs(first, setting),
        by_topic(first, setting),
    )


def all_pairs(grades: Grades, bootstrap: Bootstrap) -> tuple[PairAgreement, ...]:
    """κ of every two assessors who graded a page in common."""
    shared = sorted(shared_grades(grades).items())
    return tuple(pair_agreement(first, second, both, bootstrap) for (first, second), both in shared)


def by_topic(grades: Grades, bootstrap: Bootstrap) -> tuple[TopicAgreement, ...]:
    """α and κ of every topic of which two assessors graded a page."""
    topics: dict[int, Grades] = {}
    for (topic, page), by_assessor in grades.items():
        if len(by_assessor) >= 2:
            topics.setdefault(topic, {})[topic, page] = by_assessor
    found = []
    for topic, pages in sorted(topics.items()):
        together: Counter[tuple[int, int]] = Counter()
        for both in shared_grades(pages).values():
            together.update(dict(both))
        n_pages, alpha = overall_agreement(pages, bootstrap, topic)
        kappa = kappa_estimate(_table(together), derive(bootstrap.seed, "kappa", topic), bootstrap)
        found.append(TopicAgreement(topic, n_pages, alpha, kappa))
    return tuple(found)


def overall_agreement(grades: Grades, bootstrap: Bootstrap, *part: int) -> tuple[int, Estimate]:
    """Number of pages that at least two assessors graded, and α on them; `part` names the topic if it is one."""
    ratings = [list(page.values()) for page in grades.values()]
    alpha = alpha_estimate(count_values(ratings), derive(bootstrap.seed, "alpha", *part), bootstrap)
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
    table = _table(dict(both))
    kappa = kappa_estimate(table, derive(bootstrap.seed, "kappa", first, second), bootstrap)
    n_pages = int(table.sum())
    return PairAgreement(first, second, n_pages, float(np.trace(table) / n_pages) if n_pages else np.nan, kappa)


def _table(pairs: Mapping[tuple[int, int], int]) -> NDArray[np.int64]:
    """Contingency table of pairs of grades: rows for the grades of the first assessor, columns for the second's."""
    values = sorted({grade for pair in pairs for grade in pair})
    table = np.zeros((len(values), len(values)), np.int64)
    for (one, other), n_pages in pairs.items():
        table[values.index(one), values.index(other)] = n_pages
    return table


def disagreements(store: Store) -> list[Disagreement]:
    """Pages with differing votes, by topic and page."""
    pages: dict[tuple[int, int], list[Vote]] = {}
    for vote in current_votes(store):
        pages.setdefault((vote.topic, vote.page), []).append(vote)
    gone = set(map(tuple, store.connection.execute("SELECT topic, page FROM item WHERE is_withdrawn = 1").fetchall()))
    return [
        Disagreement(
            *key, _adjudications_last(votes), settle_votes(votes).status != "disputed", is_withdrawn=key in gone
        )
        for key, votes in pages.items()
        if len({(vote.outcome, vote.grade) for vote in votes if _is_own(vote)}) > 1
    ]


def _is_own(vote: Vote) -> bool:
    """Whether an assessor decided on the page alone."""
    return vote.method != ADJUDICATION and vote.outcome != "skipped"


def _adjudications_last(votes: Sequence[Vote]) -> tuple[Vote, ...]:
    return tuple(sorted(votes, key=lambda vote: vote.method == ADJUDICATION))


def adjudication_queue(store: Store) -> list[Disagreement]:
    """Disagreements that an organiser is asked to decide."""
    return [entry for entry in disagreements(store) if entry.is_open]
