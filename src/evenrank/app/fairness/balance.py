"""Balance: how the attention of a list, or of many draws, is shared among groups, and how close that is to the goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.app.articles.collection_view import valid_restrictions
from evenrank.app.pages.i18n import NEARLY_ONE
from evenrank.app.request.question import Question
from evenrank.core.alignment import Alignment, align
from evenrank.core.concentration import Concentration, concentrations
from evenrank.core.exposure import AttentionTable
from evenrank.core.groups import UNKNOWN_MASK, Dimension, GroupSpace
from evenrank.core.withheld import (
    are_few_alike,
    are_few_people,
    has_few_effective,
    hide_people,
    reveal_people,
    without_people,
)
from evenrank.measures.awrf import awrf
from evenrank.measures.worst_case import MAX_CELLS, MassSet, awrf_bounds, completions, mass_set
from evenrank.ranking.groups import masks_within, restricted_dimensions
from evenrank.trec.collection import Collection

FOLDED = ("all combinations", "all other combinations")
"""What the row of all withheld combinations is called: when it is the only one, and beside others."""
SMALL_SHARE = 0.0995
"""Shares below it have one decimal more, as on pages."""
PUBLIC_CERTIFICATE = ("relevance_share",)
"""Figures of a certificate in which groups do not enter."""
DECIMALS, LOSS_DECIMALS, CURVE_DECIMALS = 2, 3, 3
"""Decimals of figures that genders enter, of EE-L, and of the trade-off's relevance and AWRF: as many as pages show."""


@dataclass(frozen=True)
class GroupBalance:
    """One group: its share of the attention, and the goal."""

    label: str
    share: float
    goal: float
    n_articles: int
    is_hidden: bool
    """Whether share and goal would reveal too much about individuals."""
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
    is_focused: bool = False
    """Whether the attention reveals individuals, however many people there are: `focuses_on_people`."""
    left_out: tuple[Dimension, ...] = ()
    """Dimensions that describe people and that the figures leave out."""
    open_totals: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    """Exposure and articles by the other dimensions alone, added up as if there were no more; None where that is not
    known, and `public` adds up those of the cells."""

    @property
    def unknown_share(self) -> float:
        """Attention of articles that no dimension says anything about."""
        return float(self.exposure[0])

    @property
    def has_few_people(self) -> bool:
        """Whether a figure over all groups may say something about one person."""
        is_few = self.is_focused or are_few_people(self.n_articles, self.space, self._has_others)
        return is_few or any(are_few_alike(self.space.margin(self.n_articles, name)[1:]) for name in self._personal)

    @property
    def _personal(self) -> list[str]:
        """Names of the dimensions that describe people."""
        return [dimension.name for dimension in self.space.dimensions if dimension.is_personal]

    @property
    def _has_others(self) -> bool:
        """Whether the goal may follow people that are not among these articles."""
        return self.is_partial and any(self.space.margin(self.goal, name)[1:].sum() > 0 for name in self._personal)

    def public(self) -> Balance:
        """The same by what is shown beside each article anyway, such as its region: no figure depends on a gender."""
        personal = tuple(dimension for dimension in self.space.dimensions if dimension.is_personal)
        if not personal:
            return self
        exposure, goal, n_articles = (
            without_people(values, self.space) for values in (self.exposure, self.goal, self.n_articles)
        )
        if self.open_totals is not None:
            exposure, n_articles = (values.copy() for values in self.open_totals)
        if not self.counts_unknown:
            goal[0] = n_articles[0] = 0.0
            goal /= goal.sum() if goal.sum() > 0 else 1.0
        return replace(
            self,
            space=public_part(self.space),
            exposure=exposure,
            goal=goal,
            n_articles=n_articles,
            is_focused=False,
            left_out=personal,
            open_totals=None,
        )

    def by_dimension(self, name: str) -> list[GroupBalance]:
        """Totals of one dimension; a group with neither attention nor goal is left out, unless it is withheld: which
        groups of a withheld dimension have anybody is nobody's business either."""
        dimension = self.space.dimension(name)
        unknown = dimension.readable_groups[0]
        rows = self._shares(dimension.readable_scored_groups, name)
        return [replace(row, is_unknown=row.label == unknown) for row in rows]

    def by_product(self) -> list[GroupBalance]:
        """Totals of each combination, e.g. women in Africa; none when there is one dimension only.

        What is withheld is one row: which combinations exist would reveal the gender of the only person of a region.
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
        if self._tells_of_people(dimension):
            shares, goals = round_shares(shares), round_shares(goals)
        whole = counts.round().astype(int)
        rows = zip(labels, shares.tolist(), goals.tolist(), whole.tolist(), is_hidden, strict=True)
        made = [GroupBalance(label, share, goal, n, bool(hidden)) for label, share, goal, n, hidden in rows]
        return [row for row in made if row.is_hidden or row.n_articles or row.share > 0 or row.goal >= 0.0005]

    def _hidden(self, counts: NDArray[np.float64], dimension: str | None) -> NDArray[np.bool_]:
        """Which totals are withheld; those of what is shown beside each article, such as its region, never are."""
        if not self._tells_of_people(dimension):
            return np.zeros(counts.shape, bool)
        if dimension is None:
            cells = counts.reshape(self.space.shape)
            return reveal_people(cells, self.space, self._has_others, self.is_focused).reshape(-1)
        is_known = np.arange(len(counts)) > 0
        return is_known if self.is_focused else hide_people(counts, self._has_others)

    def _tells_of_people(self, dimension: str | None) -> bool:
        """Whether totals of a dimension, or of all combinations, are of groups of people."""
        return bool(self._personal) if dimension is None else dimension in self._personal

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


def round_shares(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares as exact as pages write them: more decimals could tell who makes up the sum."""
    return np.where(shares < SMALL_SHARE, shares.round(3), shares.round(2))


