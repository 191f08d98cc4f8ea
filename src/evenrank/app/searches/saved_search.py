"""A saved search as it is kept: the question, its candidates, the plan of its draws, and what editors marked in it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.app.articles.candidates import bring_articles, find_matches
from evenrank.app.desk import Desk
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.request.question import Question
from evenrank.app.searches.plan import Kinds, plan_draws
from evenrank.app.storage.kept import Kept, fields_of, find_kept, keep, model_used, pack, uint16
from evenrank.app.storage.store import now, upsert
from evenrank.database.database import Database, Turn
from evenrank.policies.policy import Request

DONE, NOT_FOR_ME, OFF_TOPIC, NONE = "done", "not-for-me", "off-topic", "none"
MARKS = (DONE, NOT_FOR_ME, OFF_TOPIC, NONE)
FOR_ALL = (DONE, OFF_TOPIC)
"""Marks that leave an article out of everybody's draws."""
_SAVE_MARK = upsert("mark", ("search", "page_id", "editor"), "kind", "created", "name")


@dataclass(frozen=True, kw_only=True)
class SavedSearch(Kept):
    """One saved search. Its candidates and plan stay; draws and marks are added to it."""

    table = "saved_search"
    plan: Kinds
    """Draw by rank: the kind of article wanted."""
    kinds: Kinds
    """Kind of each candidate."""
    n_draws: int = 0

    @property
    def turn(self) -> Turn:
        """What its draws and marks queue by."""
        return "search", self.number

    @property
    def wanted_exposure(self) -> NDArray[np.float64]:
        """The goal in units of attention: what the groups should get from one draw, on the average."""
        return self.target * float(self.question.weights(self.plan.shape[1]).sum())

    def places_of(self, page_ids: NDArray[np.int32]) -> NDArray[np.intp]:
        """Places of pages among the candidates; all of them must be candidates."""
        order = np.argsort(self.page_ids)
        return order[np.searchsorted(self.page_ids[order], page_ids)]


def make_search(desk: Desk, question: Question) -> SavedSearch:
    """The saved search of a question."""
    brought = bring_articles(desk, question)
    prepared, reasons = find_matches(desk, question, 2, brought)
    candidates = prepared.candidates
    length = min(desk.settings.draw_length, len(candidates))
    request = Request(2, desk.settings.n_planned_draws, length, question.attention_model)
    plan, certificate = plan_draws(prepared, question.fairness, request)
    return SavedSearch(
        question=question,
        page_ids=candidates.page_ids,
        relevance=candidates.relevance,
        reasons=reasons,
        plan=plan,
        kinds=candidates.alignment.page_type.astype(np.uint16),
        target=prepared.target.values,
        certificate=certificate,
        model=model_used(desk.source.choice),
        brought=brought.to_json() if brought else None,
        data=desk.data,
    )


def save_search(store: Database, made: SavedSearch, owner: str) -> str:
    """Keep a search; gives the token of its link."""
    plan, kinds = pack(made.plan, "<u2"), pack(made.kinds, "<u2")
    return keep(store, made, owner, plan=plan, n_planned=len(made.plan), kinds=kinds)


def load_search(store: Database, token: str) -> SavedSearch | None:
    """The search behind a link; None when there is none."""
    row = find_kept(store, "saved_search", token)
    if row is None:
        return None
    return SavedSearch(
        **fields_of(row),
        plan=uint16(row["plan"]).reshape(row["n_planned"], -1),
        kinds=uint16(row["kinds"]),
        n_draws=row["n_draws"],
    )


class NotInSearchError(BadRequestError):
    """A mark of an article that the search did not find."""

    status_for_bots = 404


@dataclass(frozen=True)
class Mark:
    """A mark as somebody sees it."""

    kind: str
    is_own: bool
    """Whether it is the visitor's own, who may take it back."""
    name: str = ""
    """Who made it; empty when nobody signed in."""


NO_MARK = Mark("", is_own=False)


def set_mark(store: Database, search: SavedSearch, page_id: int, kind: str, editor: str, name: str = "") -> None:
    """Keep an editor's mark of an article; `none` takes it back."""
    if kind not in MARKS:
        raise BadRequestError(Message("A mark is one of: %(names)s.", names=", ".join(MARKS)))
    if page_id not in search.page_ids:
        raise NotInSearchError("That article is not in this search.")
    key = (search.number, page_id, editor)
    with store.transaction(search.turn) as connection:
        if kind == NONE:
            connection.execute("DELETE FROM mark WHERE search = ? AND page_id = ? AND editor = ?", key)
        else:
            connection.execute(_SAVE_MARK, (*key, kind, now(), name))


def remove_marks(store: Database, search: SavedSearch, page_id: int) -> None:
    """Take back everybody's mark of an article; for whoever owns the search."""
    with store.transaction(search.turn) as connection:
        connection.execute("DELETE FROM mark WHERE search = ? AND page_id = ?", (search.number, page_id))


def marks_seen_by(store: Database, search: SavedSearch, editor: str) -> dict[int, Mark]:
    """Marks by page as one editor sees them: the own ones, and what others have done or found off topic."""
    query = (
        "SELECT page_id, kind, editor, name FROM mark WHERE search = ? "
        "AND (kind IN ('done', 'off-topic') OR editor = ?) ORDER BY editor = ?"
    )
    rows = store.connection.execute(query, (search.number, editor, editor)).fetchall()
    return {row["page_id"]: Mark(row["kind"], row["editor"] == editor, row["name"]) for row in rows}


def count_marks(store: Database, search: SavedSearch) -> dict[str, int]:
    """Number of articles with each mark, over all editors."""
    query = "SELECT DISTINCT page_id, kind FROM mark WHERE search = ?"
    counts = Counter(row["kind"] for row in store.connection.execute(query, (search.number,)))
    return {kind: counts[kind] for kind in (DONE, NOT_FOR_ME, OFF_TOPIC)}
