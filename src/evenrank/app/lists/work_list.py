"""Work lists: find articles, rank them fairly, say why each is there, and keep the list."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.app.articles.candidates import NO_MARKS, bring_articles, find_matches
from evenrank.app.desk import Desk
from evenrank.app.fairness.balance import list_exposure
from evenrank.app.fairness.comparison import ListComparison, compare_lists, comparison_from_json
from evenrank.app.request.question import Question
from evenrank.app.storage.kept import Kept, fields_of, find_kept, keep, model_used, pack, uint8
from evenrank.core.rng import derive
from evenrank.database.database import Database, Turn
from evenrank.measures.awrf import awrf
from evenrank.policies.policy import Candidates, Request
from evenrank.policies.relevance import relevance_order
from evenrank.ranking.job import Prepared
from evenrank.retrieval.query.marks import Marks


@dataclass(frozen=True, kw_only=True)
class WorkList(Kept):
    """One version of a work list. It never changes: newer data or another question make another one."""

    n_candidates: int
    """Pages that were found, of which the list has the best."""
    quality: NDArray[np.uint8] | None = None
    """Class of each page when the list was made; None in lists from before that was recorded."""
    titles_then: str | None = None
    """Titles of the pages when the list was made, as JSON; None in lists from before that was recorded."""
    comparison: ListComparison | None = None
    """The list beside plain search; None in lists from before that was recorded."""
    series: int = 0
    """Number of the first version of this list; 0 for a list of its own."""

    def earlier_titles(self) -> list[str]:
        """Titles of the pages when the list was made; empty ones where that was not recorded."""
        return orjson.loads(self.titles_then) if self.titles_then else [""] * len(self.page_ids)

    @property
    def turn(self) -> Turn:
        """What writes about its versions and the work on them queue by."""
        return "list", self.series


def save_list(store: Database, made: WorkList, owner: str) -> str:
    """Keep a list; gives the token of its link."""
    return keep(
        store,
        "work_list",
        made,
        owner,
        n_candidates=made.n_candidates,
        quality=None if made.quality is None else pack(made.quality, "u1"),
        titles=made.titles_then,
        comparison=made.comparison.to_json() if made.comparison else None,
        series=made.series or None,
    )


def load_list(store: Database, token: str) -> WorkList | None:
    """The list behind a link; None when there is none."""
    row = find_kept(store, "work_list", token)
    return None if row is None else list_of_row(row)


def versions_of(store: Database, work_list: WorkList) -> list[WorkList]:
    """All versions of a list, the oldest first; whoever may only read it gets their reading links."""
    query = "SELECT *, 0 AS is_read_only FROM work_list WHERE series = ? ORDER BY number"
    versions = [list_of_row(row) for row in store.connection.execute(query, (work_list.series,))]
    return [version.for_reader() for version in versions] if work_list.is_read_only else versions


def list_of_row(row: Any) -> WorkList:
    return WorkList(
        **fields_of(row),
        n_candidates=row["n_candidates"],
        quality=None if row["quality"] is None else uint8(row["quality"]),
        titles_then=row["titles"],
        comparison=comparison_from_json(row["comparison"]),
        series=row["series"] or row["number"],
    )


WORK_WEIGHT = 0.5
"""How much the work that an article needs counts in its worth, beside its relevance."""


def make_list(desk: Desk, question: Question, marks: Marks = NO_MARKS) -> WorkList:
    """The work list of a question; the same question and marks give the same list."""
    brought = bring_articles(desk, question)
    prepared, reasons = find_matches(desk, question, 1, brought, marks)
    candidates, target = prepared
    length = min(question.length or desk.settings.list_length, len(candidates))
    positions, certificate = rank_for_work(question, prepared, length)
    page_ids = candidates.page_ids[positions]
    plain = relevance_order(candidates)[: len(positions)]
    return WorkList(
        question=question,
        page_ids=page_ids,
        relevance=candidates.relevance[positions],
        reasons=reasons.at(positions),
        target=target.values,
        certificate={**certificate, **measure_list(desk, question, prepared, positions)},
        n_candidates=len(candidates),
        model=model_used(desk.source.choice),
        brought=brought.to_json() if brought else None,
        data=desk.data,
        quality=candidates.quality_class[positions],
        titles_then=orjson.dumps(desk.collection.titles_of(page_ids.tolist())).decode(),
        comparison=compare_lists(candidates.page_ids[plain], page_ids),
    )


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


def measure_list(desk: Desk, question: Question, prepared: Prepared, positions: NDArray[np.intp]) -> dict[str, float]:
    """Relevance kept and AWRF of a ranking under any policy, by the estimates that policies work with."""
    candidates, target = prepared
    weights = question.weights(len(positions))
    kept = float(candidates.relevance[positions] @ weights)
    most = float(np.sort(candidates.relevance)[::-1][: len(positions)] @ weights)
    page_ids = candidates.page_ids[positions]
    exposure = list_exposure(desk.collection, page_ids, target.space, question)[1:]
    wanted = target.values[1:]
    return {
        "relevance_share": kept / most if most > 0 else 1.0,
        "AWRF": awrf(exposure, wanted) if exposure.sum() > 0 and wanted.sum() > 0 else 0.0,
    }