def shares_of_known(values: NDArray[np.float64], space: GroupSpace, dimension: Dimension) -> NDArray[np.float64]:
    """Values of cells by the groups of one dimension, as shares of what is known there; zeros where nothing is."""
    known = space.margin(values, dimension.name)[int(dimension.has_unknown) :]
    return known / known.sum() if known.sum() > 0 else known


def focuses_on_people(
    question: Question, alignment: Alignment, attention: NDArray[np.float64], space: GroupSpace
) -> bool:
    """Whether the attention of pages is so uneven that shares of it reveal individuals.

    Weights that visitors choose can single out anybody, and so do others that go to few people for the most part.
    """
    is_own = isinstance(question.attention_model, AttentionTable)
    people = [are_people(alignment, space, dimension.name) for dimension in space.dimensions if dimension.is_personal]
    return any(has_few_effective(attention[places]) or (is_own and places.any()) for places in people)


def are_people(alignment: Alignment, space: GroupSpace, dimension: str) -> NDArray[np.bool_]:
    """Which pages are in a known group of a personal dimension."""
    is_known = np.asarray((space.margin(alignment.rows, dimension)[:, 1:] > 0.0).any(axis=1))
    return is_known[alignment.page_type]


def page_alignment(
    collection: Collection, page_ids: NDArray[np.int32], space: GroupSpace, within: Sequence[str] = ()
) -> Alignment:
    """Group weights of pages, each summing to 1; a page without metadata is unknown.

    `within` is the question's restriction: a page counts for the groups that it leaves, and for no other.
    """
    masks = collection.masks_of(collection.rows_of(page_ids), space, UNKNOWN_MASK)
    kept = valid_restrictions(within, {dimension.name: dimension for dimension in space.dimensions})
    return align(masks_within(masks, space, kept), space, [True] * len(space.dimensions))


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
    attention = question.weights(len(page_ids))

    def totals(part: GroupSpace) -> tuple[Alignment, NDArray[np.float64], NDArray[np.float64]]:
        alignment = page_alignment(collection, page_ids, part, question.within)
        exposure = alignment.total(attention)
        return alignment, exposure / max(exposure.sum(), 1e-12), alignment.total()

    (alignment, exposure, n_articles), public = totals(space), public_part(space)
    return Balance(
        space,
        exposure,
        goal,
        n_articles,
        counts_unknown=False,
        is_partial=is_partial,
        is_focused=focuses_on_people(question, alignment, attention, space),
        open_totals=totals(public)[1:] if 0 < len(public.dimensions) < len(space.dimensions) else None,
    )


def misfits(
    collection: Collection,
    page_ids: NDArray[np.int32],
    relevance: NDArray[np.float64],
    question: Question,
    space: GroupSpace,
) -> list[tuple[Dimension, str, float]]:
    """Dimensions in which a goal asks for what the pages hardly have: nearly all of them are in one group, which is
    given with its share, and the goal is not as the subject is. Those that describe people are not looked at."""
    if question.goal == "field":
        return []
    settled = {*question.as_subject, *restricted_dimensions(question.within)}
    public = [one.name for one in space.dimensions if not one.is_personal and one.name not in settled]
    if not public or not len(page_ids):
        return []
    part = space.part(public)
    found = concentrations(page_alignment(collection, page_ids, part), relevance, part)
    return [(part.dimension(one.dimension), readable(one, part), one.share) for one in found]


