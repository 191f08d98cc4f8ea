"""A saved search as it is kept: the question, its candidates, what editors marked in it, and the plan of its draws.

The plan says which kind of article appears at which rank of which draw. The policy `optimal` makes a sequence of
rankings whose mean exposure is provably near the goal. Exposure depends on the groups of an article alone, so the plan
keeps only these kinds, and every draw fills them with articles of its own.
"""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from evenrank.app.articles.candidates import find_matches, read_user_articles
from evenrank.app.articles.collection_view import Corrections
from evenrank.app.fairness.disclosure import disclosure_for
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.request.question import Question
from evenrank.app.state import AppState
from evenrank.app.storage.corrections import corrections_to_apply
from evenrank.app.storage.saved_request import (
    SavedRequest,
    array_column,
    describe_model,
    load_request,
    save_request,
    set_column,
)
from evenrank.app.storage.store import now, upsert
from evenrank.core.rng import derive
from evenrank.database.database import Database, Turn
from evenrank.policies.optimal import Optimal
from evenrank.policies.policy import Request
from evenrank.ranking.job import Prepared

DONE, NOT_FOR_ME, OFF_TOPIC, NONE = "done", "not-for-me", "off-topic", "none"
MARKS = (DONE, NOT_FOR_ME, OFF_TOPIC, NONE)
_SAVE_MARK = upsert("mark", ("search", "page_id", "editor"), "kind", "created", "name")


Kinds = NDArray[np.uint16]


MOST_EXCHANGES = 200
"""Exchanges of kinds in one draw, so that its time is bounded."""
LEAST_GAIN = 1e-6
"""Squared exposure that an exchange must gain; far above what rounding of numbers leaves."""

REACH = 5.0
"""How many times the number of articles that are expected to be relevant a search may show: people see every one."""

PLAN_NOISE = 0.05
"""How much relevance varies in the plan of a search, as a standard deviation of its logarithm, where groups of people
count and no totals of them are shown. Without it, all searches of a question have the same plan, and articles that
different searches show at the same rank of the same draw are of the same gender."""


def blur(prepared: Prepared) -> Prepared:
    """The candidates with relevance that nobody can compute again; from the system's entropy, for the same reason."""
    candidates = prepared.candidates
    noise = np.random.default_rng(secrets.randbits(128)).normal(0.0, PLAN_NOISE, len(candidates))
    return prepared._replace(
        candidates=replace(candidates, relevance=np.minimum(candidates.relevance * np.exp(noise), 1.0))
    )


def plan_draws(prepared: Prepared, fairness: float, request: Request) -> tuple[Kinds, dict[str, float]]:
    """Kinds (draw by rank), and what the policy proves of them."""
    candidates, target = prepared
    ranked = Optimal(fairness=fairness, reach=REACH).rank(candidates, target, request, derive(0))
    return candidates.alignment.page_type[ranked.positions].astype(np.uint16), ranked.certificate


@dataclass(frozen=True)
class DrawPool:
    """The candidates of a search as one draw sees them; arrays run beside each other."""

    kinds: Kinds
    worth: NDArray[np.float64]
    """Chance to be drawn, relative to the others."""
    work_needed: NDArray[np.float64]
    is_free: NDArray[np.bool_]
    """Whether the article may be shown: neither done nor unwanted."""


@dataclass(frozen=True)
class Owed:
    """What all draws together still owe to each group, and what one article of each kind gives."""

    exposure: NDArray[np.float64]
    """Goal of all draws up to this one, minus what the draws before it gave."""
    planned: float
    """Squared debt that the plan leaves after this draw."""
    kind_rows: NDArray[np.float64]
    """Kind by group."""
    discounts: NDArray[np.float64]
    """Attention of each rank."""

    def to_groups(self, has_articles: NDArray[np.bool_]) -> Owed:
        """What is owed to groups with articles left: what can no longer be given is not made up for elsewhere."""
        return replace(self, exposure=np.where(has_articles, self.exposure, 0.0))


def fill(wanted: Kinds, pool: DrawPool, owed: Owed, rng: np.random.Generator) -> NDArray[np.intp]:
    """Candidates for the ranks of one draw, of the kinds that the plan wants there.

    Of each kind, articles are drawn by their worth (Plackett–Luce), and those that need more work come first. Where
    a kind has run out, because its articles are done, the kind to which most is owed takes the rank; while that leaves
    the draws farther from the goal than planned, other ranks depart from the plan, too.
    """
    with np.errstate(divide="ignore"):
        keys = np.where(pool.is_free, np.log(pool.worth), -np.inf) + rng.gumbel(size=len(pool.worth))
    free = np.flatnonzero(pool.is_free)
    by_kind = free[np.lexsort((-keys[free], pool.kinds[free]))]
    present, starts = np.unique(pool.kinds[by_kind], return_index=True)
    best_of = dict(zip(present.tolist(), np.split(by_kind, starts)[1:], strict=True))
    kinds = settle_kinds(wanted, {kind: len(places) for kind, places in best_of.items()}, owed)
    filled = np.empty(len(kinds), np.intp)
    for kind in np.unique(kinds):
        ranks = np.flatnonzero(kinds == kind)
        chosen = best_of[int(kind)][: len(ranks)]
        filled[ranks] = chosen[np.argsort(-pool.work_needed[chosen], kind="stable")]
    return filled


