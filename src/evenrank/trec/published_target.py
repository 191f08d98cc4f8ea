"""Targets and exposure over the eight dimensions of 2022, rounded as the organisers' code rounds them.

The ends of an interval over few topics depend on the last bit of each topic's score: some resamples are all topics in
another order, and rounding decides on which side of the mean they fall. So the order of the operations is reproduced:
sums in blocks of 8,192 (numpy before 2.3), matrix products as chains of fused multiply-adds in blocks of at most 384
pages, and dot products in 32 lanes on each of two threads (OpenBLAS on processors with AVX-512). Zeros change none of
these, so only the cells that hold something are visited.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import GroupSpace
from evenrank.core.problem import QueryBatch
from evenrank.core.sparse import (
    SparseAlignment,
    SparseTarget,
    SparseVector,
    blended_part,
    sparse_sections,
    unblended_part,
)
from evenrank.trec.collection import Collection

Values = NDArray[np.float64]
SUM_BLOCK = 8192
"""Elements that numpy before 2.3 sums pairwise before it adds them to the total: the size of its buffer."""
LEAF, LANES = 128, 8
"""A pairwise sum ends in leaves of 128 elements, each added up in eight lanes."""
PAGE_BLOCK = 384
"""Pages of a matrix product that are added up before the result is touched."""
DOT_LANES = 32
SINGLE_THREAD = 10_000
"""Longest dot product that is taken by one thread."""
_SPLITTER = float((1 << 27) + 1)


def block_sum(vector: SparseVector, size: int) -> float:
    """Sum of an array of `size` elements: pairwise within blocks, block after block."""
    n_full = size // SUM_BLOCK * SUM_BLOCK
    n_inside = int(np.searchsorted(vector.cells, n_full))
    total = 0.0
    for part in _full_block_sums(vector.cells[:n_inside], vector.values[:n_inside]).tolist():
        total += part
    if n_full == size:
        return total
    rest = np.zeros(size - n_full)
    rest[vector.cells[n_inside:] - n_full] = vector.values[n_inside:]
    return total + float(np.add.reduce(rest))


def single_sum(values: NDArray[np.floating]) -> float:
    """Sum of an array in its own precision, block after block."""
    total = values.dtype.type(0)
    for start in range(0, len(values), SUM_BLOCK):
        total += values[start : start + SUM_BLOCK].sum()
    return float(total)


def _full_block_sums(cells: NDArray[np.int64], values: Values) -> Values:
    """The sum of each block that holds something, in order."""
    blocks, block = np.unique(cells // SUM_BLOCK, return_inverse=True)
    leaf = cells % SUM_BLOCK // LEAF
    n_leaves = SUM_BLOCK // LEAF
    lane = (block * n_leaves + leaf) * LANES + cells % LANES
    sums = np.bincount(lane, values, minlength=len(blocks) * n_leaves * LANES).reshape(len(blocks), n_leaves * LANES)
    while sums.shape[1] > 1:  # lanes, then leaves: neighbours are added, in pairs
        sums = sums[:, ::2] + sums[:, 1::2]
    return np.asarray(sums[:, 0], np.float64)


def dot(x: SparseVector, y: SparseVector, size: int) -> float:
    """Dot product of two arrays of `size` elements: half of them on each of two threads, unless they are few."""
    at_x, at_y = shared_cells(x, y)
    cells = x.cells[at_x]
    product, error = _exact_product(x.values[at_x], y.values[at_y])
    first = size if size <= SINGLE_THREAD else (size + 1) // 2
    thread = (cells >= first).astype(np.int64)
    within = cells - first * thread
    in_steps = within < np.array([first, size - first])[thread] // DOT_LANES * DOT_LANES
    lane = within[in_steps] % DOT_LANES + DOT_LANES * thread[in_steps]
    lanes = _long_chains(lane, product[in_steps], error[in_steps], np.zeros(2 * DOT_LANES))
    total = 0.0
    for number, (sums, length) in enumerate(zip(lanes.reshape(2, DOT_LANES), (first, size - first), strict=True)):
        rest = (thread == number) & ~in_steps
        total += _fold_lanes(sums, length, within[rest], product[rest], error[rest])
    return total


def shared_cells(x: SparseVector, y: SparseVector) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where x and y hold the cells that both of them have."""
    if len(y.cells) == 0:
        return np.empty(0, np.intp), np.empty(0, np.intp)
    at_y = np.minimum(np.searchsorted(y.cells, x.cells), len(y.cells) - 1)
    at_x = np.flatnonzero(y.cells[at_y] == x.cells)
    return at_x, at_y[at_x]


