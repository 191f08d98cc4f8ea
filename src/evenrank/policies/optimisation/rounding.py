"""Task 2: whole rankings for expected exposures, page type by page type and inside the types page by page.

Rank by rank a page is chosen that brings what has been given, over all rankings so far, nearest to what is due: to the
groups and to the page itself. Groups do not tell pages of one type apart, so of each type only the page to which most
is due can be chosen. Each rank makes as much of a ranking's exposure due as it has, so that what is given stays within
about one rank of what is due at every moment: every prefix of the sequence is balanced, and so is the head of every
ranking. (Were all of it due at the start of a ranking, the largest group would always come first, the small ones last.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_EXPOSURE = 1e-7
"""Pages with less expected exposure are not shown."""
GROUP_WEIGHT = 4.0
"""How much a unit of exposure due to a group counts beside one due to a page."""


@dataclass(frozen=True)
class TypedPages:
    """The pages that are shown, sorted by page type."""

    pages: NDArray[np.intp]
    exposure: NDArray[np.float64]
    """Expected exposure of each of them in one ranking."""
    counted: NDArray[np.float64]
    """How far the exposure of each of them counts for its groups: 1, or its probability of relevance."""
    types: NDArray[np.intp]
    """Type of each of them, numbered from 0 without gaps."""
    rows: NDArray[np.float64]
    """Type by group."""

    @classmethod
    def of(
        cls,
        exposure: NDArray[np.float64],
        counted: NDArray[np.float64],
        page_type: NDArray[np.intp],
        rows: NDArray[np.float64],
        length: int,
    ) -> TypedPages:
        """The pages with any exposure, and never fewer than a ranking is long."""
        least = min(LEAST_EXPOSURE, float(np.partition(exposure, len(exposure) - length)[len(exposure) - length]))
        pages = np.flatnonzero(exposure >= least)
        pages = pages[np.argsort(page_type[pages], kind="stable")]
        present, types = np.unique(page_type[pages], return_inverse=True)
        return cls(pages, exposure[pages], counted[pages], types, rows[present])


def include_probable(
    exposure: NDArray[np.float64],
    page_type: NDArray[np.intp],
    relevance: NDArray[np.float64],
    probable: NDArray[np.intp],
    least: NDArray[np.float64],
    most_moved: float,
) -> NDArray[np.float64]:
    """Exposures in which `probable` pages have at least `least`, taken from pages of the same type that have more.

    The exposure of each type stays the same. Pages are served by falling relevance until a share `most_moved` of the
    type's exposure has moved. It moves from pages that keep more than any page is given, so the result is still the
    mean of some rankings.
    """
    missing = np.zeros_like(exposure)
    missing[probable] = np.maximum(least - exposure, 0.0)[probable]
    order = np.lexsort((-relevance, page_type))
    types = page_type[order]
    of_type = np.bincount(page_type, exposure)
    used = np.cumsum(missing[order])
    before = np.concatenate([[0.0], used])[np.searchsorted(types, types)]
    missing[order[used - before > most_moved * of_type[types]]] = 0.0
    raised = exposure + missing
    surplus = np.where(missing > 0.0, 0.0, np.maximum(exposure - least.max(), 0.0))
    available, needed = np.bincount(page_type, surplus), np.bincount(page_type, missing)
    share = np.where(needed <= available, needed / np.where(available > 0.0, available, 1.0), 0.0)
    raised = np.where((needed <= available)[page_type], raised, exposure)
    return np.asarray(raised - share[page_type] * surplus)


def round_exposure(
    shown: TypedPages, discounts: NDArray[np.float64], n_rankings: int, above: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Rankings (ranking by rank) whose mean exposure is as near to the expected one as whole pages allow.

    `above` are pages that each ranking shows already, in ranks above these: they are not shown again.
    """
    nearness = GROUP_WEIGHT * shown.rows @ shown.rows.T
    groups_per_ranking = nearness @ np.bincount(shown.types, shown.exposure * shown.counted, minlength=len(nearness))
    dues_by_rank = np.outer(discounts / discounts.sum(), groups_per_ranking)
    due_to_groups, due_to_pages = np.zeros(len(nearness)), np.zeros(len(shown.pages))
    positions = np.empty((n_rankings, len(discounts)), np.intp)
    for number in range(n_rankings):
        due_to_pages += shown.exposure
        queues = _Queues(shown, due_to_pages, None if above is None else np.isin(shown.pages, above[number]))
        for rank, weight in enumerate(discounts.tolist()):
            due_to_groups += dues_by_rank[rank]
            chosen, page = queues.take(due_to_groups, nearness, weight)
            due_to_groups -= weight * shown.counted[page] * nearness[chosen]
            due_to_pages[page] -= weight
            positions[number, rank] = shown.pages[page]
    return positions


class _Queues:
    """The pages of each type that one ranking can still show, the most due first."""

    def __init__(self, shown: TypedPages, due: NDArray[np.float64], is_taken: NDArray[np.bool_] | None) -> None:
        free = np.arange(len(due)) if is_taken is None else np.flatnonzero(~is_taken)
        self._order = free[np.lexsort((-due[free], shown.types[free]))].tolist()
        n_of_type = np.bincount(shown.types[free], minlength=len(shown.rows))
        ends = np.cumsum(n_of_type)
        self._next: list[int] = (ends - n_of_type).tolist()
        self._ends: list[int] = ends.tolist()
        self._due, self._counted = due, shown.counted
        heads = np.array([self._order[at] if at < end else -1 for at, end in zip(self._next, self._ends, strict=True)])
        self._head_due = np.where(heads >= 0, due[heads], -np.inf)
        self._head_counted = np.where(heads >= 0, shown.counted[heads], 0.0)

    def take(self, due_to_groups: NDArray[np.float64], nearness: NDArray[np.float64], weight: float) -> tuple[int, int]:
        """The type and the page that bring what is given nearest to what is due, when it gets this discount."""
        overshoot = 0.5 * weight * self._head_counted * nearness.diagonal()
        chosen = int((self._head_due + self._head_counted * (due_to_groups - overshoot)).argmax())
        at = self._next[chosen]
        page = self._order[at]
        self._next[chosen] = at + 1
        if at + 1 < self._ends[chosen]:
            head = self._order[at + 1]
            self._head_due[chosen] = self._due[head]
            self._head_counted[chosen] = self._counted[head]
        else:
            self._head_due[chosen] = -np.inf
        return chosen, page
