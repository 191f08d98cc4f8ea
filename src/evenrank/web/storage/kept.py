"""What is kept of every question, be it a work list or a saved search: the pages found, their goal, a secret link."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.sqlite import SqliteFile
from evenrank.web.articles.reasons import Reasons
from evenrank.web.request.question import Question, question_from_json
from evenrank.web.storage.arrays import float64, int32, pack, uint16
from evenrank.web.storage.model_used import ModelUsed, model_from_json
from evenrank.web.storage.store import new_token, now

Table = Literal["work_list", "saved_search"]


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A question and what was found for it; number, token and time come with the saving."""

    question: Question
    page_ids: NDArray[np.int32]
    relevance: NDArray[np.float64]
    reasons: Reasons
    target: NDArray[np.float64]
    """Wanted share of each group."""
    certificate: dict[str, float]
    """What the policy proves."""
    model: ModelUsed | None = None
    """The relevance model that brought the pages; None in what was kept before models were recorded."""
    number: int = 0
    """Number in the store; the topic number in run files."""
    token: str = ""
    created: str = ""


def keep(store: SqliteFile, table: Table, made: Kept, owner: str, **own: bytes | int) -> str:
    """Keep a new row with the columns that only its table has; gives the token of its link."""
    token = new_token()
    row = {"token": token, "owner": owner, "created": now(), **_columns(made), **own}
    places = ", ".join(f":{name}" for name in row)
    with store.transaction() as connection:
        connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", row)
    return token


def find_kept(store: SqliteFile, table: Table, token: str) -> sqlite3.Row | None:
    """The row behind a link; None when there is none."""
    row: sqlite3.Row | None = store.connection.execute(f"SELECT * FROM {table} WHERE token = ?", (token,)).fetchone()
    return row


def kept_by(
    store: SqliteFile, table: Table, owner: str, limit: int, fact: Literal["created", "n_draws"]
) -> list[tuple[str, str, Any]]:
    """(token, title, one more fact) of what a visitor keeps, the newest first."""
    query = f"SELECT token, question, {fact} FROM {table} WHERE owner = ? ORDER BY number DESC LIMIT ?"
    rows = store.connection.execute(query, (owner, limit))
    return [(token, question_from_json(question).title, value) for token, question, value in rows]


def fields_of(row: sqlite3.Row) -> dict[str, Any]:
    """The fields of `Kept` in a row."""
    return {
        "question": question_from_json(row["question"]),
        "page_ids": int32(row["pages"]),
        "relevance": float64(row["relevance"]),
        "reasons": Reasons(tuple(orjson.loads(row["words"])), uint16(row["matches"])),
        "target": float64(row["target"]),
        "certificate": orjson.loads(row["certificate"]),
        "model": model_from_json(row["model"]),
        "number": row["number"],
        "token": row["token"],
        "created": row["created"],
    }


def _columns(made: Kept) -> dict[str, bytes | str | None]:
    return {
        "question": made.question.to_json().decode(),
        "pages": pack(made.page_ids, "<i4"),
        "relevance": pack(made.relevance, "<f8"),
        "words": orjson.dumps(made.reasons.words).decode(),
        "matches": pack(made.reasons.bits, "<u2"),
        "target": pack(made.target, "<f8"),
        "certificate": orjson.dumps(made.certificate).decode(),
        "model": made.model.to_json() if made.model else None,
    }
