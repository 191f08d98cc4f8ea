"""Groupings: for each one a matrix of shares, item by group, unknown first; and their intersections."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment, distinct_codes
from evenrank.core.groups import Dimension, GroupSpace
from evenrank.core.types import Floats
from evenrank.errors import EvenrankError

UNKNOWN = "unknown"
"""Name of the group of items without one; it counts neither in exposure nor in targets."""
ORDINAL_SUFFIX = ":ordinal"
"""End of the name of a grouping whose groups come in an order: that of their names, numbers by their value."""
MAX_SHARES = 1 << 24
"""Shares of kinds of items in groups, or in their intersections, that are held at once: 128 MiB."""


@dataclass(frozen=True, slots=True)
class ItemDimension(Dimension):
    """A dimension of items that are not packed into masks, so that it may have any number of groups."""

    def __post_init__(self) -> None:
        return


@dataclass(frozen=True)
class Grouping:
    """One attribute along which items fall into groups."""

    name: str
    groups: tuple[str, ...]
    """Names of the known groups."""
    alignment: Alignment
    """Shares of each item by number; group 0 is unknown, rows sum to 1."""
    is_ordered: bool = False
    """Whether the order of the groups means something, as that of bands does."""

    def with_groups(self, groups: Sequence[str]) -> Grouping:
        """The same grouping with more groups, to which no item belongs."""
        if not groups:
            return self
        refuse_large(len(self.alignment.rows), self.alignment.n_groups + len(groups))
        rows = np.pad(self.alignment.rows, ((0, 0), (0, len(groups))))
        names = (*self.groups, *groups)
        if self.is_ordered:
            order = sorted(range(len(names)), key=lambda at: _by_value(names[at]))
            names, rows = tuple(names[at] for at in order), rows[:, [0, *(at + 1 for at in order)]]
        return Grouping(self.name, names, Alignment(rows, self.alignment.page_type), self.is_ordered)

    def dimension(self) -> Dimension:
        """As policies know it, all groups being equally large in the world."""
        n_groups = max(1, len(self.groups))
        return ItemDimension(
            name=self.name,
            field=self.name,
            groups=(UNKNOWN, *self.groups),
            background=(1.0 / n_groups,) * len(self.groups),
            encode=lambda value: 0,
            source="equal shares",
        )


@dataclass(frozen=True)
class Groupings:
    """All groupings, and the space of their intersections."""

    parts: tuple[Grouping, ...]

    @property
    def space(self) -> GroupSpace:
        return GroupSpace(tuple(part.dimension() for part in self.parts))

    def notes(self) -> list[str]:
        """A note on groups whose names differ in nothing but capitals and blanks: they may be meant as one."""
        found = []
        for part in self.parts:
            alike: dict[str, list[str]] = {}
            for group in part.groups:
                alike.setdefault(" ".join(str(group).casefold().split()), []).append(str(group))
            same = [" and ".join(map(repr, names)) for names in alike.values() if len(names) > 1]
            if same:
                more = f" and {len(same) - 5:,} more" if len(same) > 5 else ""
                listed = f"{'; '.join(same[:5])}{more}"
                found.append(f"{part.name}: {listed} are different groups (spell them alike to join them)")
        return found

    def with_groups(self, groups: Mapping[str, Sequence[str]]) -> Groupings:
        """The same groupings with more groups, by grouping, to which no item belongs."""
        return Groupings(tuple(part.with_groups(groups.get(part.name, ())) for part in self.parts))

    def joint(self) -> Alignment:
        """Shares over intersections of groups; an item that is unknown in one grouping is unknown altogether.

        Group 0 is unknown. The share in an intersection is the product of the shares.
        """
        if len(self.parts) == 1:
            return self.parts[0].alignment
        rows = np.ones((1, 1))
        item_type = np.zeros(len(self.parts[0].alignment), np.intp)
        for part in self.parts:
            other = part.alignment
            codes = item_type * len(other.rows) + other.page_type
            pairs, item_type = distinct_codes(codes, len(rows) * len(other.rows))
            refuse_large(len(pairs), rows.shape[1] * other.rows.shape[1])
            left, right = rows[pairs // len(other.rows)], other.rows[pairs % len(other.rows)]
            rows = (left[:, :, None] * right[:, None, :]).reshape(len(pairs), -1)
        return Alignment(_known_or_unknown(rows, self.space.shape), item_type)

    def known_joint(self) -> Alignment:
        """Shares over the intersections in which every grouping is known, after a column for the unknown."""
        joint = self.joint()
        if len(self.parts) == 1:
            return joint
        is_known = np.zeros(self.space.shape, bool)
        is_known[tuple(slice(1, None) for _ in self.parts)] = True
        cells = np.concatenate([[0], np.flatnonzero(is_known)])
        return Alignment(joint.rows[:, cells], joint.page_type)


def refuse_large(n_kinds: int, n_cells: int) -> None:
    """EvenrankError where the shares of every kind of item in every group would fill the memory."""
    if n_kinds * n_cells > MAX_SHARES:
        found = f"groups: {n_kinds:,} kinds of items over {n_cells:,} groups or intersections of groups are too many"
        raise EvenrankError(f"{found} (leave some groupings out, or merge small groups)")


def _known_or_unknown(rows: Floats, shape: tuple[int, ...]) -> Floats:
    """The mass of intersections in which some grouping is unknown, moved to the fully unknown one in place."""
    is_known = np.ones(shape, bool)
    for axis in range(len(shape)):
        is_known[(slice(None),) * axis + (0,)] = False
    rows[:, ~is_known.reshape(-1)] = 0.0
    rows[:, 0] = 1.0 - rows.sum(axis=1)
    return rows


@dataclass
class ItemShares:
    """Shares of one grouping as they come: item, group, share."""

    item: NDArray[np.intp]
    group: NDArray[np.intp]
    """Place of the group among `names`."""
    share: Floats
    names: list[str | None]


def grouping_of(name: str, shares: ItemShares, n_items: int) -> Grouping:
    """The matrix of shares, as distinct rows; what is missing to 1 is unknown, and rows above 1 are scaled."""
    is_ordered = name.endswith(ORDINAL_SUFFIX)
    name = name.removesuffix(ORDINAL_SUFFIX)
    known = {group for group in shares.names if group is not None}
    groups = tuple(sorted(known, key=_by_value) if is_ordered else sorted(known))
    number = {group: at for at, group in enumerate(groups, 1)} | {None: 0}
    item, share = shares.item, shares.share
    group = np.array([number[one] for one in shares.names], np.intp)[shares.group]
    if np.all(share == 1.0) and np.bincount(item).max(initial=0) <= 1:
        refuse_large(len(groups) + 1, len(groups) + 1)
        kind = np.zeros(n_items, np.intp)
        kind[item] = group
        return Grouping(name, groups, Alignment(np.eye(len(groups) + 1), kind), is_ordered)
    listed, place = np.unique(item, return_inverse=True)
    place = place.reshape(-1)
    alike, first = _alike(place, group, share, len(listed))
    refuse_large(len(first) + 1, len(groups) + 1)
    is_first = first[alike[place]] == place
    dense = np.zeros((len(first), len(groups) + 1))
    np.add.at(dense, (alike[place[is_first]], group[is_first]), share[is_first])
    dense /= np.maximum(dense.sum(axis=1, keepdims=True), 1.0)
    dense[:, 0] += 1.0 - dense.sum(axis=1)
    unknown = np.zeros((1, len(groups) + 1))
    unknown[0, 0] = 1.0
    rows, kind_of_dense = np.unique(np.concatenate([unknown, dense]), axis=0, return_inverse=True)
    kinds = kind_of_dense.reshape(-1)
    kind = np.full(n_items, kinds[0], np.intp)
    kind[listed] = kinds[1:][alike]
    return Grouping(name, groups, Alignment(rows, kind), is_ordered)


def _by_value(name: str) -> list[str | int]:
    """Key that puts `9 to 10` before `10 to 11`: text and whole numbers in turn."""
    return [int(part) if number % 2 else part for number, part in enumerate(re.split(r"([0-9]+)", name))]


def _alike(
    place: NDArray[np.intp], group: NDArray[np.intp], share: Floats, n_items: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each item the number of its kind, items of the same shares being of one; and one item of each kind.

    Two sums of 64-bit hashes over the shares of an item decide it, so that no row has to be written out.
    """
    sums = []
    for multiplier in (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)):
        mixed = (share.view(np.uint64) ^ (group.astype(np.uint64) * multiplier)) * multiplier
        mixed = (mixed ^ (mixed >> np.uint64(31))) * multiplier
        total = np.zeros(n_items, np.uint64)
        np.add.at(total, place, mixed ^ (mixed >> np.uint64(29)))
        sums.append(total)
    order = np.lexsort(sums)
    is_new = np.ones(n_items, bool)
    is_new[1:] = (sums[0][order][1:] != sums[0][order][:-1]) | (sums[1][order][1:] != sums[1][order][:-1])
    kind = np.empty(n_items, np.intp)
    kind[order] = np.cumsum(is_new) - 1
    return kind, order[is_new]
