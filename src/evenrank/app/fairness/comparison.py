"""A list beside plain search: which groups gained attention, which articles came in and which went out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.app.fairness.balance import Balance, are_people, list_balance, page_alignment
from evenrank.app.pages.i18n import percent
from evenrank.app.request.question import Question
from evenrank.core.groups import GroupSpace
from evenrank.core.withheld import are_few_people, has_few_effective
from evenrank.trec.collection import Collection

N_NAMED = 6
"""Articles that are named of those that came in and of those that went out."""
TOP = 100
"""Ranks whose articles are compared: as far as people look."""
LEAST = 0.005
"""Smallest change of a share, or of its distance from the goal, that is worth a sentence."""


@dataclass(frozen=True)
class Change:
    """What happened to one group."""

    label: str
    before: float
    after: float
    goal: float
    tone: int = 0
    """Place of the group in its dimension: its colour on every page."""

    @property
    def progress(self) -> float:
        """How much nearer to its goal the group has come; negative when it is farther away."""
        return abs(self.before - self.goal) - abs(self.after - self.goal)

    @property
    def is_noticeable(self) -> bool:
        """Whether the shares differ, also as pages write them."""
        return abs(self.after - self.before) >= LEAST and percent(self.after) != percent(self.before)


@dataclass(frozen=True)
class ListComparison:
    """The first ranks of plain search and of the list."""

    plain: NDArray[np.int32]
    """First pages of plain search."""
    came_in: tuple[int, ...]
    """Pages of the list's first ranks that plain search did not have there, in the list's order."""
    went_out: tuple[int, ...]
    """Pages of plain search's first ranks that the list does not have there."""


def compare_lists(plain: NDArray[np.int32], listed: NDArray[np.int32]) -> ListComparison:
    """The comparison of two orders of the same candidates, each as long as the list."""
    before, after = plain[:TOP], listed[:TOP]
    return ListComparison(
        plain=plain,
        came_in=tuple(int(page) for page in after[~np.isin(after, before)]),
        went_out=tuple(int(page) for page in before[~np.isin(before, after)]),
    )


def comparison_from_json(text: str) -> ListComparison:
    """A stored comparison."""
    record = orjson.loads(text)
    return ListComparison(np.array(record["plain"], np.int32), tuple(record["came_in"]), tuple(record["went_out"]))


def changes(
    collection: Collection,
    comparison: ListComparison,
    listed: NDArray[np.int32],
    goal: NDArray[np.float64],
    space: GroupSpace,
    question: Question,
    shows_people: bool,
) -> list[Change]:
    """The groups whose attention changed, those first that came nearest to their goal; groups too small to be told
    apart are left out, and groups of people unless `shows_people` says that their totals may be shown."""
    before, after = (list_balance(collection, pages, goal, space, question) for pages in (comparison.plain, listed))
    if not shows_people:
        before, after = before.public(), after.public()
    tells = differ_in_few_people(collection, comparison, listed, space, question)
    dimensions = [dimension.name for dimension in after.space.dimensions if not (tells and dimension.is_personal)]
    found = [change for name in dimensions for change in _changes(name, before, after)]
    noticeable = [change for change in found if change.is_noticeable]
    return sorted(noticeable, key=lambda change: change.progress, reverse=True)


def differ_in_few_people(
    collection: Collection,
    comparison: ListComparison,
    listed: NDArray[np.int32],
    space: GroupSpace,
    question: Question,
) -> bool:
    """Whether list and plain search differ in so few people that both figures together may say something about one.

    People differ who are on one of the two only, or whose attention is not the same because their rank changed. Of the
    latter the effective number counts: where one moves far and all others by one rank, the figures reveal that one.
    """
    exchanged = np.setxor1d(comparison.plain, listed)
    if are_few_people(page_alignment(collection, exchanged, space, question.within).total(), space):
        return True
    pages, change = attention_change(comparison.plain, listed, question)
    alignment = page_alignment(collection, pages, space, question.within)
    personal = [dimension.name for dimension in space.dimensions if dimension.is_personal]
    return any(has_few_effective(change[are_people(alignment, space, name)]) for name in personal)


def attention_change(
    before: NDArray[np.int32], after: NDArray[np.int32], question: Question
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The pages of two lists, and by how much the attention of each differs between them."""
    pages = np.union1d(before, after)
    attention = np.zeros((2, len(pages)))
    for at, listed in enumerate((before, after)):
        attention[at, np.searchsorted(pages, listed)] = question.weights(len(listed))
    return pages, np.abs(attention[1] - attention[0])


def _changes(dimension: str, before: Balance, after: Balance) -> Sequence[Change]:
    earlier = {row.label: row for row in before.by_dimension(dimension)}
    tones = after.space.dimension(dimension).readable_groups
    return [
        Change(
            row.label,
            earlier[row.label].share if row.label in earlier else 0.0,
            row.share,
            row.goal,
            tones.index(row.label),
        )
        for row in after.by_dimension(dimension)
        if not row.is_unknown and not row.is_hidden and not (row.label in earlier and earlier[row.label].is_hidden)
    ]
