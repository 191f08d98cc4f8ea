"""A list made again from newer data, and what changed: new articles, better ones, deleted ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenrank.app.desk import Desk
from evenrank.app.lists.marks import list_feedback
from evenrank.app.lists.work_list import WorkList, make_list, save_list, versions_of
from evenrank.core.records import NO_CLASS
from evenrank.trec.collection import Collection


@dataclass(frozen=True)
class Difference:
    """What changed from one version of a list to the next; page ids in the order of the lists."""

    added: tuple[int, ...]
    """Articles that the earlier version did not have."""
    improved: tuple[tuple[int, int, int], ...]
    """Page, class before and class now of articles that got better, wherever they are now."""
    declined: tuple[tuple[int, int, int], ...]
    deleted: tuple[int, ...]
    """Articles that the data no longer have."""
    left: tuple[int, ...]
    """Articles that are still there, but no longer in the list: improved beyond its range, or less relevant."""

    @property
    def is_any(self) -> bool:
        return bool(self.added or self.improved or self.declined or self.deleted or self.left)


def refresh(desk: Desk, work_list: WorkList) -> str:
    """Make a list again with the data and the marks of now, as the next version of it; gives the token of its link."""
    made = replace(
        make_list(desk, work_list.question, list_feedback(desk.store, work_list)),
        series=work_list.series,
        name=work_list.name,
        is_private=work_list.is_private,
    )
    return save_list(desk.store, made, work_list.owner)


def previous_version(desk: Desk, work_list: WorkList) -> WorkList | None:
    """The version before this one; None for the first."""
    earlier = [version for version in versions_of(desk.store, work_list) if version.number < work_list.number]
    return earlier[-1] if earlier else None


def newest_version(desk: Desk, work_list: WorkList) -> WorkList:
    return versions_of(desk.store, work_list)[-1]


def difference(collection: Collection, before: WorkList, after: WorkList) -> Difference:
    """What changed between two versions. Classes are those of each version's own data."""
    is_new = ~np.isin(after.page_ids, before.page_ids)
    rows = collection.rows_of(before.page_ids)
    is_gone = rows < 0
    left = ~is_gone & ~np.isin(before.page_ids, after.page_ids)
    improved, declined = _class_changes(collection, before, after)
    return Difference(
        added=_pages(after.page_ids[is_new]),
        improved=tuple(improved),
        declined=tuple(declined),
        deleted=_pages(before.page_ids[is_gone]),
        left=_pages(before.page_ids[left]),
    )


def _class_changes(
    collection: Collection, before: WorkList, after: WorkList
) -> tuple[Sequence[tuple[int, int, int]], Sequence[tuple[int, int, int]]]:
    """Articles of the earlier version whose class rose, and those whose class fell."""
    if before.quality is None:
        return [], []
    rows = collection.rows_of(before.page_ids)
    now = np.where(rows >= 0, collection.quality_class[rows], NO_CLASS)
    if after.quality is not None:  # the later version's own data, where it has the article
        at = {int(page): int(code) for page, code in zip(after.page_ids, after.quality, strict=True)}
        now = np.array([at.get(int(page), int(code)) for page, code in zip(before.page_ids, now, strict=True)])
    was = before.quality.astype(int)
    is_known = (was != NO_CLASS) & (now != NO_CLASS)
    triples = [
        [(int(before.page_ids[at]), int(was[at]), int(now[at])) for at in np.flatnonzero(is_known & changed)]
        for changed in (now > was, now < was)
    ]
    return triples[0], triples[1]


def _pages(page_ids: NDArray[np.int32]) -> tuple[int, ...]:
    return tuple(int(page) for page in page_ids)
