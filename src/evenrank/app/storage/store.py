"""The store, in an SQLite file or in PostgreSQL: schema, limits, secret, and the page ids its numbers stand for."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files

import numpy as np
import orjson

from evenrank.core.text_ids import TextIds
from evenrank.database.database import Connection, Database, Location, open_database
from evenrank.database.schema import Schema
from evenrank.errors import DamagedStoreError, EvenrankError, StoreUnavailableError
from evenrank.trec.collection import Collection

VERSION = 9
"""A file of an earlier version is upgraded by `upgrade_N.sql`, step by step, when it is opened."""
TOKEN_BYTES = 16
"""Random bytes in a link: 2^128 links are not guessed."""
WAIT_SECONDS = 4.0
"""How long a visitor waits for another process that writes, before being asked to try again."""
MAX_BYTES = 20 << 30
"""Size at which the store takes nothing more: about a million lists. Visitors are then asked to come back later."""
SETTING = "text_ids"
SAMPLE = "page_sample"
N_SAMPLED = 64
"""Pages by which a store recognises its collection."""


@dataclass(frozen=True)
class Limit:
    """A limit that whoever runs the server may change while it runs."""

    usual: int
    least: int
    most: int


LIMITS = {
    "max_kept": Limit(1000, 1, 100_000),
    "max_draws": Limit(10_000, 1, 1_000_000),
    "browser_days": Limit(0, 0, 3650),
    "archive_days": Limit(0, 0, 3650),
}
"""Limits by their name in the store: lists, and searches, that one visitor may keep; draws of one search; days after
which unused things without an account, and archived ones, are removed (0 for never)."""


def open_app_store(location: Location) -> Database:
    """The store at a location, made if it is not there; an error when something else is there."""
    return open_database(location, app_schema(), may_create=True, wait_seconds=WAIT_SECONDS, max_bytes=MAX_BYTES)


def app_schema() -> Schema:
    """What a store of work lists holds, and the steps from earlier versions."""

    def read(name: str) -> str:
        return files("evenrank.app.storage").joinpath(name).read_text("utf-8")

    return Schema(
        name="a store of work lists",
        version=VERSION,
        script=read("schema.sql"),
        table="saved_search",
        fix="name another file with --store",
        upgrades={version: read(f"upgrade_{version}.sql") for version in range(2, VERSION + 1)},
        first_rows=_add_secret,
        namespace="evenrank_desk",
    )


def new_token() -> str:
    """A link that nobody guesses."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def now() -> str:
    """The time as stored: UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")


def upsert(table: str, key: tuple[str, ...], *others: str) -> str:
    """SQL that adds a row with these columns, or changes the others of the row that has this key."""
    columns, changes = (*key, *others), ", ".join(f"{name} = excluded.{name}" for name in others)
    places = ", ".join("?" * len(columns))
    row = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"
    return f"{row} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}"


def server_secret(store: Database) -> str:
    """The secret that all draws are seeded with; it never leaves the store."""
    secret = read_setting(store, "secret")
    if secret is None:
        raise DamagedStoreError(store.path, "it has no secret")
    return secret


def read_setting(store: Database, name: str) -> str | None:
    """A setting of the store; None when it was never kept."""
    row = store.connection.execute("SELECT value FROM setting WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row["value"])


def keep_setting(connection: Connection, name: str, value: str) -> None:
    """Keep a setting, in place of an earlier value."""
    connection.execute(upsert("setting", ("name",), "value"), (name, value))


def limit_of(store: Database, name: str) -> int:
    """A limit as it is set now."""
    value = read_setting(store, name)
    return LIMITS[name].usual if value is None else int(value)


def _add_secret(connection: Connection) -> None:
    connection.execute("INSERT INTO setting VALUES ('secret', ?)", (secrets.token_hex(32),))


def keep_id_numbers(store: Database, collection: Collection) -> None:
    """Remember which ids the numbers in the store stand for; an error when those of the collection differ."""
    ids = collection.text_ids
    known = _known(store)
    if known is None and ids is None:
        return
    n_ids, digest = known or (0, digest_of(TextIds(), 0))
    is_empty = not has_lists(store)
    is_same = ids is not None and len(ids) >= n_ids and digest_of(ids, n_ids) == digest
    if not is_empty and (known is None or not is_same):
        raise EvenrankError(
            f"{store.path}: its lists are of a collection with other page ids than {collection.path} "
            "(name another file with --store, or import into the folder in which the ids were first imported)"
        )
    value = None if ids is None else f"{len(ids)} {digest_of(ids, len(ids))}"
    if value == (known and f"{n_ids} {digest}"):
        return
    with store.transaction() as connection:
        connection.execute("DELETE FROM setting WHERE name = ?", (SETTING,))
        if value is not None:
            connection.execute("INSERT INTO setting VALUES (?, ?)", (SETTING, value))


def keep_collection(store: Database, collection: Collection) -> None:
    """Remember some pages of the collection; an error when the lists are those of another one.

    A newer import of the same wiki has most of its pages, under the same ids and titles. Another wiki has others under
    the same ids, and its titles would be shown in lists that were made of something else.
    """
    known = _sample_in(store)
    if has_lists(store) and not _is_of(known, collection):
        raise EvenrankError(
            f"{store.path}: its lists are of another collection than {collection.path} "
            "(name another file or database with --store)"
        )
    rows = np.linspace(0, max(0, len(collection) - 1), min(N_SAMPLED, len(collection))).round().astype(int)
    sample = {str(page): mark for page, mark in _marks(collection, collection.page_ids[rows].tolist()).items()}
    if sample != known:
        with store.transaction() as connection:
            keep_setting(connection, SAMPLE, orjson.dumps(sample).decode())


def check_collection(store: Database, collection: Collection) -> None:
    """StoreUnavailableError when a server of another collection has taken the store meanwhile.

    While a store has no lists, it goes to the server that started last.
    """
    if not _is_of(_sample_in(store), collection):
        raise StoreUnavailableError(store.path, f"a server of another collection than {collection.path} uses it")


def _sample_in(store: Database) -> dict[str, str]:
    value = read_setting(store, SAMPLE)
    return {} if value is None else orjson.loads(value)


def _is_of(known: Mapping[str, str], collection: Collection) -> bool:
    """Whether pages that a store remembers are those of a collection, or an earlier version of it."""
    if not known:
        return True
    pages = np.array(list(map(int, known)), np.int64)
    here = pages[collection.rows_of(pages) >= 0].tolist()
    n_same = sum(known[str(page)] == mark for page, mark in _marks(collection, here).items())
    return bool(here) and 2 * n_same >= len(here)


def _marks(collection: Collection, pages: Sequence[int]) -> dict[int, str]:
    """A short digest of the title of each page."""
    titles = collection.titles_of(pages)
    return {
        page: hashlib.sha256(title.encode("utf-8", "replace")).hexdigest()[:12]
        for page, title in zip(pages, titles, strict=True)
    }


def has_lists(store: Database) -> bool:
    """Whether a store has any list or search."""
    query = "SELECT EXISTS (SELECT 1 FROM work_list) OR EXISTS (SELECT 1 FROM saved_search)"
    return bool(store.connection.execute(query).fetchone()[0])


def _known(store: Database) -> tuple[int, str] | None:
    value = read_setting(store, SETTING)
    if value is None:
        return None
    n_ids, digest = value.split()
    return int(n_ids), digest


def digest_of(ids: TextIds, n_ids: int) -> str:
    """A digest of the first ids, in the order of their numbers."""
    return hashlib.sha256("\n".join(ids.texts(range(1, n_ids + 1))).encode()).hexdigest()[:32]