def settle_kinds(wanted: Kinds, n_left: dict[int, int], owed: Owed) -> NDArray[np.intp]:
    """The kind of each rank: as planned while there are articles of it, else the one to which most is owed.

    Where that leaves a greater debt than planned, kinds are exchanged.
    """
    left = np.array([n_left.get(kind, 0) for kind in range(len(owed.kind_rows))])
    owed = owed.to_groups(np.asarray((owed.kind_rows[left > 0] > 0.0).any(axis=0)))
    settled = np.full(min(len(wanted), int(left.sum())), -1, np.intp)
    for rank, kind in enumerate(wanted[: len(settled)].tolist()):
        if left[kind]:
            settled[rank] = kind
            left[kind] -= 1
    is_planned = settled >= 0
    weights = owed.discounts[: len(settled)]
    debt = owed.exposure - weights[is_planned] @ owed.kind_rows[settled[is_planned]]
    for rank in np.flatnonzero(~is_planned).tolist():
        gain = owed.kind_rows @ debt - 0.5 * weights[rank] * np.sum(owed.kind_rows**2, axis=1)
        settled[rank] = kind = int(np.argmax(np.where(left > 0, gain, -np.inf)))
        left[kind] -= 1
        debt = debt - weights[rank] * owed.kind_rows[kind]
    return exchange_kinds(settled, left, debt, owed)


def exchange_kinds(
    settled: NDArray[np.intp], left: NDArray[np.intp], debt: NDArray[np.float64], owed: Owed
) -> NDArray[np.intp]:
    """Kinds of ranks, exchanged until the debt that the draw leaves is as small as planned, or nothing lessens it.

    An exchange swaps the kinds of two ranks, or gives a rank to a kind of which articles are left; the best comes
    first. So the last articles of a scarce kind move up, where they get the attention that more of them would have got.
    """
    settled, left, rows = settled.copy(), left.copy(), owed.kind_rows
    weights = owed.discounts[: len(settled), None]
    between = weights - weights.T
    squares = np.sum(rows**2, axis=1)
    apart = squares[:, None] + squares - 2.0 * rows @ rows.T
    for _ in range(MOST_EXCHANGES):
        if debt @ debt <= owed.planned + LEAST_GAIN:
            break
        worth = rows @ debt
        ahead = worth - worth[settled, None]
        by_other = np.where(left > 0, 2.0 * weights * ahead - weights**2 * apart[settled], 0.0)
        by_swap = 2.0 * between * ahead[:, settled] - between**2 * apart[np.ix_(settled, settled)]
        gains = np.hstack([by_other, by_swap])
        rank, other = divmod(int(np.argmax(gains)), gains.shape[1])
        if gains[rank, other] <= LEAST_GAIN:
            break
        before = settled[rank]
        if other < len(left):
            settled[rank] = other
            left[before] += 1
            left[other] -= 1
            debt = debt - weights[rank] * (rows[other] - rows[before])
        else:
            other -= len(left)
            debt = debt - between[rank, other] * (rows[settled[other]] - rows[before])
            settled[rank], settled[other] = settled[other], before
    return settled


@dataclass(frozen=True, kw_only=True)
class SavedSearch(SavedRequest):
    """One saved search. Its candidates and plan are immutable; draws and marks are added to it."""

    table = "saved_search"
    area = "searches"
    plan: Annotated[Kinds, array_column("plan", "<u2")]
    """Draw by rank: the kind of article wanted."""
    kinds: Annotated[Kinds, array_column("kinds", "<u2")]
    """Kind of each candidate."""
    n_planned: Annotated[int, set_column("n_planned")] = 0
    """Draws of the plan, as stored."""
    n_draws: Annotated[int, set_column("n_draws")] = 0
    corrections: Corrections = ()
    """Regions that people have corrected until now; the next draw takes them."""

    @property
    def regions_corrected(self) -> Corrections:
        return self.corrections

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


def make_search(state: AppState, question: Question) -> SavedSearch:
    """The saved search of a question."""
    user_articles = read_user_articles(state, question)
    prepared, reasons, question, left_out, choice, _ = find_matches(state, question, 2, user_articles)
    candidates = prepared.candidates
    length = min(state.settings.draw_length, len(candidates))
    request = Request(2, state.settings.n_planned_draws, length, question.attention_model)
    is_hidden = disclosure_for(state, question).hides_people
    plan, certificate = plan_draws(blur(prepared) if is_hidden else prepared, question.fairness, request)
    return SavedSearch(
        question=question,
        page_ids=candidates.page_ids,
        relevance=candidates.relevance,
        reasons=reasons,
        plan=plan,
        kinds=candidates.alignment.page_type.astype(np.uint16),
        target=prepared.target.values,
        certificate=certificate,
        model=describe_model(choice),
        user_articles=user_articles.to_json(left_out) if user_articles else None,
        data=state.data,
    )


def save_search(store: Database, made: SavedSearch, owner: str) -> str:
    """Store a search; gives the token of its link."""
    return save_request(store, made, owner, n_planned=len(made.plan))


def load_search(store: Database, token: str) -> SavedSearch | None:
    """The search behind a link; None when there is none."""
    found = load_request(store, SavedSearch, token)
    if found is None:
        return None
    corrections = corrections_to_apply(store, found)
    return replace(found, plan=found.plan.reshape(found.n_planned, -1), corrections=corrections)


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
