"""Work lists: find articles, rank them fairly, keep the list with the work on it, and make it again from newer data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.app.articles.candidates import NO_MARKS, find_matches, read_user_articles
from evenrank.app.articles.collection_view import Corrections
from evenrank.app.fairness.balance import list_balance, public_closeness
from evenrank.app.fairness.comparison import ListComparison, compare_lists, comparison_from_json
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message, in_language
from evenrank.app.request.question import Question
from evenrank.app.state import AppState
from evenrank.app.storage.corrections import corrections_from_json, corrections_to_apply, corrections_to_json
from evenrank.app.storage.saved_request import (
    SavedRequest,
    StoredColumn,
    array_column,
    describe_model,
    load_request,
    request_from_row,
    save_request,
    to_json,
)
from evenrank.app.storage.store import now, upsert
from evenrank.core.records import NO_CLASS
from evenrank.core.rng import derive
from evenrank.database.database import Database, Turn
from evenrank.measures.awrf import awrf
from evenrank.policies.policy import Candidates, Request
from evenrank.policies.relevance import relevance_order
from evenrank.ranking.job import Prepared
from evenrank.retrieval.query.marks import Marks
from evenrank.trec.collection import Collection
from evenrank.wikipedia.annotate.work_counts import WorkCounts
from evenrank.wikipedia.mediawiki.article_work import WikiFacts

STATES = ("claimed", "doing", "done", "off-topic")
NONE, RELEASE = "none", "release"
"""Marks that take one back: one's own, and that of somebody who no longer works on the article."""
LABELS = {"claimed": "claimed", "doing": "in work", "done": "done", "off-topic": "not our topic"}
"""States in words."""
_SAVE_MARK = upsert("list_mark", ("series", "page_id"), "kind", "editor", "name", "created")


@dataclass(frozen=True, kw_only=True)
class WorkList(SavedRequest):
    """One version of a work list. It is immutable: newer data or another question make another one."""

    table = "work_list"
    area = "lists"
    n_candidates: Annotated[int, StoredColumn("n_candidates", write=int)]
    """Pages that were found, of which the list has the best."""
    quality: Annotated[NDArray[np.uint8] | None, array_column("quality", "u1")] = None
    """Class of each page when the list was made; None in lists from before that was recorded."""
    titles_then: Annotated[str | None, StoredColumn("titles")] = None
    """Titles of the pages when the list was made, as JSON; None in lists from before that was recorded."""
    comparison: Annotated[ListComparison | None, StoredColumn("comparison", to_json, comparison_from_json)] = None
    """The list beside plain search; None in lists from before that was recorded."""
    series: Annotated[int, StoredColumn("series")] = 0
    """Number of the first version of this list; 0 for a list of its own."""
    has_marks: Annotated[bool, StoredColumn("has_marks", int, bool)] = False
    """Whether marks of earlier versions, or corrections, decided which articles it has."""
    corrections: Annotated[Corrections, StoredColumn("corrections", corrections_to_json, corrections_from_json)] = ()
    """Regions that people had corrected when it was made."""
    n_perhaps: Annotated[int, StoredColumn("n_perhaps", int)] = 0
    """Articles that it leaves out because they are only perhaps about the subject; 0 in lists from before that."""

    def earlier_titles(self) -> list[str]:
        """Titles of the pages when the list was made; empty ones where that was not recorded."""
        return orjson.loads(self.titles_then) if self.titles_then else [""] * len(self.page_ids)

    @property
    def is_made_by_marks(self) -> bool:
        return self.has_marks

    @property
    def regions_corrected(self) -> Corrections:
        return self.corrections

    @property
    def shared_number(self) -> int:
        return self.series or self.number

    @property
    def turn(self) -> Turn:
        """What writes about its versions and the work on them queue by."""
        return "list", self.series


def save_list(store: Database, made: WorkList, owner: str) -> str:
    """Store a list; gives the token of its link."""
    return save_request(store, made, owner)


