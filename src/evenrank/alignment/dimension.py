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


def listed_values(value: object) -> list[object]:
    """A metadata value as a list: null is empty, a lone value is a list of one."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