def readable(one: Concentration, space: GroupSpace) -> str:
    """The group of a concentration, in words."""
    dimension = space.dimension(one.dimension)
    return dimension.readable_groups[dimension.groups.index(one.group)]


@dataclass(frozen=True)
class Closeness:
    """AWRF of some articles, and what it counts."""

    value: float | None
    """From 0 to 1; 0 when no group of the articles is known, None when it is withheld."""
    is_complete: bool
    """Whether all groups are counted; else those of people, such as their genders, are not."""


def closeness_of(balance: Balance) -> Closeness:
    """The figure of a complete list or of all draws; with few people, without their groups."""
    if not balance.space.dimensions:
        return Closeness(None, is_complete=False)
    if balance.has_few_people:
        return public_closeness(balance)
    return Closeness(_awrf(balance), is_complete=not balance.left_out)


def public_closeness(balance: Balance) -> Closeness:
    """The figure by what is shown beside each article alone, such as its region.

    Whatever visitors select, even one person, it does not depend on a gender. Nor does its difference from another one.
    """
    return closeness_of(balance.public())


@dataclass(frozen=True)
class ClosenessRange:
    """Between which figures the goal is reached, whatever the unknown groups are."""

    low: float
    high: float
    unknown_share: float
    """Share of the attention that articles of an unknown group get."""
    dimension: str
    """Heading of the dimension that is unknown for most of the attention."""
    is_complete: bool
    """Whether all groups are counted; else those of people, such as their genders, are not."""


MUCH_UNKNOWN = 0.01
"""Share of the attention from which on the unknown is said."""


def closeness_range(balance: Balance) -> ClosenessRange | None:
    """The lowest and the highest figure by what is shown beside each article, such as its region; None where little of
    that is unknown. Like `public_closeness` it depends on no gender."""
    public = [
        dimension for dimension in balance.space.dimensions if not dimension.is_personal and dimension.has_unknown
    ]
    space = GroupSpace(tuple(public))
    n_others = sum(not dimension.is_personal for dimension in balance.space.dimensions) - len(public)
    if not public or n_others or space.n_groups > MAX_CELLS:
        return None
    exposure, goal = (without_people(values, balance.space) for values in (balance.exposure, balance.goal))
    unknown = {one.heading: float(space.margin(exposure, one.name)[0]) for one in public}
    heading, share = max(unknown.items(), key=lambda item: item[1])
    drops = not balance.counts_unknown
    wanted = MassSet(np.where(np.arange(len(goal)) > 0, goal, 0.0) if drops else goal, is_share=True)
    if share < MUCH_UNKNOWN or wanted.may_be_empty:
        return None
    shown = mass_set(exposure, exposure, completions(space), drops_unknown=drops, is_share=True)
    found = awrf_bounds(shown, wanted)
    is_complete = len(public) == len(balance.space.dimensions) and not balance.left_out
    return ClosenessRange(found.low, found.high, share, heading, is_complete)


def _awrf(balance: Balance) -> float:
    """AWRF, in Task 1 without what is unknown."""
    first = 0 if balance.counts_unknown else 1
    has, wanted = balance.exposure[first:], balance.goal[first:]
    return awrf(has, wanted) if has.sum() > 0 and wanted.sum() > 0 else 0.0


def public_part(space: GroupSpace) -> GroupSpace:
    """The dimensions that do not describe people."""
    return space.part(dimension.name for dimension in space.dimensions if not dimension.is_personal)


def public_certificate(certificate: Mapping[str, float], space: GroupSpace, has_few_people: bool) -> dict[str, float]:
    """What a certificate may say about people: with few of them, only what does not depend on their groups.

    With many, figures are rounded, and those of single depths (`AWRF@10`) are left out: ten ranks may have one person.
    """
    if not any(dimension.is_personal for dimension in space.dimensions):
        return dict(certificate)
    kept = {name: value for name, value in certificate.items() if name in PUBLIC_CERTIFICATE}
    others = {name: value for name, value in certificate.items() if name not in kept and "@" not in name}
    return kept if has_few_people else {**kept, **{name: round_figure(name, value) for name, value in others.items()}}


def round_figure(name: str, value: float) -> float:
    """A figure with as many decimals as pages show of it."""
    if name == "relevance_share":
        return round_share(value)
    return round(value, LOSS_DECIMALS if name.startswith("EE-L") else DECIMALS)


def round_share(value: float) -> float:
    """Relevance kept, or goal reached, as the table of strengths shows it: 1 only where it is 1."""
    rounded = round(value, CURVE_DECIMALS)
    return rounded if rounded < 1 or value >= NEARLY_ONE else 1 - 10**-CURVE_DECIMALS
