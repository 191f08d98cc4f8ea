"""The work on a list: who claimed an article, who is working on it, what is done, and what is off topic."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from evenrank.app.lists.work_list import WorkList
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.storage.store import now
from evenrank.database.database import Database
from evenrank.retrieval.query.marks import Marks

STATES = ("claimed", "doing", "done", "off-topic")
NONE = "none"
LABELS = {"claimed": "claimed", "doing": "in work", "done": "done", "off-topic": "not our topic"}
"""States in words."""


UPSERT = (
    "INSERT INTO list_mark (series, page_id, kind, editor, name, created) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (series, page_id) DO UPDATE "
    "SET kind = excluded.kind, editor = excluded.editor, name = excluded.name, created = excluded.created"
)


class NotInListError(BadRequestError):
    """A mark of an article that is not in the list."""

    status_for_bots = 404


@dataclass(frozen=True)
class ListMark:
    """The state of the work on one article."""

    kind: str
    is_own: bool
    name: str
    created: str


def marks_of(store: Database, work_list: WorkList, visitor: str) -> dict[int, ListMark]:
    """The state of each article that somebody marked, in whatever version of the list."""
    query = "SELECT page_id, kind, editor, name, created FROM list_mark WHERE series = ?"
    rows = store.connection.execute(query, (work_list.series,))
    return {
        row["page_id"]: ListMark(row["kind"], row["editor"] == visitor, row["name"], row["created"]) for row in rows
    }


def list_feedback(store: Database, work_list: WorkList) -> Marks:
    """What the work says of relevance, for the next version: what somebody took on is on topic, what is marked so is
    not. Finished articles say nothing, so that they do not come to the top."""
    query = "SELECT page_id, kind FROM list_mark WHERE series = ? ORDER BY page_id"
    rows = store.connection.execute(query, (work_list.series,)).fetchall()
    return Marks(
        relevant=tuple(row["page_id"] for row in rows if row["kind"] in ("claimed", "doing")),
        not_relevant=tuple(row["page_id"] for row in rows if row["kind"] == "off-topic"),
    )


def list_statuses(store: Database, work_list: WorkList) -> dict[int, str] | None:
    """The state of each article in words, with the name of who works on it; None when nobody has begun."""
    marks = marks_of(store, work_list, "")
    words = {page: LABELS[mark.kind] + (f" ({mark.name})" if mark.name else "") for page, mark in marks.items()}
    return words or None


def set_list_mark(store: Database, work_list: WorkList, page_id: int, kind: str, visitor: str, name: str) -> None:
    """Keep the state of an article; `none` takes it back. What somebody else claimed stays theirs until it is free."""
    if kind not in (*STATES, NONE):
        raise BadRequestError(Message("A mark is one of: %(names)s.", names=", ".join((*STATES, NONE))))
    if page_id not in work_list.page_ids:
        raise NotInListError("That article is not in this list.")
    key = (work_list.series, page_id)
    with store.transaction(work_list.turn) as connection:
        query = "SELECT kind, editor FROM list_mark WHERE series = ? AND page_id = ?"
        held = connection.execute(query, key).fetchone()
        if held is not None and held["editor"] != visitor and held["kind"] in ("claimed", "doing"):
            raise BadRequestError("Somebody else is working on that article.")
        if kind == NONE:
            connection.execute("DELETE FROM list_mark WHERE series = ? AND page_id = ?", key)
        else:
            row = (*key, kind, visitor, name, now())
            connection.execute(UPSERT, row)


def release(store: Database, work_list: WorkList, page_id: int) -> None:
    """Take back anybody's mark; for whoever owns the list."""
    with store.transaction(work_list.turn) as connection:
        connection.execute("DELETE FROM list_mark WHERE series = ? AND page_id = ?", (work_list.series, page_id))


def count_states(store: Database, work_list: WorkList) -> dict[str, int]:
    """How many articles are in each state."""
    query = "SELECT kind FROM list_mark WHERE series = ?"
    counts = Counter(row["kind"] for row in store.connection.execute(query, (work_list.series,)))
    return {kind: counts[kind] for kind in STATES}