def load_list(store: Database, token: str) -> WorkList | None:
    """The list behind a link; None when there is none."""
    return load_request(store, WorkList, token)


def versions_of(store: Database, work_list: WorkList, most: int, before: int = 2**62) -> list[WorkList]:
    """The newest versions of a list, the oldest of them first; with `before`, of those with a smaller number. Whoever
    may only read it gets their reading links."""
    query = "SELECT *, 0 AS is_read_only FROM work_list WHERE series = ? AND number < ? ORDER BY number DESC LIMIT ?"
    rows = store.connection.execute(query, (work_list.series, before, most)).fetchall()
    versions = [request_from_row(WorkList, row) for row in reversed(rows)]
    return [version.for_reader() for version in versions] if work_list.is_read_only else versions


def count_versions(store: Database, work_list: WorkList) -> int:
    """How many versions a list has."""
    query = "SELECT count(*) FROM work_list WHERE series = ?"
    return int(store.connection.execute(query, (work_list.series,)).fetchone()[0])


WORK_WEIGHT = 0.5
"""How much the work that an article needs counts in its worth, beside its relevance."""


def make_list(state: AppState, question: Question, marks: Marks = NO_MARKS, corrections: Corrections = ()) -> WorkList:
    """The work list of a question; the same question, marks and corrections give the same list."""
    user_articles = read_user_articles(state, question)
    state = state.with_corrections(corrections)
    prepared, reasons, question, left_out, choice, n_perhaps = find_matches(state, question, 1, user_articles, marks)
    candidates, target = prepared
    length = min(question.length or state.settings.list_length, len(candidates))
    positions, certificate = rank_for_work(question, prepared, length)
    page_ids = candidates.page_ids[positions]
    plain = relevance_order(candidates)[: len(positions)]
    return WorkList(
        question=question,
        page_ids=page_ids,
        relevance=candidates.relevance[positions],
        reasons=reasons.at(positions),
        target=target.values,
        certificate={**certificate, **measure_list(state, question, prepared, positions)},
        n_candidates=len(candidates),
        model=describe_model(choice),
        user_articles=user_articles.to_json(with_length(left_out, len(candidates), length)) if user_articles else None,
        data=state.data,
        quality=candidates.quality_class[positions],
        titles_then=orjson.dumps(state.collection.titles_of(page_ids.tolist())).decode(),
        comparison=compare_lists(candidates.page_ids[plain], page_ids),
        has_marks=bool(marks.relevant or marks.not_relevant or corrections),
        corrections=corrections,
        n_perhaps=n_perhaps,
    )


def with_length(left_out: Mapping[str, int], n_candidates: int, length: int) -> dict[str, int]:
    """What is left out of a list, with the candidates below its end."""
    return {**left_out, **({"length": n_candidates - length} if n_candidates > length else {})}


def rank_for_work(question: Question, prepared: Prepared, length: int) -> tuple[NDArray[np.intp], dict[str, float]]:
    """Positions of the candidates in the order of a question's policy, and its certificate.

    What needs work comes first, except in plain search.
    """
    candidates, target = prepared
    worth = candidates if question.is_plain else for_work(candidates)
    request = Request(1, 1, length, question.attention_model)
    ranked = question.ranker().rank(worth, target, request, derive(0, question.title))
    return ranked.positions[0], ranked.certificate


def for_work(candidates: Candidates) -> Candidates:
    """The candidates as a work list values them: relevance counts fully only where there is work to do."""
    worth = 1.0 - WORK_WEIGHT + WORK_WEIGHT * candidates.work_needed
    return replace(candidates, relevance=candidates.relevance * worth)


def measure_list(
    state: AppState, question: Question, prepared: Prepared, positions: NDArray[np.intp]
) -> dict[str, float]:
    """Relevance kept and AWRF of a ranking under any policy, by the estimates that policies work with.

    `AWRF_without_people` leaves out groups of people; it is missing where no others count.
    """
    candidates, target = prepared
    weights = question.weights(len(positions))
    kept = float(candidates.relevance[positions] @ weights)
    most = float(np.sort(candidates.relevance)[::-1][: len(positions)] @ weights)
    balance = list_balance(state.collection, candidates.page_ids[positions], target.values, target.space, question)
    without_people = public_closeness(balance).value
    return {
        "relevance_share": kept / most if most > 0 else 1.0,
        "AWRF": _awrf(balance.exposure[1:], target.values[1:]),
        **({} if without_people is None else {"AWRF_without_people": without_people}),
    }


