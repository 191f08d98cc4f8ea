"""Alignments over many groups: only the cells that a page belongs to are kept.

The eight dimensions of 2022 make 11,176,704 groups, of which a page belongs to a handful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import GroupSpace


@dataclass(frozen=True)
class Memberships:
    """The groups of pages in one dimension: page i is in `groups[starts[i]:starts[i + 1]]` with those `shares`."""

    starts: NDArray[np.int64]
    groups: NDArray[np.int64]
    shares: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many groups each page is in."""
        return np.diff(self.starts)

    @property
    def is_one_hot(self) -> bool:
        """Whether each page is in exactly one group."""
        return len(self.groups) == len(self) and bool((self.sizes == 1).all())

    def divided(self) -> Memberships:
        """The same groups with the shares of each page divided to sum to 1."""
        page = np.repeat(np.arange(len(self)), self.sizes)
        totals = np.bincount(page, self.shares, minlength=len(self))
        return Memberships(self.starts, self.groups, self.shares / totals[page])


def memberships_of_masks(masks: NDArray[np.unsignedinteger], n_groups: int) -> Memberships:
    """The groups whose bits are set, each with a share of 1."""
    blocks = [_set_bits(masks[at : at + BLOCK], n_groups) for at in range(0, len(masks), BLOCK)]
    sizes = np.concatenate([np.zeros(1, np.int64), *(sizes for sizes, _ in blocks)])
    groups = np.concatenate([np.zeros(0, np.int64), *(groups for _, groups in blocks)])
    return Memberships(np.cumsum(sizes), groups, np.ones(len(groups)))


BLOCK = 1 << 16
"""Masks that are unpacked at a time, which bounds the memory."""


def _set_bits(masks: NDArray[np.unsignedinteger], n_groups: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many bits each mask has, and their positions, mask after mask."""
    octets = masks.astype(masks.dtype.newbyteorder("<"), copy=False)[:, None].view(np.uint8)
    bits = np.unpackbits(octets, axis=1, count=n_groups, bitorder="little").view(bool)
    mask, position = np.nonzero(bits)
    return np.bincount(mask, minlength=len(masks)), position


@dataclass(frozen=True)
class SparseVector:
    """Values of some groups, cells ascending; all others are 0."""

    cells: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def summed(cls, cells: NDArray[np.int64], values: NDArray[np.float64]) -> SparseVector:
        """The sum of values by cell; cells may repeat and stand in any order."""
        if len(cells) == 0:
            return cls(cells, values)
        order = np.argsort(cells, kind="stable")
        ordered = cells[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        return cls(ordered[starts], np.add.reduceat(values[order], starts))

    def at(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """The value of each of the cells."""
        if len(self.cells) == 0:
            return np.zeros(len(cells))
        places = np.minimum(np.searchsorted(self.cells, cells), len(self.cells) - 1)
        return np.where(self.cells[places] == cells, self.values[places], 0.0)


@dataclass(frozen=True)
class SparseAlignment:
    """The alignment of a list of pages: page i has the entries of row `row_of_page[i]`."""

    n_groups: int
    starts: NDArray[np.int64]
    """Entries of row r are `starts[r]:starts[r + 1]`."""
    cells: NDArray[np.int64]
    weights: NDArray[np.float64]
    row_of_page: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.row_of_page)

    def _weighted(self, weights: NDArray[np.floating] | None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Cells and values of all entries, each row counted as often as `weights` say."""
        n_rows = len(self.starts) - 1
        row_weights = np.bincount(self.row_of_page, weights, minlength=n_rows)
        values = np.repeat(row_weights, np.diff(self.starts)) * self.weights
        kept = np.flatnonzero(values)
        return self.cells[kept], values[kept]

    def total(self, weights: NDArray[np.floating] | None = None) -> NDArray[np.float64]:
        """Weighted sum of the rows of all pages, over all groups."""
        cells, values = self._weighted(weights)
        return np.bincount(cells, values, minlength=self.n_groups).astype(np.float64, copy=False)

    def sparse_total(self, weights: NDArray[np.floating] | None = None) -> SparseVector:
        """Weighted sum of the rows of all pages, over the groups that have any."""
        return SparseVector.summed(*self._weighted(weights))

    def take(self, positions: NDArray[np.integer]) -> SparseAlignment:
        """The alignment of some of the pages, in the order asked for."""
        return SparseAlignment(self.n_groups, self.starts, self.cells, self.weights, self.row_of_page[positions])


def align_sparsely(
    memberships: Sequence[Memberships], space: GroupSpace, row_of_page: NDArray[np.intp] | None = None
) -> SparseAlignment:
    """The alignment of pages from their groups in each dimension of `space`: the outer product, row by row.

    A page that is in no group of some dimension has an empty row. `row_of_page` says which row each page has, where
    pages share rows.
    """
    n_rows = len(memberships[0])
    row = np.arange(n_rows)
    cells = np.zeros(n_rows, np.int64)
    weights = np.ones(n_rows)
    for one, size in zip(memberships, space.shape, strict=True):
        if one.is_one_hot:
            cells = cells * size + one.groups[row]
            weights = weights * one.shares[row]
            continue
        sizes = one.sizes[row]
        before = np.repeat(np.arange(len(row)), sizes)
        within = np.arange(len(before)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        entry = one.starts[row[before]] + within
        cells = cells[before] * size + one.groups[entry]
        weights = weights[before] * one.shares[entry]
        row = row[before]
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n_rows))]).astype(np.int64)
    return SparseAlignment(
        space.n_groups, starts, cells, weights, np.arange(n_rows) if row_of_page is None else row_of_page
    )
