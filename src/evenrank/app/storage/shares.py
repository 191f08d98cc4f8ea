"""Who owns what, with whom it is shared, and everything that one person can find again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evenrank.app.request.question import question_from_json
from evenrank.app.storage.kept import Kept, Table, delete_kept
from evenrank.app.storage.store import now
from evenrank.database.database import Database
from evenrank.errors import EvenrankError

ShareRole = Literal["editor", "reader"]
PREFIX = "wiki:"
"""In front of the names of people who sign in with their account of the wiki."""


UPSERT = (
    "INSERT INTO share (thing, number, person, role) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (thing, number, person) DO UPDATE SET role = excluded.role"
)


def table_of(kept: Kept) -> Table:
    """The table that a list or search is in."""
    return "saved_search" if hasattr(kept, "plan") else "work_list"


def number_of(kept: Kept) -> int:
    """The number under which it is shared: all versions of a list are shared together."""
    return int(getattr(kept, "series", 0) or kept.number)


def role_in(store: Database, kept: Kept, person: str) -> str:
    """The role of somebody with whom it is shared; empty for anybody else."""
    query = "SELECT role FROM share WHERE thing = ? AND number = ? AND person = ?"
    row = store.connection.execute(query, (table_of(kept), number_of(kept), person)).fetchone()
    return str(row["role"]) if row else ""


def shares_of(store: Database, kept: Kept) -> list[tuple[str, str]]:
    """(person, role) of everybody with whom it is shared."""
    query = "SELECT person, role FROM share WHERE thing = ? AND number = ? ORDER BY person"
    return [(row["person"], row["role"]) for row in store.connection.execute(query, (table_of(kept), number_of(kept)))]


def share_with(store: Database, kept: Kept, person: str, role: ShareRole | None) -> None:
    """Share with a person, or stop doing so."""
    key = (table_of(kept), number_of(kept), person)
    with store.transaction() as connection:
        if role is None:
            connection.execute("DELETE FROM share WHERE thing = ? AND number = ? AND person = ?", key)
        else:
            connection.execute(UPSERT, (*key, role))


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


def found_again(store: Database, person: str, words: str = "", limit: int = 200) -> list[Owned]:
    """The lists and searches that somebody owns or shares, the newest first; of a list its newest version."""
    rows = []
    tables: tuple[Table, ...] = ("work_list", "saved_search")
    for thing in tables:
        is_list = thing == "work_list"
        key = "series" if is_list else "number"
        newest = "AND t.number = (SELECT max(number) FROM work_list o WHERE o.series = t.series)" if is_list else ""
        query = (
            f"SELECT t.*, s.role AS shared FROM {thing} t LEFT JOIN share s "
            f"ON s.thing = '{thing}' AND s.number = t.{key} AND s.person = :person "
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
    kept = [row for row in rows if all(word in row.title.casefold() for word in wanted)]
    return sorted(kept, key=lambda row: row.created, reverse=True)[:limit]


def rename(store: Database, kept: Kept, name: str) -> None:
    """Another title."""
    _set(store, kept, "name", name or None)


def archive(store: Database, kept: Kept, is_archived: bool) -> None:
    """Put it away, or take it out again."""
    _set(store, kept, "archived", now() if is_archived else None)


def make_private(store: Database, kept: Kept, is_private: bool) -> None:
    """Whether only the owner, and those it is shared with, may see it."""
    _set(store, kept, "is_private", int(is_private))


def hand_to(store: Database, before: str, person: str) -> None:
    """Everything that a browser owns becomes a person's, who signed in there."""
    with store.transaction() as connection:
        for table in ("work_list", "saved_search"):
            connection.execute(f"UPDATE {table} SET owner = ? WHERE owner = ?", (person, before))


def delete(store: Database, kept: Kept) -> None:
    """Remove it with its versions, draws, marks and shares."""
    delete_kept(store, table_of(kept), number_of(kept))


def _set(store: Database, kept: Kept, column: str, value: str | int | None) -> None:
    if column not in ("name", "archived", "is_private"):
        raise EvenrankError(f"no such column: {column}")
    key = "series" if table_of(kept) == "work_list" else "number"
    with store.transaction() as connection:
        connection.execute(f"UPDATE {table_of(kept)} SET {column} = ? WHERE {key} = ?", (value, number_of(kept)))
