"""Regions that people corrected for a list or search: kept with it, and counted in what is made of it next."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from evenrank.app.articles.collection_view import Corrections
from evenrank.app.storage.saved_request import SavedRequest, to_json
from evenrank.app.storage.store import upsert
from evenrank.database.database import Database

_SAVE = upsert("correction", ("thing", "number", "page_id"), "region", "note", "editor", "name", "created")


@dataclass(frozen=True)
class Correction:
    """What somebody said of the region of an article."""

    page_id: int
    region: str
    """The right region, as the dimension names it; empty when it is not known."""
    note: str
    editor: str
    name: str
    created: str


def load_corrections(store: Database, saved: SavedRequest) -> list[Correction]:
    """The corrections of a list, in whatever version they were made, or of a search; the newest first."""
    query = (
        "SELECT page_id, region, note, editor, name, created FROM correction WHERE thing = ? AND number = ? "
        "ORDER BY created DESC, page_id"
    )
    rows = store.connection.execute(query, (saved.table, saved.shared_number)).fetchall()
    return [Correction(*row) for row in rows]


def save_correction(store: Database, saved: SavedRequest, made: Correction) -> None:
    """Keep a correction, in place of an earlier one of the same article."""
    key = (saved.table, saved.shared_number, made.page_id)
    with store.transaction(saved.turn) as connection:
        connection.execute(_SAVE, (*key, made.region, made.note, made.editor, made.name, made.created))


def remove_correction(store: Database, saved: SavedRequest, page_id: int) -> None:
    """Take a correction back; the region of the data counts again."""
    query = "DELETE FROM correction WHERE thing = ? AND number = ? AND page_id = ?"
    with store.transaction(saved.turn) as connection:
        connection.execute(query, (saved.table, saved.shared_number, page_id))


def corrections_to_apply(store: Database, saved: SavedRequest) -> Corrections:
    """The corrections that the next version of a list, or the next draw of a search, takes."""
    return tuple(sorted((one.page_id, one.region) for one in load_corrections(store, saved)))


def corrections_to_json(made: Corrections) -> str | None:
    """Corrections as they are stored with a list; None where there are none."""
    return to_json(made) if made else None


def corrections_from_json(text: str) -> Corrections:
    """Stored corrections."""
    return tuple((int(page), str(region)) for page, region in orjson.loads(text))