def _fold_lanes(lanes: Values, size: int, cells: NDArray[np.int64], product: Values, error: Values) -> float:
    """The sum of 32 lanes: folded to 16, which take half a step more, then to one, to which the rest is added."""
    n_halves = size // 16 * 16
    folded = lanes.reshape(4, 2, 4).sum(axis=1).reshape(-1)
    cut = int(np.searchsorted(cells, n_halves))
    folded = _long_chains(cells[:cut] % 16, product[:cut], error[:cut], folded).reshape(4, 4)
    four = folded[0] + folded[1] + folded[2] + folded[3]
    two = four[:2] + four[2:]
    start = np.array([two[0] + two[1]])
    return float(_long_chains(np.zeros(len(cells) - cut, np.int64), product[cut:], error[cut:], start)[0])


def sum_of_products(
    cells: NDArray[np.int64], left: Values, right: Values, pages: NDArray[np.int64], n_pages: int
) -> SparseVector:
    """Sum over pages of left × right by cell: the matrix product of two alignments, of which entries are given.

    Entries come in the order of their `pages`, which are numbered from 0.
    """
    found, column = np.unique(cells, return_inverse=True)
    product, error = _exact_product(left, right)
    total = np.zeros(len(found))
    start = 0
    while start < n_pages:
        end = start + _block_length(n_pages - start)
        first, last = np.searchsorted(pages, [start, end])
        part = slice(int(first), int(last))
        total = total + _chains(column[part], product[part], error[part], len(found))
        start = end
    held = np.flatnonzero(total)  # pages without a weight hold nothing, and a share of nothing is undefined
    return SparseVector(found[held], total[held])


def _block_length(n_left: int) -> int:
    """Pages of the next block: all that fit, or half of what is left where that spares a short last block."""
    if n_left >= 2 * PAGE_BLOCK:
        return PAGE_BLOCK
    return (n_left + 1) // 2 if n_left > PAGE_BLOCK else n_left


def _exact_product(x: Values, y: Values) -> tuple[Values, Values]:
    """Rounded products and their rounding errors (Dekker 1971), which are exact together."""
    product = x * y
    x_high, x_low = _split(x)
    y_high, y_low = _split(y)
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def _split(x: Values) -> tuple[Values, Values]:
    scaled = _SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high


def _chains(chain: NDArray[np.int64], product: Values, error: Values, n: int) -> Values:
    """`n` chains of fused multiply-adds from 0: each product is added to its chain, in order, and rounded once."""
    if not error.any():  # the products are exact, so that plain additions in the same order round the same
        return np.bincount(chain, product, minlength=n).astype(np.float64, copy=False)
    order = np.argsort(chain, kind="stable")
    lengths = np.bincount(chain, minlength=n)
    longest_first = np.argsort(-lengths, kind="stable")
    firsts = (np.cumsum(lengths) - lengths)[longest_first]
    n_active = np.searchsorted(-lengths[longest_first], -np.arange(lengths.max()), side="left")
    active = np.zeros(n)
    for step, count in enumerate(n_active.tolist()):
        entry = order[firsts[:count] + step]
        _add_fused(active[:count], product[entry], error[entry], np.empty((3, count)))
    sums = np.empty(n)
    sums[longest_first] = active
    return sums


