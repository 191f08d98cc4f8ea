"""Marks: what editors say of single articles, so that the next draw leaves them out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.searches.saved_search import SavedSearch
from evenrank.app.storage.store import now
from evenrank.database.database import Database

DONE, NOT_FOR_ME, OFF_TOPIC, NONE = "done", "not-for-me", "off-topic", "none"
MARKS = (DONE, NOT_FOR_ME, OFF_TOPIC, NONE)
FOR_ALL = (DONE, OFF_TOPIC)
"""Marks that leave an article out of everybody's draws."""


UPSERT = (
    "INSERT INTO mark (search, page_id, editor, kind, created, name) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (search, page_id, editor) "
    "DO UPDATE SET kind = excluded.kind, created = excluded.created, name = excluded.name"
)


class NotInSearchError(BadRequestError):
    """A mark of an article that the search did not find."""

    status_for_bots = 404


@dataclass(frozen=True)
class Mark:
    """A mark as somebody sees it."""

    kind: str
    is_own: bool
    """Whether it is the visitor's own, who may take it back."""
    name: str = ""
    """Who made it; empty when nobody signed in."""


NO_MARK = Mark("", is_own=False)


def set_mark(store: Database, search: SavedSearch, page_id: int, kind: str, editor: str, name: str = "") -> None:
    """Keep an editor's mark of an article; `none` takes it back."""
    if kind not in MARKS:
        raise BadRequestError(Message("A mark is one of: %(names)s.", names=", ".join(MARKS)))
    if page_id not in search.page_ids:
        raise NotInSearchError("That article is not in this search.")
    key = (search.number, page_id, editor)
    with store.transaction(search.turn) as connection:
        if kind == NONE:
            connection.execute("DELETE FROM mark WHERE search = ? AND page_id = ? AND editor = ?", key)
        else:
            connection.execute(UPSERT, (*key, kind, now(), name))


def remove_marks(store: Database, search: SavedSearch, page_id: int) -> None:
    """Take back everybody's mark of an article; for whoever owns the search."""
    with store.transaction(search.turn) as connection:
        connection.execute("DELETE FROM mark WHERE search = ? AND page_id = ?", (search.number, page_id))


def marks_seen_by(store: Database, search: SavedSearch, editor: str) -> dict[int, Mark]:
    """Marks by page as one editor sees them: the own ones, and what others have done or found off topic."""
    query = (
        "SELECT page_id, kind, editor, name FROM mark WHERE search = ? "
        "AND (kind IN ('done', 'off-topic') OR editor = ?) ORDER BY editor = ?"
    )
    rows = store.connection.execute(query, (search.number, editor, editor)).fetchall()
    return {row["page_id"]: Mark(row["kind"], row["editor"] == editor, row["name"]) for row in rows}


def count_marks(store: Database, search: SavedSearch) -> dict[str, int]:
    """Number of articles with each mark, over all editors."""
    query = "SELECT DISTINCT page_id, kind FROM mark WHERE search = ?"
    counts = Counter(row["kind"] for row in store.connection.execute(query, (search.number,)))
    return {kind: counts[kind] for kind in (DONE, NOT_FOR_ME, OFF_TOPIC)}