def _awrf(exposure: NDArray[np.float64], wanted: NDArray[np.float64]) -> float:
    return awrf(exposure, wanted) if exposure.sum() > 0 and wanted.sum() > 0 else 0.0


def load_wiki_counts(store: Database, work_list: WorkList) -> dict[int, WikiFacts]:
    """What the wiki said of articles of a list, in whatever version."""
    query = "SELECT page_id, counts FROM wiki_count WHERE series = ?"
    rows = store.connection.execute(query, (work_list.series,)).fetchall()
    kept, n = {row["page_id"]: orjson.loads(row["counts"]) for row in rows}, len(WorkCounts._fields)
    return {page: WikiFacts(WorkCounts(*values[:n]), *values[n:]) for page, values in kept.items()}


class NotInListError(BadRequestError):
    """A mark of an article that is not in the list."""

    status_for_bots = 404


@dataclass(frozen=True)
class ListMark:
    """The state of the work on one article."""

    kind: str
    is_own: bool
    name: str
    created: str


def marks_of(store: Database, work_list: WorkList, visitor: str) -> dict[int, ListMark]:
    """The state of each article that somebody marked, in whatever version of the list."""
    query = "SELECT page_id, kind, editor, name, created FROM list_mark WHERE series = ?"
    rows = store.connection.execute(query, (work_list.series,))
    return {
        row["page_id"]: ListMark(row["kind"], row["editor"] == visitor, row["name"], row["created"]) for row in rows
    }


def list_feedback(store: Database, work_list: WorkList) -> Marks:
    """What the work says of relevance, for the next version: what somebody took on is on topic, what is marked so is
    not. Finished articles say nothing, so that they do not come to the top."""
    query = "SELECT page_id, kind FROM list_mark WHERE series = ? ORDER BY page_id"
    rows = store.connection.execute(query, (work_list.series,)).fetchall()
    return Marks(
        relevant=tuple(row["page_id"] for row in rows if row["kind"] in ("claimed", "doing")),
        not_relevant=tuple(row["page_id"] for row in rows if row["kind"] == "off-topic"),
    )


def list_statuses(store: Database, work_list: WorkList, language: str) -> dict[int, str] | None:
    """The state of each article in words, with the name of who works on it; None when nobody has begun."""
    marks = marks_of(store, work_list, "")
    words = {
        page: in_language(LABELS[mark.kind], language) + (f" ({mark.name})" if mark.name else "")
        for page, mark in marks.items()
    }
    return words or None


def set_list_mark(store: Database, work_list: WorkList, page_id: int, kind: str, visitor: str, name: str) -> None:
    """Keep the state of an article; `none` takes it back. What somebody else claimed stays theirs until it is free."""
    if kind not in (*STATES, NONE):
        raise BadRequestError(Message("A mark is one of: %(names)s.", names=", ".join((*STATES, NONE))))
    if page_id not in work_list.page_ids:
        raise NotInListError("That article is not in this list.")
    key = (work_list.series, page_id)
    with store.transaction(work_list.turn) as connection:
        query = "SELECT kind, editor FROM list_mark WHERE series = ? AND page_id = ?"
        held = connection.execute(query, key).fetchone()
        if held is not None and held["editor"] != visitor and held["kind"] in ("claimed", "doing"):
            raise BadRequestError("Somebody else is working on that article. If they no longer are, release it first.")
        if kind == NONE:
            connection.execute("DELETE FROM list_mark WHERE series = ? AND page_id = ?", key)
        else:
            row = (*key, kind, visitor, name, now())
            connection.execute(_SAVE_MARK, row)


