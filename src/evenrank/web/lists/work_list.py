"""A work list as it is kept: what was asked, the pages, and what is known of its fairness."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.assessment.store import Store
from evenrank.web.arrays import float64, int32, pack, uint16
from evenrank.web.question import Question, question_from_json
from evenrank.web.reasons import Reasons
from evenrank.web.store import new_token, now


@dataclass(frozen=True)
class WorkList:
    """One work list. It never changes: another question makes another list."""

    question: Question
    page_ids: NDArray[np.int32]
    relevance: NDArray[np.float64]
    reasons: Reasons
    target: NDArray[np.float64]
    certificate: dict[str, float]
    n_candidates: int
    number: int = 0
    """Number in the store; the topic number in run files."""
    token: str = ""
    created: str = ""


def save_list(store: Store, made: WorkList, owner: str) -> str:
    """Keep a list; gives the token of its link."""
    token = new_token()
    with store.transaction() as connection:
        connection.execute(
            "INSERT INTO work_list (token, owner, created, question, pages, relevance, words, matches, target,"
            " certificate, n_candidates) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                token,
                owner,
                now(),
                made.question.to_json().decode(),
                pack(made.page_ids, "<i4"),
                pack(made.relevance, "<f8"),
                orjson.dumps(made.reasons.words).decode(),
                pack(made.reasons.bits, "<u2"),
                pack(made.target, "<f8"),
                orjson.dumps(made.certificate).decode(),
                made.n_candidates,
            ),
        )
    return token


def load_list(store: Store, token: str) -> WorkList | None:
    """The list behind a link; None when there is none."""
    row = store.connection.execute("SELECT * FROM work_list WHERE token = ?", (token,)).fetchone()
    return None if row is None else _from_row(row)


def lists_of(store: Store, owner: str, limit: int = 20) -> list[tuple[str, str, str]]:
    """(token, title, created) of the lists that a visitor made, the newest first."""
    rows = store.connection.execute(
        "SELECT token, question, created FROM work_list WHERE owner = ? ORDER BY number DESC LIMIT ?", (owner, limit)
    )
    return [(row["token"], question_from_json(row["question"]).title, row["created"]) for row in rows]


def _from_row(row: sqlite3.Row) -> WorkList:
    return WorkList(
        question=question_from_json(row["question"]),
        page_ids=int32(row["pages"]),
        relevance=float64(row["relevance"]),
        reasons=Reasons(tuple(orjson.loads(row["words"])), uint16(row["matches"])),
        target=float64(row["target"]),
        certificate=orjson.loads(row["certificate"]),
        n_candidates=row["n_candidates"],
        number=row["number"],
        token=row["token"],
        created=row["created"],
    )