def _long_chains(chain: NDArray[np.int64], product: Values, error: Values, start: Values) -> Values:
    """The same for few chains of much the same length, from given values."""
    order = np.argsort(chain, kind="stable")
    lengths = np.bincount(chain, minlength=len(start))
    step = np.arange(len(chain)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    steps = np.zeros((2, int(lengths.max(initial=0)), len(start)))
    steps[0, step, chain[order]], steps[1, step, chain[order]] = product[order], error[order]
    sums, scratch = start.copy(), np.empty((3, len(start)))
    for products, errors in zip(*steps, strict=True):
        _add_fused(sums, products, errors, scratch)
    return sums


def _add_fused(sums: Values, product: Values, error: Values, scratch: Values) -> None:
    """Adds product + error to the sums in place, rounded once: the error of the addition (Knuth) is added to theirs."""
    rounded, added, lost = scratch
    np.add(sums, product, out=rounded)
    np.subtract(rounded, sums, out=added)
    np.subtract(rounded, added, out=lost)
    np.subtract(sums, lost, out=lost)
    np.subtract(product, added, out=added)
    lost += added
    lost += error
    np.add(rounded, lost, out=sums)


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


@dataclass(frozen=True)
class PublishedGroups:
    """Exposure and target by place in the organisers' arrays of `size` elements."""

    exposure: SparseVector
    target: SparseVector
    size: int

    def awrf(self, log_base: float) -> float:
        """1 − Jensen–Shannon divergence, by way of its square root."""
        p = self.exposure.values / block_sum(self.exposure, self.size)
        q = SparseVector(self.target.cells, self.target.values / block_sum(self.target, self.size))
        middle = (p + q.at(self.exposure.cells)) / 2.0
        left = SparseVector(self.exposure.cells, p * _log(p / middle))
        divergence = block_sum(left, self.size) + block_sum(self._target_terms(q, middle), self.size)
        distance = math.sqrt(max(0.0, divergence / math.log(log_base) / 2.0))
        return 1.0 - distance * distance

    def _target_terms(self, q: SparseVector, middle: Values) -> SparseVector:
        """q log(q / m) by place; m is q / 2 where there is no exposure."""
        terms = q.values * math.log(2.0)
        at_exposure, at_target = shared_cells(self.exposure, q)
        exposed = q.values[at_target]
        terms[at_target] = exposed * _log(exposed / middle[at_exposure])
        return SparseVector(q.cells, terms)

    def loss(self) -> float:
        """‖ε − ε*‖²."""
        unwanted = np.setdiff1d(self.exposure.cells, self.target.cells, assume_unique=True)
        cells = np.sort(np.concatenate([self.target.cells, unwanted]), kind="stable")
        difference = SparseVector(cells, self.exposure.at(cells) - self.target.at(cells))
        return dot(difference, difference, self.size)

    def disparity(self) -> float:
        """ε · ε."""
        return dot(self.exposure, self.exposure, self.size)

    def relevance(self) -> float:
        """ε · ε*."""
        return dot(self.exposure, self.target, self.size)


@dataclass(frozen=True)
class PublishedView:
    """The ranked pages of a topic and its target, in the organisers' layout."""

    pages: PublishedPages
    target: SparseVector

    def groups(self, batch: QueryBatch) -> PublishedGroups:
        """Exposure beside the target: the attention of the pages that count, over its sum or the number of rankings."""
        is_counted = self.pages.is_listed & batch.is_relevant if batch.relevant_only else self.pages.is_listed
        kept = np.flatnonzero(is_counted)
        given = self.pages.total(batch.attention.astype(np.float64), kept)
        share = float(batch.attention[kept].sum()) if batch.is_share else max(1.0, float(batch.n_rankings[0]))
        return PublishedGroups(SparseVector(given.cells, given.values / share), self.target, self.pages.layout.size)


def _log(values: Values) -> Values:
    """Natural logarithms by the C library, whose last bit numpy's own need not share."""
    return np.array([math.log(value) for value in values.tolist()])
