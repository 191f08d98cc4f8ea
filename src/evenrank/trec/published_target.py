"""Targets over the eight dimensions of 2022, rounded as in the organisers' code: see `published_arithmetic`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import GroupSpace
from evenrank.core.sparse_alignment import SparseAlignment, SparseVector
from evenrank.core.sparse_target import SparseTarget, blended_part, sparse_sections, unblended_part
from evenrank.trec.collection import Collection
from evenrank.trec.published_arithmetic import Values, block_sum, sum_of_products


@dataclass(frozen=True)
class PublishedLayout:
    """Where the organisers' array keeps each group: a row per cell of the blended dimensions, a column for the others.

    Groups of an unblended dimension have a place only if some page belongs to them, in the order of their names.
    """

    space: GroupSpace
    columns: NDArray[np.int64]
    """Column of each cell of the unblended dimensions; −1 for those that no page can be in."""
    n_columns: int

    @property
    def size(self) -> int:
        """Elements of the array."""
        return blended_part(self.space).n_groups * self.n_columns

    def place(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Places of groups in the array."""
        row, other = np.divmod(cells, len(self.columns))
        return np.asarray(row * self.n_columns + self.columns[other], np.int64)

    def placed(self, vector: SparseVector) -> SparseVector:
        """Values by place, from values by group."""
        places = self.place(vector.cells)
        order = np.argsort(places)
        return SparseVector(places[order], vector.values[order])

    def by_group(self, vector: SparseVector) -> SparseVector:
        """Values by group, from values by place."""
        other_at = np.flatnonzero(self.columns >= 0)
        other_at = other_at[np.argsort(self.columns[other_at])]
        row, column = np.divmod(vector.cells, self.n_columns)
        cells = row * len(self.columns) + other_at[column]
        order = np.argsort(cells)
        return SparseVector(cells[order], vector.values[order])


def published_layout(collection: Collection, space: GroupSpace) -> PublishedLayout | None:
    """The layout of a space; None where the blended dimensions do not come first, as the organisers' code needs."""
    is_blended = [dimension.is_blended for dimension in space.dimensions]
    if is_blended != sorted(is_blended, reverse=True):
        return None
    columns, n_columns = np.zeros(1, np.int64), 1
    for dimension in unblended_part(space).dimensions:
        seen = int(np.bitwise_or.reduce(collection.masks[dimension.name], initial=0))
        numbered = list(enumerate(dimension.groups))
        listed = [number for number, _ in numbered[1:] if seen >> number & 1]
        order = [0] * dimension.has_unknown + sorted(listed, key=lambda number: dimension.groups[number])
        place = np.full(len(dimension.groups), -1)
        place[order] = np.arange(len(order))
        place = place if dimension.has_unknown else place[1:]
        joined = np.where((columns[:, None] < 0) | (place < 0), -1, columns[:, None] * len(order) + place)
        columns, n_columns = joined.reshape(-1), n_columns * len(order)
    return PublishedLayout(space, columns, n_columns)


@dataclass(frozen=True)
class PublishedPages:
    """The groups of pages in two factors, as the organisers' code multiplies them: blended dimensions × the others."""

    layout: PublishedLayout
    left: SparseAlignment
    right: SparseAlignment
    is_listed: NDArray[np.bool_]
    """Which pages have metadata."""

    def total(self, weights: Values, kept: NDArray[np.intp] | None = None) -> SparseVector:
        """Weighted sum of the alignments by place, over all pages or those at the positions `kept`."""
        at = np.arange(len(self.left)) if kept is None else kept
        left_row, right_row = self.left.row_of_page[at], self.right.row_of_page[at]
        n_right = np.diff(self.right.starts)[right_row]
        n_entries = np.diff(self.left.starts)[left_row] * n_right
        page = np.repeat(np.arange(len(at)), n_entries)
        within = np.arange(len(page)) - np.repeat(np.cumsum(n_entries) - n_entries, n_entries)
        left = self.left.starts[left_row][page] + within // n_right[page]
        right = self.right.starts[right_row][page] + within % n_right[page]
        cells = self.left.cells[left] * self.layout.n_columns + self.layout.columns[self.right.cells[right]]
        weighted = self.left.weights[left] * weights[at][page]
        return sum_of_products(cells, weighted, self.right.weights[right], page, len(at))


def published_target(mass: SparseVector, layout: PublishedLayout) -> SparseTarget:
    """The distribution `mass` (by place), each section of the blended dimensions averaged with its background.

    This is `blend_sparsely` with every operation in the published order: all cells with a target are listed.
    """
    n_columns = layout.n_columns
    row, column = np.divmod(mass.cells, n_columns)
    section, background = sparse_sections(blended_part(layout.space))
    section_mass = _section_masses(mass, section, n_columns)[section]
    shares = mass.values / _row_masses(mass, n_columns)
    blended = mass.values * 0.5 + background[row] * shares * section_mass[row] * 0.5
    listed = np.where(section[row] > 0, blended, mass.values)
    # Where no relevant page is, the background is spread over the other dimensions as all relevant pages are.
    marginal = np.bincount(column, mass.values, minlength=n_columns)
    spread = marginal / marginal.sum() if len(mass.cells) else marginal
    without = np.setdiff1d(np.flatnonzero((section > 0) & (section_mass > 0.0)), row)
    used = np.flatnonzero(spread)
    product = background[without][:, None] * spread[used] * section_mass[without][:, None] * 0.5
    cells = np.concatenate([mass.cells, (without[:, None] * n_columns + used).reshape(-1)])
    values = np.concatenate([listed, product.reshape(-1)])
    kept = np.flatnonzero(values)
    target = layout.by_group(SparseVector(cells[kept], values[kept]))
    nothing = SparseVector(np.empty(0, np.int64), np.empty(0))
    return SparseTarget(layout.space, target, np.zeros(len(section)), nothing)


def _row_masses(mass: SparseVector, n_columns: int) -> Values:
    """Of each entry: the sum of its row, over all columns."""
    rows, at = np.unique(mass.cells // n_columns, return_inverse=True)
    dense = np.zeros((len(rows), n_columns))
    dense[at, mass.cells % n_columns] = mass.values
    return np.asarray(dense.sum(axis=1)[at], np.float64)


def _section_masses(mass: SparseVector, section: NDArray[np.int64], n_columns: int) -> Values:
    """The mass of each section, its rows one after the other."""
    row, column = np.divmod(mass.cells, n_columns)
    masses = np.zeros(int(section.max(initial=0)) + 1)
    for number in range(1, len(masses)):
        rows = np.flatnonzero(section == number)
        inside = np.flatnonzero(section[row] == number)
        cells = np.searchsorted(rows, row[inside]) * n_columns + column[inside]
        masses[number] = block_sum(SparseVector(cells, mass.values[inside]), len(rows) * n_columns)
    return masses
