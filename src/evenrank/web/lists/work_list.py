"""A work list as it is kept: what was asked, the pages, and what is known of its fairness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.database import Database, Turn
from evenrank.web.fairness.comparison import Comparison, comparison_from_json
from evenrank.web.storage.arrays import pack, uint8
from evenrank.web.storage.kept import Kept, fields_of, find_kept, keep


@dataclass(frozen=True, kw_only=True)
class WorkList(Kept):
    """One version of a work list. It never changes: newer data or another question make another one."""

    n_candidates: int
    """Pages that were found, of which the list has the best."""
    quality: NDArray[np.uint8] | None = None
    """Class of each page when the list was made; None in lists from before that was recorded."""
    comparison: Comparison | None = None
    """The list beside plain search; None in lists from before that was recorded."""
    series: int = 0
    """Number of the first version of this list; 0 for a list of its own."""

    @property
    def turn(self) -> Turn:
        """What writes about its versions and the work on them queue by."""
        return "list", self.series


def save_list(store: Database, made: WorkList, owner: str) -> str:
    """Keep a list; gives the token of its link."""
    return keep(
        store,
        "work_list",
        made,
        owner,
        n_candidates=made.n_candidates,
        quality=None if made.quality is None else pack(made.quality, "u1"),
        comparison=made.comparison.to_json() if made.comparison else None,
        series=made.series or None,
    )


def load_list(store: Database, token: str) -> WorkList | None:
    """The list behind a link; None when there is none."""
    row = find_kept(store, "work_list", token)
    return None if row is None else list_of_row(row)


def versions_of(store: Database, work_list: WorkList) -> list[WorkList]:
    """All versions of a list, the oldest first."""
    query = "SELECT *, 0 AS is_read_only FROM work_list WHERE series = ? ORDER BY number"
    return [list_of_row(row) for row in store.connection.execute(query, (work_list.series,))]


def list_of_row(row: Any) -> WorkList:
    return WorkList(
        **fields_of(row),
        n_candidates=row["n_candidates"],
        quality=None if row["quality"] is None else uint8(row["quality"]),
        comparison=comparison_from_json(row["comparison"]),
        series=row["series"] or row["number"],
    )
