"""Who owns what, with whom it is shared, and all that one person owns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from evenrank.app.request.question import question_from_json
from evenrank.app.storage.saved_request import SHARED_BY, TABLES, SavedRequest, Table
from evenrank.app.storage.store import upsert
from evenrank.database.database import Database

ShareRole = Literal["editor", "reader"]
PREFIX = "wiki:"
"""In front of the names of people who sign in with their account of the wiki."""
_SAVE_SHARE = upsert("share", ("thing", "number", "person"), "role")


def role_in(store: Database, saved: SavedRequest, person: str) -> str:
    """The role of somebody with whom it is shared; empty for anybody else."""
    query = "SELECT role FROM share WHERE thing = ? AND number = ? AND person = ?"
    row = store.connection.execute(query, (saved.table, saved.shared_number, person)).fetchone()
    return str(row["role"]) if row else ""


def shares_of(store: Database, saved: SavedRequest) -> list[tuple[str, str]]:
    """(person, role) of everybody with whom it is shared."""
    query = "SELECT person, role FROM share WHERE thing = ? AND number = ? ORDER BY person"
    return [(row["person"], row["role"]) for row in store.connection.execute(query, (saved.table, saved.shared_number))]


def share_with(store: Database, saved: SavedRequest, person: str, role: ShareRole | None) -> None:
    """Share with a person, or stop doing so."""
    key = (saved.table, saved.shared_number, person)
    with store.transaction() as connection:
        if role is None:
            connection.execute("DELETE FROM share WHERE thing = ? AND number = ? AND person = ?", key)
        else:
            connection.execute(_SAVE_SHARE, (*key, role))


@dataclass(frozen=True)
class Owned:
    """One entry of a person's lists and searches."""

    thing: Table
    token: str
    title: str
    created: str
    n_articles: int
    n_draws: int
    archived: str
    role: str
    """`owner`, `editor` or `reader`."""


def find_owned(store: Database, person: str, words: str = "", limit: int = 200) -> list[Owned]:
    """The lists and searches that somebody owns or shares, the newest first; of a list its newest version."""
    rows = []
    for thing in TABLES:
        is_list = thing == "work_list"
        newest = "AND t.number = (SELECT max(number) FROM work_list o WHERE o.series = t.series)" if is_list else ""
        query = (
            f"SELECT t.*, s.role AS shared FROM {thing} t LEFT JOIN share s "
            f"ON s.thing = '{thing}' AND s.number = t.{SHARED_BY[thing]} AND s.person = :person "
            f"WHERE (t.owner = :person OR s.role IS NOT NULL) {newest} ORDER BY t.number DESC LIMIT :limit"
        )
        for row in store.connection.execute(query, {"person": person, "limit": limit}):
            title = row["name"] or question_from_json(row["question"]).title
            rows.append(
                Owned(
                    thing=thing,
                    token=row["reader"] if row["shared"] == "reader" and row["owner"] != person else row["token"],
                    title=title,
                    created=row["created"],
                    n_articles=len(row["pages"]) // 4,
                    n_draws=0 if is_list else row["n_draws"],
                    archived=row["archived"] or "",
                    role="owner" if row["owner"] == person else row["shared"],
                )
            )
    wanted = words.casefold().split()
    saved = [row for row in rows if all(word in row.title.casefold() for word in wanted)]
    return sorted(saved, key=lambda row: row.created, reverse=True)[:limit]


def change_saved(
    store: Database, saved: SavedRequest, column: Literal["name", "archived", "is_private"], value: Any
) -> None:
    """Another title (`name`; None for that of the question), put away (`archived`: the time, or None), or private."""
    query = f"UPDATE {saved.table} SET {column} = ? WHERE {SHARED_BY[saved.table]} = ?"
    with store.transaction() as connection:
        connection.execute(query, (value, saved.shared_number))


def transfer_ownership(store: Database, before: str, person: str) -> None:
    """Give everything that a browser owns to the person who signed in there."""
    with store.transaction() as connection:
        for table in TABLES:
            connection.execute(f"UPDATE {table} SET owner = ? WHERE owner = ?", (person, before))
