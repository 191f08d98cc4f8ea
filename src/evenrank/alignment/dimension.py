"""A dimension: one attribute along which pages fall into groups, packed as a bit mask per page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    background: tuple[float, ...]
    """Wanted share of each known group (all but the first) in the world; sums to 1."""
    encode: Callable[[object], int]
    """Metadata value → mask. Raises ValueError, saying what was found, on a value it does not know."""
    source: str
    """Where the background comes from."""
    label: str = ""
    """Heading for readers, e.g. `Region`; empty takes the name."""
    group_labels: tuple[str, ...] = ()
    """Group names for readers, in the order of `groups`; empty takes those."""
    is_personal: bool = False
    """Whether it describes a person: shown as totals only, never beside an article."""

    def __post_init__(self) -> None:
        if len(self.background) != len(self.groups) - 1:
            raise ValueError(f"dimension {self.name}: one background share per known group is needed")
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

    def background_array(self) -> NDArray[np.float64]:
        return np.array(self.background)

    def mask_of(self, group: str) -> int:
        """The mask of one group; KeyError when there is no such group."""
        by_name = {name.casefold(): index for index, name in enumerate(self.groups)}
        return 1 << by_name[group.casefold()]


def listed_values(value: object) -> list[object]:
    """A metadata value as a list: null is empty, a lone value is a list of one."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
