"""Lists, draws and marks know pages by number; where ids are text, the numbers must be those of the collection.

A collection gives the same numbers again when it is imported anew in its folder, and further ones to new ids. The store
keeps how many ids the collection had and a digest of them, so that lists never show the pages of other ids.
"""

from __future__ import annotations

import hashlib

from evenrank.core.text_ids import TextIds
from evenrank.database.database import Database
from evenrank.errors import EvenrankError
from evenrank.trec.collection import Collection

SETTING = "text_ids"


def keep_id_numbers(store: Database, collection: Collection) -> None:
    """Remember which ids the numbers in the store stand for; an error when those of the collection differ."""
    ids = collection.text_ids
    known = _known(store)
    if known is None and ids is None:
        return
    n_ids, digest = known or (0, digest_of(TextIds(), 0))
    has_lists = "SELECT EXISTS (SELECT 1 FROM work_list) OR EXISTS (SELECT 1 FROM saved_search)"
    is_empty = not store.connection.execute(has_lists).fetchone()[0]
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


def _known(store: Database) -> tuple[int, str] | None:
    row = store.connection.execute("SELECT value FROM setting WHERE name = ?", (SETTING,)).fetchone()
    if row is None:
        return None
    n_ids, digest = str(row[0]).split()
    return int(n_ids), digest


def digest_of(ids: TextIds, n_ids: int) -> str:
    """A digest of the first ids, in the order of their numbers."""
    return hashlib.sha256("\n".join(ids.texts(range(1, n_ids + 1))).encode()).hexdigest()[:32]
