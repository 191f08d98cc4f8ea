"""Alignments and targets over many groups: only the cells that a page belongs to are kept.

The eight dimensions of 2022 make 11,176,704 groups, of which a page belongs to a handful. A blended target is a sparse
part, on the groups of the relevant pages, and a product: where the background has a group that no relevant page belongs
to, its share is spread over the other dimensions as the relevant pages are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

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

    def at(self, cells: NDArray[np.integer]) -> NDArray[np.float64]:
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


@dataclass(frozen=True)
class SparseTarget:
    """Wanted exposure of each group: `listed`, plus `spread` of its blended dimensions × `marginal` of the others."""

    space: GroupSpace
    listed: SparseVector
    spread: NDArray[np.float64]
    """By cell of the dimensions with a background."""
    marginal: SparseVector
    """By cell of the other dimensions; sums to 1."""

    @cached_property
    def _blended(self) -> GroupSpace:
        return blended_part(self.space)

    @cached_property
    def _others(self) -> GroupSpace:
        return unblended_part(self.space)

    def at(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """Wanted exposure of each of the cells."""
        return self.listed.at(cells) + self._product_at(cells)

    def _product_at(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        if len(self.marginal.cells) == 0:
            return np.zeros(len(cells))
        spread = self.spread[self.space.cells_in(self._blended, cells)]
        return spread * self.marginal.at(self.space.cells_in(self._others, cells))

    @cached_property
    def total(self) -> float:
        """Sum over all groups."""
        return float(self.listed.values.sum() + self.spread.sum() * self.marginal.values.sum())

    @cached_property
    def squared_norm(self) -> float:
        """Sum of squares over all groups."""
        crossed = float(self.listed.values @ self._product_at(self.listed.cells))
        squares = float(self.listed.values @ self.listed.values)
        return (
            squares
            + 2.0 * crossed
            + float(self.spread @ self.spread) * float(self.marginal.values @ self.marginal.values)
        )

    def dense(self) -> NDArray[np.float64]:
        """Wanted exposure of every group, for spaces with few."""
        return self.at(np.arange(self.space.n_groups))

    def scaled(self, factor: float) -> SparseTarget:
        """All wanted exposure times a factor."""
        listed = SparseVector(self.listed.cells, self.listed.values * factor)
        return replace(self, listed=listed, spread=self.spread * factor)

    def margin(self, part: GroupSpace) -> SparseTarget:
        """The target summed over all dimensions but those of `part`."""
        blended, others = blended_part(part), unblended_part(part)
        listed = SparseVector.summed(self.space.cells_in(part, self.listed.cells), self.listed.values)
        cells = self._blended.cells_in(blended, np.arange(self._blended.n_groups))
        spread = np.bincount(cells, self.spread, minlength=blended.n_groups).astype(np.float64, copy=False)
        marginal = SparseVector.summed(self._others.cells_in(others, self.marginal.cells), self.marginal.values)
        return SparseTarget(part, listed, spread, marginal)

    def nonzero(self) -> SparseVector:
        """Every group with a wanted exposure above 0; may be long."""
        blended = np.flatnonzero(self.spread)
        left, right = np.repeat(blended, len(self.marginal.cells)), np.tile(self.marginal.cells, len(blended))
        product = _join_cells(self.space, (self._blended, left), (self._others, right))
        cells = np.union1d(self.listed.cells, product)
        values = self.at(cells)
        return SparseVector(cells[values > 0.0], values[values > 0.0])


def blended_part(space: GroupSpace) -> GroupSpace:
    """The dimensions of a space that have a background."""
    return GroupSpace(tuple(dimension for dimension in space.dimensions if dimension.is_blended))


def unblended_part(space: GroupSpace) -> GroupSpace:
    """The dimensions of a space that have no background."""
    return GroupSpace(tuple(dimension for dimension in space.dimensions if not dimension.is_blended))


def blend_sparsely(distribution: SparseVector, space: GroupSpace, weight: float = 0.5) -> SparseTarget:
    """`distribution` over groups, each section of the blended dimensions mixed with `weight` of its background.

    With m the mass of a blended cell, M that of its section and b its share of the background, the cell's groups are
    multiplied by 1 − w + w b M / m; where m is 0, w b M is spread over the other dimensions as the whole distribution
    is. Pages of which nothing is known in the blended dimensions stay as they are. Without other dimensions this is
    `target.blend`.
    """
    blended, others = blended_part(space), unblended_part(space)
    cell = space.cells_in(blended, distribution.cells)
    mass = np.bincount(cell, distribution.values, minlength=blended.n_groups).astype(np.float64, copy=False)
    section, background = sparse_sections(blended)
    section_mass = np.bincount(section, mass)[section]
    wanted = np.where(section > 0, weight * background * section_mass, 0.0)
    kept = np.where(section > 0, 1.0 - weight, 1.0)
    factor = kept + np.divide(wanted, mass, out=np.zeros_like(mass), where=mass > 0.0)
    marginal = SparseVector.summed(space.cells_in(others, distribution.cells), distribution.values)
    total = marginal.values.sum()
    if total > 0.0:
        marginal = SparseVector(marginal.cells, marginal.values / total)
    listed = SparseVector(distribution.cells, distribution.values * factor[cell])
    return SparseTarget(space, listed, np.where(mass > 0.0, 0.0, wanted), marginal)


def sparse_sections(blended: GroupSpace) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Of each cell: the number of its pattern of known and unknown dimensions (0: all unknown), and its background."""
    pattern = np.zeros(1, np.int64)
    background = np.ones(1)
    for dimension in blended.dimensions:
        known = np.arange(len(dimension.scored_groups)) > 0
        shares = np.concatenate([[1.0], dimension.background_array()])
        pattern = (2 * pattern[:, None] + known).reshape(-1)
        background = np.multiply.outer(background, shares).reshape(-1)
    return pattern, background


def _join_cells(space: GroupSpace, *parts: tuple[GroupSpace, NDArray[np.int64]]) -> NDArray[np.int64]:
    """Cells of `space` from cells of the spaces that have its dimensions between them."""
    places: dict[str, NDArray[np.intp]] = {}
    for part, cells in parts:
        names = [dimension.name for dimension in part.dimensions]
        places |= dict(zip(names, np.unravel_index(cells, part.shape) if names else (), strict=True))
    found = np.zeros(len(parts[0][1]), np.int64)
    for dimension, size in zip(space.dimensions, space.shape, strict=True):
        found = found * size + places[dimension.name]
    return found
