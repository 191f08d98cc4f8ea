"""Group space: the Cartesian product of dimensions, whose cells are the groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.dimension import Dimension


@dataclass(frozen=True)
class GroupSpace:
    """The product of a list of dimensions; cell 0 is the one where every dimension is unknown, if there is one."""

    dimensions: tuple[Dimension, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(dimension.scored_groups) for dimension in self.dimensions)

    @property
    def n_groups(self) -> int:
        return prod(self.shape)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the groups in order, e.g. `Africa|female`."""
        return tuple("|".join(cell) for cell in product(*(d.scored_groups for d in self.dimensions)))

    @property
    def has_unknown(self) -> bool:
        """Whether there is a cell for pages of which nothing is known: cell 0."""
        return all(dimension.has_unknown for dimension in self.dimensions)

    @property
    def is_blended(self) -> bool:
        """Whether targets are blended with a background in every dimension."""
        return all(dimension.is_blended for dimension in self.dimensions)

    def names_of(self, cells: NDArray[np.int64]) -> list[str]:
        """Names of some groups, where there are too many to name all."""
        places = np.unravel_index(cells, self.shape)
        columns = [np.array(d.scored_groups)[at].tolist() for d, at in zip(self.dimensions, places, strict=True)]
        return ["|".join(cell) for cell in zip(*columns, strict=True)]

    def part(self, names: Iterable[str]) -> GroupSpace:
        """The space of some of its dimensions, in the order given."""
        return GroupSpace(tuple(self.dimension(name) for name in names))

    def cells_in(self, part: GroupSpace, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cell of `part`, a space of some of the same dimensions, that each of `cells` belongs to."""
        found = np.zeros(len(cells), np.int64)
        if not part.dimensions:
            return found
        places = dict(zip((d.name for d in self.dimensions), np.unravel_index(cells, self.shape), strict=True))
        for dimension, size in zip(part.dimensions, part.shape, strict=True):
            found = found * size + places[dimension.name]
        return found

    def dimension(self, name: str) -> Dimension:
        """The dimension of that name."""
        return self.dimensions[self._axis(name)]

    def margin(self, values: NDArray[np.float64], dimension: str) -> NDArray[np.float64]:
        """Values by group (the last axis) summed over all dimensions but one: values by group of that dimension."""
        cells = values.reshape(*values.shape[:-1], *self.shape)
        first = values.ndim - 1
        others = tuple(first + axis for axis in range(len(self.shape)) if axis != self._axis(dimension))
        return np.asarray(cells.sum(axis=others))

    def _axis(self, name: str) -> int:
        return [dimension.name for dimension in self.dimensions].index(name)

    def sections(self) -> Iterator[tuple[tuple[slice, ...], NDArray[np.float64]]]:
        """Each pattern of known and unknown dimensions but the fully unknown one, in a space that is blended.

        Gives the part of the matrix that the pattern covers, and the background distribution over it: the
        product of the backgrounds of the dimensions that are known there.
        """
        for pattern in product((False, True), repeat=len(self.dimensions)):
            if any(pattern):
                yield self._section(pattern)

    def _section(self, pattern: tuple[bool, ...]) -> tuple[tuple[slice, ...], NDArray[np.float64]]:
        background = np.ones(())
        for dimension, is_known in zip(self.dimensions, pattern, strict=True):
            share = dimension.background_array() if is_known else np.ones(1)
            background = np.multiply.outer(background, share)
        return tuple(slice(1, None) if is_known else slice(0, 1) for is_known in pattern), background
