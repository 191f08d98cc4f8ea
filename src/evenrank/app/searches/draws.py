"""Draws: each editor who asks gets the next one; once made, a draw never changes."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.requests import Request

from evenrank.app.articles.article import ArticleList
from evenrank.app.fairness.balance import list_exposure, page_alignment
from evenrank.app.fairness.disclosure import disclosure_of
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.request.access import find_requested
from evenrank.app.searches.saved_search import DrawPool, Kinds, Owed, SavedSearch, fill, load_search
from evenrank.app.state import AppState, state_of
from evenrank.app.storage.saved_request import float64, int32, pack
from evenrank.app.storage.store import limit_of, now
from evenrank.core.rng import derive
from evenrank.database.database import Connection, Database
from evenrank.measures.expected_exposure import ee_loss
from evenrank.ranking.groups import is_within
from evenrank.retrieval.query.evidence import Reasons
from evenrank.retrieval.query.marks import Marks, scores_with_marks

SHARPNESS = 3.0
"""Power of an article's worth in its chance to be drawn: 1 in proportion, more keeps to the best."""
REST = 2.0
"""How much an article's worth falls each time it was shown recently, so that others get their turn."""
UNNAMED = "api:"
"""The editor for whom a program asks that names none."""


class TooManyDrawsError(BadRequestError):
    """A search that has as many draws as one may have."""

    status_for_bots = 409


class NothingLeftError(Exception):
    """All articles of a search are done or unwanted."""


@dataclass(frozen=True)
class Draw:
    """One draw: which articles, in which order, for whom."""

    number: int
    page_ids: NDArray[np.int32]
    created: str
    editor: str = ""
    name: str = ""
    """Name of the editor; empty when nobody signed in."""


def make_draw(state: AppState, search: SavedSearch, editor: str, name: str = "") -> Draw:
    """The next draw of a search, stored. Its number is given out inside the transaction, so no two are the same."""
    relevance = relevance_given_marks(state, search)
    with state.store.transaction(search.turn) as connection:
        query = "UPDATE saved_search SET n_draws = n_draws + 1 WHERE number = ? RETURNING n_draws"
        ((number,),) = connection.execute(query, (search.number,)).fetchall()
        if number > limit_of(state.store, "max_draws"):
            raise TooManyDrawsError("This search has as many draws as one may have. Save a new one.")
        is_free = ~np.isin(search.page_ids, pages_left_out(connection, search.number, editor))
        is_free &= ~is_corrected_away(state, search)
        if not is_free.any():
            raise NothingLeftError
        is_new = is_free & ~np.isin(search.page_ids, pages_shown_to(connection, search.number, editor, number))
        is_free = is_new if is_new.any() else is_free
        kinds, kind_rows = kinds_with_corrections(state, search)
        is_open = drawable_candidates(replace(search, kinds=kinds), is_free, relevance)
        seen = replace(search, relevance=relevance, kinds=kinds)
        positions = choose(state, seen, number, is_open, recent_pages(connection, search), kind_rows)
        draw = Draw(number, search.page_ids[positions], now(), editor, name)
        exposure = list_exposure(state.collection_of(search), draw.page_ids, state.space(search), search.question)
        connection.execute(
            "INSERT INTO draw VALUES (?, ?, ?, ?, ?, ?, ?)",
            (search.number, number, editor, draw.created, pack(draw.page_ids, "<i4"), pack(exposure, "<f8"), name),
        )
    return draw


def _corrected_places(search: SavedSearch) -> NDArray[np.intp]:
    """Places of the candidates whose region people corrected."""
    return np.flatnonzero(np.isin(search.page_ids, [page for page, _ in search.corrections]))


def is_corrected_away(state: AppState, search: SavedSearch) -> NDArray[np.bool_]:
    """Which candidates are, by a corrected region, in none of the groups that the search is limited to."""
    is_away = np.zeros(len(search.page_ids), np.bool_)
    places = _corrected_places(search)
    if len(places) and search.question.within:
        collection = state.collection_of(search)
        rows = collection.rows_of(search.page_ids[places])
        is_away[places] = ~is_within(collection, rows, search.question.within)
    return is_away


def kinds_with_corrections(state: AppState, search: SavedSearch) -> tuple[Kinds, NDArray[np.float64]]:
    """Kind of each candidate, and what an article of each kind gives to each group.

    An article whose region was corrected has the kind that the right region gives it. The plan may not know that kind:
    its articles are then drawn where most is owed to their groups.
    """
    space, within = state.space(search), search.question.within
    _, first = np.unique(search.kinds, return_index=True)
    rows = np.zeros((int(search.kinds.max()) + 1, len(search.target)))
    rows[search.kinds[first]] = page_alignment(state.collection, search.page_ids[first], space, within).dense()
    kinds, places = search.kinds.copy(), _corrected_places(search)
    corrected = page_alignment(state.collection_of(search), search.page_ids[places], space, within).dense()
    for place, row in zip(places.tolist(), corrected, strict=True):
        same = np.flatnonzero((rows == row).all(axis=1))
        kinds[place] = same[0] if len(same) else len(rows)
        rows = rows if len(same) else np.vstack([rows, row])
    return kinds, rows


