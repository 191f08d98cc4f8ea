"""Groupings: for each one a matrix of shares, item by group, unknown first; and their intersections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenrank.core.alignment import Alignment, distinct_codes
from evenrank.core.groups import Dimension, GroupSpace
from evenrank.core.types import Floats
from evenrank.errors import EvenrankError

UNKNOWN = "unknown"
"""Name of the group of items without one; it counts neither in exposure nor in targets."""
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


def has_plain_rows(alignment: Alignment) -> bool:
    """Whether the rows are those of the identity: sums over kinds of items are sums over groups, without a product."""
    n_kinds, n_groups = alignment.rows.shape
    return bool(n_kinds == n_groups == np.count_nonzero(alignment.rows) and np.all(alignment.rows.diagonal() == 1.0))


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
