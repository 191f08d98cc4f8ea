"""A work list as it is kept: what was asked, the pages, and what is known of its fairness."""

from __future__ import annotations

from dataclasses import dataclass

from evenrank.sqlite import SqliteFile
from evenrank.web.storage.kept import Kept, fields_of, find_kept, keep, kept_by


@dataclass(frozen=True, kw_only=True)
class WorkList(Kept):
    """One work list. It never changes: another question makes another list."""

    n_candidates: int
    """Pages that were found, of which the list has the best."""


def save_list(store: SqliteFile, made: WorkList, owner: str) -> str:
    """Keep a list; gives the token of its link."""
    return keep(store, "work_list", made, owner, n_candidates=made.n_candidates)


def load_list(store: SqliteFile, token: str) -> WorkList | None:
    """The list behind a link; None when there is none."""
    row = find_kept(store, "work_list", token)
    return None if row is None else WorkList(**fields_of(row), n_candidates=row["n_candidates"])


def lists_of(store: SqliteFile, owner: str, limit: int = 20) -> list[tuple[str, str, str]]:
    """(token, title, created) of the lists that a visitor made, the newest first."""
    return kept_by(store, "work_list", owner, limit, "created")