def choose(
    state: AppState,
    search: SavedSearch,
    number: int,
    is_free: NDArray[np.bool_],
    shown: NDArray[np.int32],
    kind_rows: NDArray[np.float64],
) -> NDArray[np.intp]:
    """Candidates of draw `number`, given the pages shown before and what each kind gives to the groups.

    All chance comes from the server's secret, the search and the draw.
    """
    rows = state.collection.rows_of(search.page_ids)
    quality = np.where(rows >= 0, state.collection.quality_score[rows], np.nan)
    work_needed = np.where(np.isfinite(quality), 1.0 - quality, 0.5)
    n_shown = np.bincount(search.places_of(shown), minlength=len(search.page_ids))
    rest = (1.0 + REST * n_shown) ** 2
    worth = (search.relevance * (0.05 + 0.95 * work_needed)) ** SHARPNESS / rest
    rng = derive(int(state.secret, 16), search.token, number)
    wanted = search.plan[(number - 1) % len(search.plan)]
    owed = _compute_owed(state, search, number, kind_rows)
    return fill(wanted, DrawPool(search.kinds, worth, work_needed, is_free), owed, rng)


def drawable_candidates(
    search: SavedSearch, is_free: NDArray[np.bool_], relevance: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Which free candidates may be drawn: of each kind, as many of the most relevant as the plan was made from.

    `relevance` is that of now, which marks may have changed since the plan was made. What is done leaves room for the
    next article of its kind, so draws keep to the subject and to the plan. Where that leaves fewer than a draw has, the
    next most relevant articles of any kind may be drawn, too.
    """
    n_pages = int(search.certificate.get("n_within_reach", len(is_free)))
    by_relevance = np.argsort(-search.relevance, kind="stable")
    n_open = np.bincount(search.kinds[by_relevance[:n_pages]], minlength=int(search.kinds.max()) + 1)
    free = np.flatnonzero(is_free)[np.argsort(-relevance[is_free], kind="stable")]
    free = free[np.argsort(search.kinds[free], kind="stable")]
    kinds = search.kinds[free]
    place_in_kind = np.arange(len(free)) - np.searchsorted(kinds, kinds)
    is_open = np.zeros_like(is_free)
    is_open[free[place_in_kind < n_open[kinds]]] = True
    n_missing = search.plan.shape[1] - int(is_open.sum())
    if n_missing > 0:
        others = np.flatnonzero(is_free & ~is_open)
        is_open[others[np.argsort(-relevance[others], kind="stable")[:n_missing]]] = True
    return is_open


def _compute_owed(state: AppState, search: SavedSearch, number: int, kind_rows: NDArray[np.float64]) -> Owed:
    """What draw `number` and those before it owe to the groups, and what they would owe by the plan."""
    query = "SELECT exposure FROM draw WHERE search = ? AND number < ?"
    given = np.zeros(len(search.target))
    for row in state.store.connection.execute(query, (search.number, number)):
        given += float64(row["exposure"])
    weights = search.question.weights(search.plan.shape[1])
    rounds, begun = divmod(number, len(search.plan))
    times = rounds + (np.arange(len(search.plan)) < begun)
    by_kind = np.bincount(search.plan.reshape(-1), np.outer(times, weights).reshape(-1), minlength=len(kind_rows))
    goal = number * search.wanted_exposure
    return Owed(goal - given, ee_loss(by_kind @ kind_rows, goal), kind_rows, weights)


def pages_left_out(connection: Connection, search: int, editor: str) -> list[int]:
    """Pages that this editor is not shown again: done by anybody, or not wanted by this editor."""
    query = "SELECT page_id FROM mark WHERE search = ? AND (kind IN ('done', 'off-topic') OR editor = ?)"
    return [row["page_id"] for row in connection.execute(query, (search, editor))]


def pages_shown_to(connection: Connection, search: int, editor: str, before: int) -> NDArray[np.int32]:
    """Pages of the earlier draws of an editor, who sees none of them again while there are others; none for requests
    of programs that name no editor, which may come from anybody."""
    if editor == UNNAMED:
        return np.zeros(0, np.int32)
    query = "SELECT pages FROM draw WHERE search = ? AND editor = ? AND number < ?"
    return int32(b"".join(row["pages"] for row in connection.execute(query, (search, editor, before))))


def recent_pages(connection: Connection, search: SavedSearch) -> NDArray[np.int32]:
    """Pages of the draws of the last round of the plan."""
    query = "SELECT pages FROM draw WHERE search = ? ORDER BY number DESC LIMIT ?"
    return int32(b"".join(row["pages"] for row in connection.execute(query, (search.number, len(search.plan)))))


def load_draw(connection: Connection, search: SavedSearch, number: int) -> Draw | None:
    """A draw that was made; None when it was not."""
    query = "SELECT pages, created, editor, name FROM draw WHERE search = ? AND number = ?"
    row = connection.execute(query, (search.number, number)).fetchone()
    return None if row is None else Draw(number, int32(row["pages"]), row["created"], row["editor"], row["name"])


def n_shown_before(connection: Connection, search: SavedSearch, draw: Draw) -> int:
    """How many articles of a draw its editor had been shown before."""
    return int(np.isin(draw.page_ids, pages_shown_to(connection, search.number, draw.editor, draw.number)).sum())


def count_draws(connection: Connection, search: SavedSearch) -> int:
    """How many draws of a search there are now."""
    return int(connection.execute("SELECT count(*) FROM draw WHERE search = ?", (search.number,)).fetchone()[0])


def first_draws(
    connection: Connection, search: SavedSearch, n_draws: int, at: Container[int]
) -> tuple[list[NDArray[np.int32]], dict[int, NDArray[np.float64]]]:
    """Pages of each of the first draws of a search, and at some of them the mean exposure of it and those before it.

    Exposures of ten thousand draws over a thousand groups would take a hundred megabytes, so they are read in turn.
    """
    query = "SELECT pages, exposure FROM draw WHERE search = ? ORDER BY number LIMIT ?"
    pages: list[NDArray[np.int32]] = []
    means: dict[int, NDArray[np.float64]] = {}
    total = np.zeros(len(search.target))
    for place, row in enumerate(connection.execute(query, (search.number, n_draws))):
        pages.append(int32(row["pages"]))
        total += float64(row["exposure"])
        if place in at:
            means[place] = total / (place + 1)
    return pages, means


def draws_of(connection: Connection, search: SavedSearch, before: int = 0, limit: int = 50) -> list[Any]:
    """Number, time and editor's name of draws, the newest first; with `before`, those that were made earlier."""
    query = "SELECT number, created, name FROM draw WHERE search = ? AND number < ? ORDER BY number DESC LIMIT ?"
    return connection.execute(query, (search.number, before or 2**62, limit)).fetchall()


def find_search(request: Request) -> SavedSearch:
    """The search that the address names."""
    return find_requested(load_search, request)


def find_draw(request: Request, search: SavedSearch) -> Draw:
    """The draw that the address names."""
    number = request.path_params["number"]
    draw = load_draw(state_of(request).store.connection, search, number) if number < 2**31 else None
    if draw is None:
        raise HTTPException(404, Message("Draw %(n)s of this search has not been made yet.", n=number))
    return draw


def draw_articles(state: AppState, search: SavedSearch, draw: Draw) -> ArticleList:
    """The articles of a draw with what is known of them."""
    places = search.places_of(draw.page_ids)
    reasons = Reasons(search.reasons.words, search.reasons.bits[places])
    relevance = disclosure_of(state, search).relevance(search.relevance[places])
    collection = state.collection_of(search)
    is_brought = bool(search.left_out[0])
    return ArticleList(
        collection,
        draw.page_ids,
        relevance,
        reasons,
        state.facts,
        importance=search.importance,
        is_brought=is_brought,
    )


def search_feedback(store: Database, search: SavedSearch) -> Marks:
    """What the marks of all editors say: done articles are on topic, those marked so are not."""
    query = "SELECT DISTINCT page_id, kind FROM mark WHERE search = ? ORDER BY page_id"
    rows = store.connection.execute(query, (search.number,)).fetchall()
    off_topic = {row["page_id"] for row in rows if row["kind"] == "off-topic"}
    done = (row["page_id"] for row in rows if row["kind"] == "done" and row["page_id"] not in off_topic)
    return Marks(tuple(done), tuple(sorted(off_topic)))


def relevance_given_marks(state: AppState, search: SavedSearch) -> NDArray[np.float64]:
    """Relevance of the candidates in the light of the marks: each has that of the rank it comes to.

    Done articles alone change nothing: they were drawn because search believed in them already.
    """
    marks = search_feedback(state.store, search)
    if not marks.not_relevant:
        return search.relevance
    # Kept with the state: a cache of the module would hold on to the data of before a refresh, and to their folders.
    return state.results.get(("marked", search.token, marks), lambda: _relevance_given(state, search, marks))


def _relevance_given(state: AppState, search: SavedSearch, marks: Marks) -> NDArray[np.float64]:
    scores = scores_with_marks(state.source.model(), search.page_ids, search.relevance, marks)
    relevance = np.empty_like(search.relevance)
    relevance[np.argsort(-scores, kind="stable")] = np.sort(search.relevance)[::-1]
    return relevance
