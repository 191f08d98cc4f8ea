"""What editors say of a search's articles changes which ones come next: "not our topic" lowers what is like them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evenrank.app.desk import Desk
from evenrank.app.searches.saved_search import SavedSearch
from evenrank.database.database import Database
from evenrank.retrieval.query.marks import Marks, scores_with_marks

MOST_REMEMBERED = 64
"""Searches whose relevance is remembered, as their marks are now."""


def search_feedback(store: Database, search: SavedSearch) -> Marks:
    """What the marks of all editors say: done articles are on topic, those marked so are not."""
    query = "SELECT DISTINCT page_id, kind FROM mark WHERE search = ? ORDER BY page_id"
    rows = store.connection.execute(query, (search.number,)).fetchall()
    off_topic = {row["page_id"] for row in rows if row["kind"] == "off-topic"}
    done = (row["page_id"] for row in rows if row["kind"] == "done" and row["page_id"] not in off_topic)
    return Marks(tuple(done), tuple(sorted(off_topic)))


def relevance_by_marks(desk: Desk, search: SavedSearch) -> NDArray[np.float64]:
    """Relevance of the candidates in the light of the marks: each has that of the rank it comes to.

    Done articles alone change nothing: they were drawn because search believed in them already.
    """
    marks = search_feedback(desk.store, search)
    return _by_marks(_Asked(desk, search, marks)) if marks.not_relevant else search.relevance


class _Asked:
    """A search with its marks, equal to another one of the same marks on the same data."""

    def __init__(self, desk: Desk, search: SavedSearch, marks: Marks) -> None:
        self.desk, self.search, self.marks = desk, search, marks
        self.key = (desk.data, str(desk.store.path), search.token, marks)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and self.key == other.key


@lru_cache(MOST_REMEMBERED)
def _by_marks(asked: _Asked) -> NDArray[np.float64]:
    search = asked.search
    scores = scores_with_marks(asked.desk.source.model(), search.page_ids, search.relevance, asked.marks)
    relevance = np.empty_like(search.relevance)
    relevance[np.argsort(-scores, kind="stable")] = np.sort(search.relevance)[::-1]
    return relevance
