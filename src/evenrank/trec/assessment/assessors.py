"""Assessors: a name and a secret link each; of the secret only a digest is kept."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from evenrank.errors import EvenrankError
from evenrank.trec.assessment.store import Store
from evenrank.trec.assessment.votes import utc_now

Role = Literal["assessor", "organiser"]
MAX_NAME = 80


@dataclass(frozen=True, slots=True)
class Assessor:
    """Somebody who judges; an organiser also sees the state of the work and settles disagreements."""

    name: str
    role: Role
    has_link: bool
    """Whether a secret link exists; names that came with imported votes have none."""


def checked_name(name: str) -> str:
    """The name without blanks around it; EvenrankError when it is none."""
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise EvenrankError(f"not a name: {name!r} (1 to {MAX_NAME} printable characters)")
    return name.strip()


def add_assessor(store: Store, name: str, role: Role = "assessor") -> str:
    """The secret of a new link for `name`; an earlier link of the same name stops working."""
    name = checked_name(name)
    secret = secrets.token_urlsafe(24)
    with store.transaction() as connection:
        connection.execute(
            "INSERT INTO assessor (name, role, secret_hash, created) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET role = excluded.role, secret_hash = excluded.secret_hash",
            (name, role, _digest(secret), utc_now()),
        )
    return secret


def withdraw_link(store: Store, name: str) -> None:
    """Ends the secret link of `name`; all votes stay."""
    with store.transaction() as connection:
        connection.execute("UPDATE assessor SET secret_hash = NULL WHERE name = ?", (name,))


def assessor_of(store: Store, secret: str) -> Assessor | None:
    """Whose link it is; None for an unknown one."""
    row = store.connection.execute(
        "SELECT name, role FROM assessor WHERE secret_hash = ?", (_digest(secret),)
    ).fetchone()
    return None if row is None else Assessor(row["name"], row["role"], has_link=True)


def assessors(store: Store) -> list[Assessor]:
    """All assessors by name."""
    rows = store.connection.execute("SELECT name, role, secret_hash IS NOT NULL FROM assessor ORDER BY name")
    return [Assessor(name, role, bool(has_link)) for name, role, has_link in rows]


def name_assessors(store: Store, names: Iterable[str]) -> None:
    """Makes `names` known without a link, for votes that come from a file."""
    with store.transaction() as connection:
        connection.executemany(
            "INSERT INTO assessor (name, role, created) VALUES (?, 'assessor', ?) ON CONFLICT DO NOTHING",
            [(name, utc_now()) for name in names],
        )


def _digest(secret: str) -> bytes:
    # A plain hash is enough: the secret is 192 random bits, not a word that could be guessed.
    return hashlib.sha256(secret.encode()).digest()
