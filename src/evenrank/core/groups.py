"""Dimensions of fairness, their groups, and the space of groups that several dimensions span."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import UnknownNameError

MAX_GROUPS = 63
"""A mask is at most 63 bits wide, so that it fits a signed integer too."""
UNKNOWN_MASK = 1
"""Mask of a page of which nothing is known: bit 0, the first group. A mask of 0 puts a page in no group at all."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One fairness attribute. Bit i of a page's mask says that the page belongs to `groups[i]`."""

    name: str
    """Name in commands and columns, e.g. `geography`."""
    field: str
    """Key of the metadata record that holds the values."""
    groups: tuple[str, ...]
    """Group names; the first one is for pages of which nothing is known."""
    background: tuple[float, ...] | None
    """Wanted share of each known group (all but the first) in the world; sums to 1. None where targets are not blended
    with a background."""
    encode: Callable[[object], int]
    """Metadata value → mask. Raises ValueError, saying what was found, on a value it does not know."""
    source: str
    """Where the background comes from."""
    label: str = ""
    """Heading for readers, e.g. `Region`; empty takes the name."""
    group_labels: tuple[str, ...] = ()
    """Group names for readers, in the order of `groups`; empty takes those."""
    has_unknown: bool = True
    """Whether pages of which nothing is known are a group of their own; else they are in no group."""
    encode_counts: Callable[[object], dict[int, int]] | None = None
    """Metadata value → how often each group (by its number) occurs; None when a page is in a group or is not."""
    is_personal: bool = False
    """Whether it describes a person: shown as totals only, never beside an article."""
    is_ordered: bool = False
    """Whether the known groups come in an order that means something, as bands of a number do."""

    def __post_init__(self) -> None:
        if self.background is not None and len(self.background) != len(self.groups) - 1:
            raise ValueError(f"dimension {self.name}: one background share per known group is needed")
        if self.background is not None and not self.has_unknown:
            raise ValueError(f"dimension {self.name}: a background needs a group of unknown pages")
        if len(self.groups) > MAX_GROUPS:
            raise ValueError(f"dimension {self.name}: more than {MAX_GROUPS} groups")
        if self.group_labels and len(self.group_labels) != len(self.groups):
            raise ValueError(f"dimension {self.name}: one label per group is needed")

    @property
    def heading(self) -> str:
        """The name as readers see it."""
        return self.label or self.name.replace("-", " ").capitalize()

    @property
    def readable_groups(self) -> tuple[str, ...]:
        """The names of the groups as readers see them."""
        return self.group_labels or self.groups

    @property
    def mask_dtype(self) -> np.dtype[np.unsignedinteger]:
        """The narrowest unsigned integer that holds a mask."""
        width = next(width for width in (8, 16, 32, 64) if len(self.groups) <= width)
        return np.dtype(f"<u{width // 8}")

    @property
    def readable_scored_groups(self) -> tuple[str, ...]:
        """The names of the groups that are scored, as readers see them."""
        return self.readable_groups[0 if self.has_unknown else 1 :]

    @property
    def scored_groups(self) -> tuple[str, ...]:
        """The groups that are scored: all of them, or all but the unknown one."""
        return self.groups if self.has_unknown else self.groups[1:]

    @property
    def is_blended(self) -> bool:
        """Whether targets are blended with a background."""
        return self.background is not None

    def background_array(self) -> NDArray[np.float64]:
        """Background of the known groups; equal shares where there is none."""
        if self.background is None:
            return np.full(len(self.groups) - 1, 1.0 / (len(self.groups) - 1))
        return np.array(self.background)

    def mask_of(self, group: str) -> int:
        """The mask of one group; KeyError when there is no such group."""
        by_name = {name.casefold(): index for index, name in enumerate(self.groups)}
        return 1 << by_name[group.casefold()]


GroupNames = str | Dimension | Iterable[str | Dimension]
"""Dimensions that are scored: by name (joined by commas), as objects, or a list of these."""


def listed_values(value: object) -> list[object]:
    """A metadata value as a list: null is empty, a lone value is a list of one."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


NOT_BLENDED = "none: the 2022 track did not blend this dimension with a background"
"""Why a dimension has no background."""


def named_dimension(
    name: str,
    field: str,
    known: Sequence[str],
    *,
    background: Sequence[float] | None = None,
    source: str = NOT_BLENDED,
    also: Mapping[str, str] | None = None,
    has_unknown: bool = True,
    counts: bool = False,
    is_personal: bool = False,
    is_ordered: bool = False,
    label: str = "",
) -> Dimension:
    """A dimension with the groups `Unknown` and `known`; `also` gives other names of groups.

    With `counts` two names of one group count twice where a page is shared between its groups.
    """
    groups = ("Unknown", *known)
    numbers = {group: number for number, group in enumerate(groups)}
    numbers |= {other: numbers[group] for other, group in (also or {}).items()}
    count = group_counter(field, numbers)

    def encode(value: object) -> int:
        mask = 0
        for number in count(value):
            mask |= 1 << number
        return mask or UNKNOWN_MASK

    return Dimension(
        name,
        field,
        groups,
        tuple(background) if background is not None else None,
        encode,
        source,
        label,
        has_unknown=has_unknown,
        encode_counts=count if counts else None,
        is_personal=is_personal,
        is_ordered=is_ordered,
    )


def group_counter(field: str, numbers: Mapping[str, int]) -> Callable[[object], dict[int, int]]:
    """A function from a name or a list of names to the number of different names by group; nothing is unknown."""

    def count(value: object) -> dict[int, int]:
        counts: dict[int, int] = {}
        seen: set[str | None] = set()
        for each in listed_values(value):
            if each is not None and not (isinstance(each, str) and each in numbers):
                raise ValueError(f"{field} {each!r} is not one of: {', '.join(numbers)}")
            if each not in seen:
                seen.add(each)
                number = 0 if each is None else numbers[each]
                counts[number] = counts.get(number, 0) + 1
        return counts or {0: 1}

    return count


@dataclass(frozen=True)
class GroupSpace:
    """The product of a list of dimensions; cell 0 is the one where every dimension is unknown, if there is one."""

    dimensions: tuple[Dimension, ...]

    @classmethod
    def of(cls, names: Sequence[str], known: Mapping[str, Dimension]) -> GroupSpace:
        """The product of the named dimensions, which are looked up in `known`, such as those of a collection."""
        unknown = [name for name in names if name not in known]
        if unknown or not names:
            raise UnknownNameError("dimension", ", ".join(unknown), known)
        return cls(tuple(known[name] for name in dict.fromkeys(names)))

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

    @property
    def is_ordered(self) -> bool:
        """Whether all scored groups come in an order that means something: those of one ordered dimension."""
        return len(self.dimensions) == 1 and self.dimensions[0].is_ordered and not self.dimensions[0].has_unknown

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
                background = np.ones(())
                for dimension, is_known in zip(self.dimensions, pattern, strict=True):
                    share = dimension.background_array() if is_known else np.ones(1)
                    background = np.multiply.outer(background, share)
                yield tuple(slice(1, None) if is_known else slice(0, 1) for is_known in pattern), background


@dataclass(frozen=True)
class GroupShare:
    """The attention that a group gets and should get, in the mean over queries."""

    system: str
    grouping: str
    group: str
    attention: float
    """Share of the attention that known groups get."""
    target: float
