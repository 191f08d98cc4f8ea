"""`det-const-sort`: at least the floor of every group's share in every prefix, most relevant pages first (Geyik)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.policy import Candidates, Rankings, Request
from evenrank.policies.relevance import relevance_order, repeat_ranking
from evenrank.policies.shares import counted_rows


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
class DetConstSort:
    """Every prefix has its minimum of every group; each page counts for the one group of it that is wanted most."""

    name: ClassVar[str] = "det-const-sort"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    paper_runs: ClassVar[tuple[str, ...]] = ()
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
