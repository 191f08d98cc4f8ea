"""How often each group occurs on a page, for dimensions that count (regions of sources), opened by memory map."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.core.sparse_alignment import Memberships


@dataclass(frozen=True)
class GroupCounts:
    """The counts of the groups in each page's mask: row r has `values[starts[r]:starts[r + 1]]`, by ascending bit."""

    starts: NDArray[np.unsignedinteger]
    values: NDArray[np.unsignedinteger]

    def weigh(self, rows: NDArray[np.intp], groups: Memberships) -> Memberships:
        """The groups of rows with their counts as shares; a row of −1 keeps the shares that it has."""
        sizes = groups.sizes
        within = np.arange(len(groups.groups)) - np.repeat(groups.starts[:-1], sizes)
        row_of_entry = np.repeat(rows, sizes)
        is_listed = row_of_entry >= 0
        shares = groups.shares.astype(np.float64)
        shares[is_listed] = self.values[self.starts[row_of_entry[is_listed]].astype(np.int64) + within[is_listed]]
        return Memberships(groups.starts, groups.groups, shares)


def counts_files(dimension: str) -> tuple[str, str]:
    """Names of the two arrays of a dimension, without their ending."""
    return f"count-starts-{dimension}", f"counts-{dimension}"


def save_counts(
    folder: Path, dimension: str, masks: NDArray[np.unsignedinteger], values: NDArray[np.unsignedinteger]
) -> None:
    """Write the counts of all pages."""
    starts = np.concatenate([[0], np.cumsum(np.bitwise_count(masks), dtype=np.int64)])
    names = counts_files(dimension)
    np.save(folder / f"{names[0]}.npy", starts.astype("<u4" if starts[-1] < 2**32 else "<u8"))
    np.save(folder / f"{names[1]}.npy", values)
