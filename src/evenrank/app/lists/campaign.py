"""How a project moved over the versions of its list: quality, balance and finished work, per group as totals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.app.desk import Desk
from evenrank.app.fairness.balance import Balance, list_balance
from evenrank.app.fairness.charts import Stack, stack
from evenrank.app.fairness.closeness import Closeness, closeness_of
from evenrank.app.lists.marks import count_states
from evenrank.app.lists.work_list import WorkList, versions_of
from evenrank.core.records import NO_CLASS, WORK_ORDER


@dataclass(frozen=True)
class Moment:
    """One version of the list."""

    version: WorkList
    classes: tuple[int, ...]
    """Articles of each class, in work order."""
    closeness: Closeness
    """How close the attention is to the goal."""

    @property
    def n_articles(self) -> int:
        return len(self.version.page_ids)


@dataclass(frozen=True)
class GroupOverTime:
    """One group through the versions of a list."""

    label: str
    shares: tuple[float | None, ...]
    """Share of the attention in each version; None where it is withheld or there is none."""
    goal: float
    """The goal of the newest version."""


@dataclass(frozen=True)
class Campaign:
    """The versions of a list side by side."""

    moments: tuple[Moment, ...]
    states: dict[str, int]
    """Articles that are claimed, in work, done, off topic."""
    balances: tuple[Balance, ...]
    """How the attention of each version is shared."""
    picture: Stack

    @property
    def first(self) -> Balance:
        return self.balances[0]

    @property
    def last(self) -> Balance:
        return self.balances[-1]

    def over_time(self, dimension: str) -> list[GroupOverTime]:
        """The shares of each group of a dimension in all versions; what is withheld in one is None there."""
        by_version = [{row.label: row for row in balance.by_dimension(dimension)} for balance in self.balances]
        labels = dict.fromkeys(label for rows in by_version for label in rows)
        found = []
        for label in labels:
            rows = [rows.get(label) for rows in by_version]
            shares = tuple(None if row is None or row.is_hidden else row.share for row in rows)
            if any(shares):
                found.append(
                    GroupOverTime(
                        label, shares, next(row.goal for row in reversed(rows) if row is not None and not row.is_hidden)
                    )
                )
        return found

    def shares_picture(self, dimension: str) -> Stack:
        """The shares of the groups of a dimension, a column for each version; what is withheld is a gap at the top."""
        groups = self.over_time(dimension)
        columns = [[group.shares[at] or 0.0 for group in groups] for at in range(len(self.balances))]
        return stack(columns, [str(at + 1) for at in range(len(columns))], most=1.0)


def campaign_of(desk: Desk, work_list: WorkList) -> Campaign:
    """The campaign of a list."""
    versions = versions_of(desk.store, work_list)
    balances = tuple(balance_of(desk, version) for version in versions)
    moments = tuple(_moment(desk, *both) for both in zip(versions, balances, strict=True))
    return Campaign(
        moments=moments,
        states=count_states(desk.store, work_list),
        balances=balances,
        picture=stack([moment.classes for moment in moments], [str(at + 1) for at in range(len(moments))]),
    )


def _moment(desk: Desk, version: WorkList, balance: Balance) -> Moment:
    codes = version.quality
    if codes is None:
        rows = desk.collection.rows_of(version.page_ids)
        codes = np.where(rows >= 0, desk.collection.quality_class[rows], NO_CLASS).astype(np.uint8)
    counts = np.bincount(codes, minlength=NO_CLASS + 1)[: len(WORK_ORDER)]
    return Moment(version, tuple(counts.tolist()), closeness_of(balance))


def balance_of(desk: Desk, work_list: WorkList, page_ids: NDArray[np.int32] | None = None) -> Balance:
    """How the attention of a list, or of other pages in its place, is shared among groups, against its goal."""
    return list_balance(
        desk.collection,
        work_list.page_ids if page_ids is None else page_ids,
        work_list.target,
        desk.space(work_list),
        work_list.question,
        is_partial=len(work_list.page_ids) < work_list.n_candidates,
    )
