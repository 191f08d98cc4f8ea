"""Targets over many groups, blended without ever listing them all.

A blended target is a sparse part, on the groups of the relevant pages, and a product: where the background has a group
that no relevant page belongs to, its share is spread over the other dimensions as the relevant pages are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import GroupSpace
from evenrank.core.sparse_alignment import SparseVector


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
