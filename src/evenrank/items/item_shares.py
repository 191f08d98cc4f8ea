"""Shares of items in groups, as they come → the distinct rows of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.types import Floats
from evenrank.items.groupings import Grouping, refuse_large


@dataclass
class ItemShares:
    """Shares of one grouping as they come: item, group, share."""

    item: NDArray[np.intp]
    group: NDArray[np.intp]
    """Place of the group among `names`."""
    share: Floats
    names: list[str | None]

    @classmethod
    def of(
        cls, item: Sequence[int] | NDArray[np.intp], groups: Sequence[str | None], share: Sequence[float]
    ) -> ItemShares:
        """Shares from the names of groups, which mostly repeat."""
        names = list(dict.fromkeys(groups))
        place = {name: at for at, name in enumerate(names)}
        group = np.fromiter(map(place.__getitem__, groups), np.intp, len(groups))
        return cls(np.asarray(item, np.intp), group, np.asarray(share, np.float64), names)


def shares_of_rows(rows: Sequence[tuple[int, str | None, float]]) -> ItemShares:
    return ItemShares.of([item for item, _, _ in rows], [group for _, group, _ in rows], [share for *_, share in rows])


def grouping_of(name: str, shares: ItemShares, n_items: int) -> Grouping:
    """The matrix of shares, as distinct rows; what is missing to 1 is unknown, and rows above 1 are scaled."""
    groups = tuple(sorted({group for group in shares.names if group is not None}))
    number = {group: at for at, group in enumerate(groups, 1)} | {None: 0}
    item, share = shares.item, shares.share
    group = np.array([number[one] for one in shares.names], np.intp)[shares.group]
    if np.all(share == 1.0) and np.bincount(item).max(initial=0) <= 1:
        refuse_large(len(groups) + 1, len(groups) + 1)
        kind = np.zeros(n_items, np.intp)
        kind[item] = group
        return Grouping(name, groups, Alignment(np.eye(len(groups) + 1), kind))
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
    return Grouping(name, groups, Alignment(rows, kind))


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
