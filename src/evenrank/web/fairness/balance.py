"""Balance: how the attention of a list, or of many draws, is shared among groups, against the goal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.alignment import Alignment, align
from evenrank.alignment.groups import UNKNOWN_MASK, GroupSpace
from evenrank.alignment.withheld import are_few_people, hide_people, reveal_people
from evenrank.collection.collection import Collection
from evenrank.ranking.groups import masks_within
from evenrank.web.request.question import Question

FOLDED = ("all combinations", "all other combinations")
"""What the row of all withheld combinations is called: when it is the only one, and beside others."""


@dataclass(frozen=True)
class GroupBalance:
    """One group: its share of the attention, and the goal."""

    label: str
    share: float
    goal: float
    n_articles: int
    is_hidden: bool
    """Whether share and goal would tell too much about single people."""
    is_unknown: bool = False
    """Whether it is the group of articles of which nothing is known."""

    def as_data(self) -> dict[str, Any]:
        """The group as data; totals of few people are withheld."""
        return {
            "group": self.label,
            "share": None if self.is_hidden else round(self.share, 6),
            "goal": None if self.is_hidden else round(self.goal, 6),
            "articles": None if self.is_hidden else self.n_articles,
        }


@dataclass(frozen=True)
class Balance:
    """Shares by each dimension and by all of them together, with what is unknown."""

    space: GroupSpace
    exposure: NDArray[np.float64]
    """Share of the attention of each cell; sums to 1 with the fully unknown cell."""
    goal: NDArray[np.float64]
    n_articles: NDArray[np.float64]
    """Distinct articles of each cell; a fraction of an article that is in several."""
    counts_unknown: bool
    """Whether articles of which nothing is known take part in the comparison (Task 2) or not (Task 1)."""
    is_partial: bool = False
    """Whether the goal follows more articles than these, such as candidates that are not on the list."""

    @property
    def unknown_share(self) -> float:
        """Attention of articles that no dimension says anything about."""
        return float(self.exposure[0])

    @property
    def has_few_people(self) -> bool:
        """Whether a figure over all groups may say something about one person."""
        return are_few_people(self.n_articles, self.space, self._has_others)

    @property
    def _has_others(self) -> bool:
        """Whether the goal may follow people that are not among these articles."""
        personal = [dimension.name for dimension in self.space.dimensions if dimension.is_personal]
        return self.is_partial and any(self.space.margin(self.goal, name)[1:].sum() > 0 for name in personal)

    def by_dimension(self, name: str) -> list[GroupBalance]:
        """Totals of one dimension; a group with neither attention nor goal is left out, unless it is withheld: which
        groups of a withheld dimension have anybody is nobody's business either."""
        dimension = self.space.dimension(name)
        unknown = dimension.readable_groups[0]
        rows = self._shares(dimension.readable_scored_groups, name)
        return [replace(row, is_unknown=row.label == unknown) for row in rows]

    def by_product(self) -> list[GroupBalance]:
        """Totals of each combination, e.g. women in Africa; none when there is one dimension only.

        What is withheld is one row: which combinations there are would tell the gender of the only person of a region.
        """
        if len(self.space.dimensions) < 2:
            return []
        cells = product(*(dimension.readable_scored_groups for dimension in self.space.dimensions))
        rows = self._shares([": ".join(cell) for cell in cells])
        shown = [row for row in rows if not row.is_hidden]
        if len(shown) == len(rows):
            return rows
        return [*shown, GroupBalance(FOLDED[bool(shown)], 0.0, 0.0, 0, is_hidden=True)]

    def _shares(self, labels: Sequence[str], dimension: str | None = None) -> list[GroupBalance]:
        """Totals of one dimension, or of each combination."""
        parts = (self._compared(self.exposure), self.goal, self.n_articles)
        shares, goals, counts = (part if dimension is None else self.space.margin(part, dimension) for part in parts)
        is_hidden = self._hidden(counts, dimension)
        whole = counts.round().astype(int)
        rows = zip(labels, shares.tolist(), goals.tolist(), whole.tolist(), is_hidden, strict=True)
        made = [GroupBalance(label, share, goal, n, bool(hidden)) for label, share, goal, n, hidden in rows]
        return [row for row in made if row.is_hidden or row.n_articles or row.share > 0 or row.goal >= 0.0005]

    def _hidden(self, counts: NDArray[np.float64], dimension: str | None) -> NDArray[np.bool_]:
        """Which totals are withheld; those of what is shown beside each article, such as its region, never are."""
        is_personal = any(each.is_personal for each in self.space.dimensions if dimension in (None, each.name))
        if not is_personal:
            return np.zeros(counts.shape, bool)
        if dimension is not None:
            return hide_people(counts, self._has_others)
        return reveal_people(counts.reshape(self.space.shape), self.space, self._has_others).reshape(-1)

    def _compared(self, exposure: NDArray[np.float64]) -> NDArray[np.float64]:
        """Exposure as it is compared with the goal: in Task 1 without what is unknown."""
        if self.counts_unknown:
            return exposure
        kept = exposure.copy()
        kept[0] = 0.0
        return kept / kept.sum() if kept.sum() > 0 else kept

    def as_data(self) -> dict[str, Any]:
        """The balance for bots."""
        names = [dimension.name for dimension in self.space.dimensions]
        return {
            "unknown_share": round(self.unknown_share, 6),
            "dimensions": {name: [row.as_data() for row in self.by_dimension(name)] for name in names},
            "together": [row.as_data() for row in self.by_product()],
        }


def page_alignment(
    collection: Collection, page_ids: NDArray[np.int32], space: GroupSpace, within: Sequence[str] = ()
) -> Alignment:
    """Group weights of pages, each summing to 1; a page without metadata is unknown.

    `within` is the question's restriction: a page counts for the groups that it leaves, and for no other.
    """
    masks = collection.masks_of(collection.rows_of(page_ids), space, UNKNOWN_MASK)
    return align(masks_within(masks, space, within), space, [True] * len(space.dimensions))


def list_exposure(
    collection: Collection, page_ids: NDArray[np.int32], space: GroupSpace, question: Question
) -> NDArray[np.float64]:
    """Attention that a list gives to each group: the sum of the attention of its pages' ranks."""
    return page_alignment(collection, page_ids, space, question.within).total(question.weights(len(page_ids)))


def list_balance(
    collection: Collection,
    page_ids: NDArray[np.int32],
    goal: NDArray[np.float64],
    space: GroupSpace,
    question: Question,
    is_partial: bool = False,
) -> Balance:
    """The balance of one work list."""
    exposure = list_exposure(collection, page_ids, space, question)
    counts = page_alignment(collection, page_ids, space, question.within).total()
    shares = exposure / max(exposure.sum(), 1e-12)
    return Balance(space, shares, goal, counts, counts_unknown=False, is_partial=is_partial)


def draws_balance(
    collection: Collection,
    page_ids: NDArray[np.int32],
    exposure: NDArray[np.float64],
    goal: NDArray[np.float64],
    space: GroupSpace,
    n_candidates: int,
    within: Sequence[str] = (),
) -> Balance:
    """The balance of all draws of a search, from their summed exposure and the distinct pages in them."""
    distinct = np.unique(page_ids)
    counts = page_alignment(collection, distinct, space, within).total()
    shares, is_partial = exposure / max(exposure.sum(), 1e-12), len(distinct) < n_candidates
    return Balance(space, shares, goal, counts, counts_unknown=True, is_partial=is_partial)
