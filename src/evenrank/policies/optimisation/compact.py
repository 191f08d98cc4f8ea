"""A topic's candidates cut down to what can matter: page types that occur, groups that they reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.alignment import Alignment


@dataclass(frozen=True)
class CompactAlignment:
    """The alignment of the candidates over the groups that some candidate is in."""

    rows: NDArray[np.float64]
    """Page type by reached group."""
    page_type: NDArray[np.intp]
    is_reached: NDArray[np.bool_]
    """For each group of the alignment: does some candidate give it exposure?"""


def compact(alignment: Alignment, is_counted: NDArray[np.bool_]) -> CompactAlignment:
    """The alignment without types that no page has and without groups that no page is in or that do not count."""
    occurs = np.bincount(alignment.page_type, minlength=len(alignment.rows)) > 0
    rows = alignment.rows[occurs]
    is_reached = (rows > 0.0).any(axis=0) & is_counted
    new_number = np.cumsum(occurs) - 1
    return CompactAlignment(rows[:, is_reached], new_number[alignment.page_type], is_reached)
