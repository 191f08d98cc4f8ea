"""A list beside plain search: which articles came in, which went out, and whether that tells of few people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.app.fairness.balance import are_people, page_alignment
from evenrank.app.request.question import Question
from evenrank.core.groups import GroupSpace
from evenrank.core.withheld import are_few_people, has_few_effective
from evenrank.trec.collection import Collection

N_NAMED = 6
"""Articles that are named of those that came in and of those that went out."""
TOP = 100
"""Ranks whose articles are compared: as far as people look."""


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