def release(store: Database, work_list: WorkList, page_id: int) -> None:
    """Take back anybody's mark: for whoever owns the list, and for claims that nobody works on any longer."""
    with store.transaction(work_list.turn) as connection:
        connection.execute("DELETE FROM list_mark WHERE series = ? AND page_id = ?", (work_list.series, page_id))


def count_states(store: Database, work_list: WorkList) -> dict[str, int]:
    """How many articles are in each state."""
    query = "SELECT kind FROM list_mark WHERE series = ?"
    counts = Counter(row["kind"] for row in store.connection.execute(query, (work_list.series,)))
    return {kind: counts[kind] for kind in STATES}


@dataclass(frozen=True)
class Difference:
    """What changed from one version of a list to the next; page ids in the order of the lists."""

    added: tuple[int, ...]
    """Articles that the earlier version did not have."""
    improved: tuple[tuple[int, int, int], ...]
    """Page, class before and class now of articles that got better, wherever they are now."""
    declined: tuple[tuple[int, int, int], ...]
    deleted: tuple[int, ...]
    """Articles that the data no longer have."""
    left: tuple[int, ...]
    """Articles that are still there, but no longer in the list: improved beyond its range, or less relevant."""

    @property
    def is_any(self) -> bool:
        return bool(self.added or self.improved or self.declined or self.deleted or self.left)


def remake(state: AppState, work_list: WorkList) -> WorkList:
    """The list with the data, the marks and the corrections of now."""
    store = state.store
    return make_list(state, work_list.question, list_feedback(store, work_list), corrections_to_apply(store, work_list))


def make_next_version(state: AppState, work_list: WorkList) -> WorkList:
    """A list as it is now, to be stored as its next version."""
    made = remake(state, work_list)
    return replace(made, series=work_list.series, name=work_list.name, is_private=work_list.is_private)


def previous_version(state: AppState, work_list: WorkList) -> WorkList | None:
    """The version before this one; None for the first."""
    return next(iter(versions_of(state.store, work_list, 1, before=work_list.number)), None)


def newest_version(state: AppState, work_list: WorkList) -> WorkList:
    return versions_of(state.store, work_list, 1)[0]


def difference(collection: Collection, before: WorkList, after: WorkList) -> Difference:
    """What changed between two versions. Classes are those of each version's own data."""
    is_new = ~np.isin(after.page_ids, before.page_ids)
    rows = collection.rows_of(before.page_ids)
    is_gone = rows < 0
    left = ~is_gone & ~np.isin(before.page_ids, after.page_ids)
    improved, declined = _class_changes(collection, before, after)
    return Difference(
        added=_pages(after.page_ids[is_new]),
        improved=tuple(improved),
        declined=tuple(declined),
        deleted=_pages(before.page_ids[is_gone]),
        left=_pages(before.page_ids[left]),
    )


def _class_changes(
    collection: Collection, before: WorkList, after: WorkList
) -> tuple[Sequence[tuple[int, int, int]], Sequence[tuple[int, int, int]]]:
    """Articles of the earlier version whose class rose, and those whose class fell."""
    if before.quality is None:
        return [], []
    rows = collection.rows_of(before.page_ids)
    now = np.where(rows >= 0, collection.quality_class[rows], NO_CLASS)
    if after.quality is not None:  # the later version's own data, where it has the article
        at = {int(page): int(code) for page, code in zip(after.page_ids, after.quality, strict=True)}
        now = np.array([at.get(int(page), int(code)) for page, code in zip(before.page_ids, now, strict=True)])
    was = before.quality.astype(int)
    is_known = (was != NO_CLASS) & (now != NO_CLASS)
    triples = [
        [(int(before.page_ids[at]), int(was[at]), int(now[at])) for at in np.flatnonzero(is_known & changed)]
        for changed in (now > was, now < was)
    ]
    return triples[0], triples[1]


def _pages(page_ids: NDArray[np.int32]) -> tuple[int, ...]:
    return tuple(int(page) for page in page_ids)
