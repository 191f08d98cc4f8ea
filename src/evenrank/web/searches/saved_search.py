"""A saved search as it is kept: the question, its candidates, the plan of its draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.assessment.store import Store
from evenrank.exposure import discounts
from evenrank.web.arrays import float64, int32, pack, uint16
from evenrank.web.candidates import find_for
from evenrank.web.desk import Desk
from evenrank.web.question import Question, question_from_json
from evenrank.web.reasons import Reasons, find_reasons
from evenrank.web.searches.plan import Kinds, make_plan
from evenrank.web.store import new_token, now


@dataclass(frozen=True)
class SavedSearch:
    """One saved search. Its candidates and plan stay; draws and marks are added to it."""

    question: Question
    page_ids: NDArray[np.int32]
    relevance: NDArray[np.float64]
    reasons: Reasons
    plan: Kinds
    """Draw by rank: the kind of article wanted."""
    kinds: Kinds
    """Kind of each candidate."""
    target: NDArray[np.float64]
    certificate: dict[str, float]
    number: int = 0
    token: str = ""
    created: str = ""
    n_draws: int = 0

    @property
    def wanted_exposure(self) -> NDArray[np.float64]:
        """The goal in units of attention: what the groups should get from one draw, on the average."""
        return self.target * float(discounts(self.plan.shape[1]).sum())

    def places_of(self, page_ids: NDArray[np.int32]) -> NDArray[np.intp]:
        """Places of pages among the candidates; all of them must be candidates."""
        order = np.argsort(self.page_ids)
        return order[np.searchsorted(self.page_ids[order], page_ids)]


def make_search(desk: Desk, question: Question) -> SavedSearch:
    """The saved search of a question."""
    prepared = find_for(desk, question, 2)
    candidates = prepared.candidates
    length = min(desk.settings.draw_length, len(candidates))
    plan, certificate = make_plan(prepared, question.fairness, desk.settings.n_planned_draws, length)
    return SavedSearch(
        question=question,
        page_ids=candidates.page_ids,
        relevance=candidates.relevance,
        reasons=find_reasons(desk.source.model().engine, question.topic(), candidates.page_ids),
        plan=plan,
        kinds=candidates.alignment.page_type.astype(np.uint16),
        target=prepared.target.values,
        certificate=certificate,
    )


def save_search(store: Store, made: SavedSearch, owner: str) -> str:
    """Keep a search; gives the token of its link."""
    token = new_token()
    with store.transaction() as connection:
        connection.execute(
            "INSERT INTO saved_search (token, owner, created, question, pages, relevance, words, matches, plan,"
            " n_planned, kinds, target, certificate) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                token,
                owner,
                now(),
                made.question.to_json().decode(),
                pack(made.page_ids, "<i4"),
                pack(made.relevance, "<f8"),
                orjson.dumps(made.reasons.words).decode(),
                pack(made.reasons.bits, "<u2"),
                pack(made.plan, "<u2"),
                len(made.plan),
                pack(made.kinds, "<u2"),
                pack(made.target, "<f8"),
                orjson.dumps(made.certificate).decode(),
            ),
        )
    return token


def load_search(store: Store, token: str) -> SavedSearch | None:
    """The search behind a link; None when there is none."""
    row = store.connection.execute("SELECT * FROM saved_search WHERE token = ?", (token,)).fetchone()
    if row is None:
        return None
    return SavedSearch(
        question=question_from_json(row["question"]),
        page_ids=int32(row["pages"]),
        relevance=float64(row["relevance"]),
        reasons=Reasons(tuple(orjson.loads(row["words"])), uint16(row["matches"])),
        plan=uint16(row["plan"]).reshape(row["n_planned"], -1),
        kinds=uint16(row["kinds"]),
        target=float64(row["target"]),
        certificate=orjson.loads(row["certificate"]),
        number=row["number"],
        token=row["token"],
        created=row["created"],
        n_draws=row["n_draws"],
    )


def searches_of(store: Store, owner: str, limit: int = 20) -> list[tuple[str, str, int]]:
    """(token, title, number of draws) of the searches that a visitor saved, the newest first."""
    rows = store.connection.execute(
        "SELECT token, question, n_draws FROM saved_search WHERE owner = ? ORDER BY number DESC LIMIT ?", (owner, limit)
    )
    return [(row["token"], question_from_json(row["question"]).title, row["n_draws"]) for row in rows]
