"""Re-rankers of the literature for one list: FA*IR and DetConstSort."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import Range
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request, counted_rows
from evenrank.policies.relevance import relevance_order, repeat_ranking, shown_share

ADJUSTING_STEPS = 34
"""Bisections of the significance: the minima are whole numbers, so more would change none of them."""


def least_protected(length: int, share: float, significance: float) -> NDArray[np.intp]:
    """Smallest number of protected pages in each prefix that a fair coin of this share gives with that probability.

    The table of FA*IR: the `significance` quantile of a binomial distribution, for ranks 1 … length.
    """
    from scipy.stats import binom

    return np.asarray(np.clip(binom.ppf(significance, np.arange(1, length + 1), share), 0, length), np.intp)


def failure_probability(least: NDArray[np.intp], share: float) -> float:
    """Probability that a fair process has too few protected pages in some prefix.

    The distribution of their number is followed rank by rank, and what is below the minimum is dropped.
    """
    by_count = np.ones(1)
    for minimum in least.tolist():
        by_count = np.append(by_count * (1.0 - share), 0.0) + np.append(0.0, by_count * share)
        by_count[:minimum] = 0.0
    return float(1.0 - by_count.sum())


def adjusted_significance(length: int, share: float, significance: float) -> float:
    """The largest significance of one prefix at which a fair process fails anywhere with `significance` at most.

    It may be above `significance`: a minimum is a whole number, and so fails less often than it may.
    """
    low, high = 0.0, 1.0
    for _ in range(ADJUSTING_STEPS):
        middle = 0.5 * (low + high)
        if failure_probability(least_protected(length, share, middle), share) > significance:
            high = middle
        else:
            low = middle
    return low


def order_with_minimum(is_protected: NDArray[np.bool_], least: NDArray[np.intp]) -> NDArray[np.intp]:
    """Places of pages that are in order of relevance: the next one, or the next protected one where that is due."""
    queues = {flag: np.flatnonzero(is_protected == flag).tolist()[::-1] for flag in (True, False)}
    protected, other = queues[True], queues[False]
    ranking: list[int] = []
    n_protected = 0
    for minimum in least.tolist():
        take = bool(protected) and (n_protected < minimum or not other or protected[-1] < other[-1])
        ranking.append((protected if take else other).pop())
        n_protected += take
    return np.array(ranking, np.intp)


@dataclass(frozen=True)
class FaIr(CheckedPolicy):
    """Order by relevance, except where a prefix would have too few pages of groups that are shown less than wanted."""

    name: ClassVar[str] = "fa-ir"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    citation: ClassVar[str] = "Zehlike et al., FA*IR: a fair top-k ranking algorithm, CIKM 2017"

    significance: Annotated[float, Range(above=0.0, below=1.0)] = 0.1
    """Probability with which a fair process would have fewer protected pages than a prefix must have."""
    adjusted: bool = False
    """Whether that is the probability for all prefixes together, as FA*IR corrects for testing each of them; minima are
    lower then. Takes about 0.2 s a topic."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        order = relevance_order(candidates)
        length = min(request.length, len(order))
        if not length:
            return repeat_ranking(order, request)
        is_protected, share = self._protected(candidates, target, request)
        of_prefix = adjusted_significance(length, share, self.significance) if self.adjusted else self.significance
        places = order_with_minimum(is_protected[order], least_protected(length, share, of_prefix))
        return repeat_ranking(order[places], request)

    def _protected(
        self, candidates: Candidates, target: EstimatedTarget, request: Request
    ) -> tuple[NDArray[np.bool_], float]:
        """FA*IR knows one protected group: here all groups that the order by relevance shows less than wanted."""
        rows = counted_rows(candidates, target, request)
        is_under = target.values > shown_share(rows, candidates, request)
        wanted = float(target.values[is_under].sum())
        of_type = rows[:, is_under].sum(axis=1) > 0.5 * np.maximum(rows.sum(axis=1), 1e-12)
        return np.asarray(of_type[candidates.alignment.page_type]), min(max(wanted, 0.0), 1.0)


def constrained_sort(
    relevance: NDArray[np.float64], group: NDArray[np.intp], share: NDArray[np.float64], length: int
) -> list[int]:
    """Positions such that group g has at least ⌊share · k⌋ of the first k, as far as it has pages (DetConstSort).

    Pages are in order of relevance. Whenever the minimum of a group rises, its next page is inserted and moves up past
    less relevant pages, as long as none of them falls behind the rank it must have at the latest.
    """
    queues = [np.flatnonzero(group == number).tolist()[::-1] for number in range(len(share))]
    least = np.zeros(len(share), np.intp)
    ranking: list[int] = []
    latest: list[int] = []
    k = 0
    while len(ranking) < length and any(queues):
        k += 1
        now = np.floor(share * k + 1e-9).astype(np.intp)
        risen = [number for number in np.flatnonzero(now > least).tolist() if queues[number]]
        risen.sort(key=lambda number: -relevance[queues[number][-1]])
        for number in risen:
            ranking.append(queues[number].pop())
            latest.append(k)
            place = len(ranking) - 1
            while (
                place > 0
                and latest[place - 1] >= place + 1
                and relevance[ranking[place - 1]] < relevance[ranking[place]]
            ):
                for line in (ranking, latest):
                    line[place - 1], line[place] = line[place], line[place - 1]
                place -= 1
        least = now
        if not risen and k > 2 * length + len(share):  # every group that is wanted has run out: fill by relevance
            rest = sorted((page for queue in queues for page in queue), key=lambda page: -relevance[page])
            ranking += rest[: length - len(ranking)]
            break
    return ranking[:length]


@dataclass(frozen=True)
class DetConstSort(CheckedPolicy):
    """Every prefix has its minimum of every group; each page counts for the one group of it that is wanted most."""

    name: ClassVar[str] = "det-const-sort"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    citation: ClassVar[str] = "Geyik et al., Fairness-aware ranking in search and recommendation (LinkedIn), KDD 2019"

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        order = relevance_order(candidates)
        rows = counted_rows(candidates, target, request)
        wanted = np.where(rows > 0.0, target.values, -1.0)
        of_type = np.where(wanted.max(axis=1) > 0.0, wanted.argmax(axis=1), len(target.values))
        group = of_type[candidates.alignment.page_type[order]]
        share = np.append(target.values, 0.0)
        has_pages = np.bincount(group, minlength=len(share)) > 0
        share = np.where(has_pages, share, 0.0)
        total = float(share.sum())
        share = share / total if total > 0.0 else np.where(has_pages, 1.0, 0.0) / max(int(has_pages.sum()), 1)
        length = min(request.length, len(order))
        ranking = constrained_sort(candidates.relevance[order], group, share, length)
        return repeat_ranking(order[np.array(ranking, np.intp)], request)
