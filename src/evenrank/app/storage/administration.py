"""What whoever runs a server sees of its store and may change: people, lists and searches, limits, retention."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import orjson

from evenrank.app.storage.saved_request import SHARED_BY, TABLES, Table, delete_request
from evenrank.app.storage.shares import PREFIX
from evenrank.app.storage.store import LIMITS, keep_setting, limit_of, new_token, now, read_setting, server_secret
from evenrank.database.database import Database

_WORK = {"work_list": (("list_mark", "series"),), "saved_search": (("draw", "search"), ("mark", "search"))}
"""Tables of the work on each thing, and the column that names it."""


@dataclass(frozen=True)
class Account:
    """Somebody who signed in."""

    key: str
    name: str
    first_seen: str
    last_seen: str
    n_kept: int
    """Lists and searches that the person owns."""
    n_sessions: int
    """Browsers in which the person is signed in."""


@dataclass(frozen=True)
class StoredItem:
    """One list, with all its versions, or one saved search."""

    thing: Table
    number: int
    title: str
    """Empty for a private one: whoever runs the server need not read it to remove it."""
    reader: str
    """Token of the link that only reads; empty for a private one."""
    owner: str
    """Name of the account; empty for what a browser or a program made."""
    created: str
    last_used: str
    n_versions: int
    n_marks: int
    is_archived: bool


@dataclass(frozen=True)
class Totals:
    """What is in the store."""

    n_lists: int
    n_searches: int
    n_draws: int
    n_marks: int
    n_people: int
    n_browsers: int
    """Browsers and programs, without an account, that own something."""
    size_bytes: int


def totals(store: Database) -> Totals:
    """The store in numbers."""

    def count(query: str) -> int:
        return int(store.connection.execute(query).fetchone()[0])

    owners = "SELECT owner FROM work_list UNION SELECT owner FROM saved_search"
    return Totals(
        n_lists=count("SELECT count(DISTINCT series) FROM work_list"),
        n_searches=count("SELECT count(*) FROM saved_search"),
        n_draws=count("SELECT count(*) FROM draw"),
        n_marks=count("SELECT count(*) FROM mark") + count("SELECT count(*) FROM list_mark"),
        n_people=count("SELECT count(*) FROM person"),
        n_browsers=count(f"SELECT count(*) FROM ({owners}) o WHERE owner NOT LIKE '{PREFIX}%'"),
        size_bytes=store.size_bytes(),
    )


def accounts(store: Database, words: str = "", limit: int = 50) -> list[Account]:
    """People who signed in, those first who were here last; with `words`, those whose names have them."""
    query = (
        "SELECT p.key, p.name, p.created, p.last_seen, "
        "(SELECT count(DISTINCT series) FROM work_list w WHERE w.owner = p.key) "
        "+ (SELECT count(*) FROM saved_search s WHERE s.owner = p.key) AS n_kept, "
        "(SELECT count(*) FROM session s WHERE s.person = p.key AND s.expires > ?) AS n_sessions "
        "FROM person p ORDER BY p.last_seen DESC, p.key"
    )
    rows = store.connection.execute(query, (now(),)).fetchall()
    found = [
        Account(row["key"], row["name"], row["created"], row["last_seen"], row["n_kept"], row["n_sessions"])
        for row in rows
        if words.casefold() in row["name"].casefold()
    ]
    return found[:limit]


def entries(store: Database, words: str = "", limit: int = 50) -> tuple[list[StoredItem], int]:
    """Lists and searches, those used last first, and how many there are; with `words`, those whose title or owner has
    them. Private ones are found by their owner only."""
    found = sorted(
        (entry for thing in TABLES for entry in _entries(store, thing)),
        key=lambda entry: (entry.last_used, entry.number),
        reverse=True,
    )
    wanted = words.casefold().split()
    kept = [entry for entry in found if all(word in f"{entry.title} {entry.owner}".casefold() for word in wanted)]
    return kept[:limit], len(kept)


def _entries(store: Database, thing: Table) -> Iterator[StoredItem]:
    """The lists, each by its newest version, or the searches."""
    key, used = SHARED_BY[thing], last_used(store, thing)
    columns = f"{key} AS shared, max(number) AS newest, count(*) AS n, min(created) AS first"
    counts = f"SELECT {columns} FROM {thing} GROUP BY {key}"
    table, column = _WORK[thing][-1]
    marks = dict(store.connection.execute(f"SELECT {column}, count(*) FROM {table} GROUP BY {column}").fetchall())
    query = (
        f"SELECT t.question, t.name, t.reader, t.owner, t.archived, t.is_private, c.shared, c.n, c.first "
        f"FROM {thing} t JOIN ({counts}) c ON t.number = c.newest"
    )
    for row in store.connection.execute(query):
        is_private = bool(row["is_private"])
        yield StoredItem(
            thing=thing,
            number=row["shared"],
            title="" if is_private else row["name"] or str(orjson.loads(row["question"])["title"]),
            reader="" if is_private else row["reader"],
            owner=row["owner"].removeprefix(PREFIX) if row["owner"].startswith(PREFIX) else "",
            created=row["first"],
            last_used=used[row["shared"]],
            n_versions=row["n"],
            n_marks=marks.get(row["shared"], 0),
            is_archived=row["archived"] is not None,
        )


def last_used(store: Database, thing: Table) -> dict[int, str]:
    """When each list or search was last made, drawn or marked; reading leaves no trace."""
    used: dict[int, str] = {}
    for table, column in ((thing, SHARED_BY[thing]), *_WORK[thing]):
        rows = store.connection.execute(f"SELECT {column}, max(created) FROM {table} GROUP BY {column}").fetchall()
        used.update({number: max(when, used.get(number, "")) for number, when in rows})
    return used


def find_expired(store: Database, at: datetime | None = None) -> list[tuple[Table, int]]:
    """What the limits on retention say is to be removed now: unused things without an account, and archived ones."""
    at = at or datetime.now(UTC)
    rules = {"browser_days": f"owner NOT LIKE '{PREFIX}%'", "archive_days": "archived IS NOT NULL"}
    found: dict[tuple[Table, int], None] = {}
    for name, rule in rules.items():
        days = limit_of(store, name)
        before = (at - timedelta(days=days)).strftime("%Y-%m-%d %H:%M:%S")
        for thing in TABLES if days else ():
            used = last_used(store, thing)
            key = SHARED_BY[thing]
            query = f"SELECT {key}, coalesce(max(archived), '') FROM {thing} WHERE {rule} GROUP BY {key}"
            for number, archived in store.connection.execute(query).fetchall():
                if max(used[number], archived) < before:
                    found[thing, number] = None
    return list(found)


def remove_expired(store: Database, at: datetime | None = None) -> int:
    """Remove what is expired; gives how many lists and searches that were."""
    gone = find_expired(store, at)
    for thing, number in gone:
        delete_request(store, thing, number)
    return len(gone)


def remove_person(store: Database, key: str) -> None:
    """Remove an account with everything it owns; marks and draws it made for others stay without its name."""
    for thing in TABLES:
        query = f"SELECT DISTINCT {SHARED_BY[thing]} AS shared_number FROM {thing} WHERE owner = ?"
        for row in store.connection.execute(query, (key,)).fetchall():
            delete_request(store, thing, row["shared_number"])
    with store.transaction() as connection:
        stranger = new_token()
        for table in ("mark", "list_mark", "correction", "draw"):
            connection.execute(f"UPDATE {table} SET name = '', editor = ? WHERE editor = ?", (stranger, key))
        connection.execute("DELETE FROM share WHERE person = ?", (key,))
        connection.execute("DELETE FROM session WHERE person = ?", (key,))
        connection.execute("DELETE FROM person WHERE key = ?", (key,))


def set_limits(store: Database, values: Mapping[str, int]) -> None:
    """Keep limits, for all workers of the server at once."""
    with store.transaction() as connection:
        for name, value in values.items():
            limit = LIMITS[name]
            if not limit.least <= value <= limit.most:
                raise ValueError(f"{name} must be from {limit.least:,} to {limit.most:,}")
            keep_setting(connection, name, str(value))


ADMIN = "admin"
"""Setting that the secret link of the administration page depends on; stores of which it was never changed lack it."""


def renew_admin_link(store: Database) -> None:
    """End the secret link of the administration page, and what browsers that opened it were allowed."""
    with store.transaction() as connection:
        keep_setting(connection, ADMIN, new_token())


def admin_key(store: Database) -> str:
    """The secret part of the link for whoever runs the server, derived from what the store has."""
    renewed = read_setting(store, ADMIN)
    message = ADMIN if renewed is None else f"{ADMIN} {renewed}"
    return hmac.new(server_secret(store).encode(), message.encode(), hashlib.sha256).hexdigest()[:32]
