"""Making a work list: find, rank fairly, say why each article is there and what changed against plain search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evenrank.exposure import discounts
from evenrank.metrics.awrf import awrf
from evenrank.policies.candidates import Candidates
from evenrank.policies.policy import Request
from evenrank.policies.relevance import Relevance
from evenrank.ranking.job import Prepared
from evenrank.rng import derive
from evenrank.search.query.marks import Marks
from evenrank.web.articles.candidates import NO_MARKS, bring_articles, find_matches
from evenrank.web.desk import Desk
from evenrank.web.fairness.balance import list_exposure
from evenrank.web.fairness.comparison import compare
from evenrank.web.lists.work_list import WorkList
from evenrank.web.request.question import Question
from evenrank.web.storage.model_used import model_used

WORK_WEIGHT = 0.5
"""How much the work that an article needs counts in its worth, beside its relevance."""


def make_list(desk: Desk, question: Question, marks: Marks = NO_MARKS) -> WorkList:
    """The work list of a question; the same question and marks give the same list."""
    brought = bring_articles(desk, question)
    prepared, reasons = find_matches(desk, question, 1, brought, marks)
    candidates, target = prepared
    length = min(question.length or desk.settings.list_length, len(candidates))
    worth = candidates if question.policy == Relevance.name else for_work(candidates)
    ranked = question.ranker().rank(worth, target, Request(1, 1, length), derive(0, question.title))
    positions = ranked.positions[0]
    page_ids = candidates.page_ids[positions]
    plain = np.argsort(-candidates.relevance, kind="stable")[: len(positions)]
    return WorkList(
        question=question,
        page_ids=page_ids,
        relevance=candidates.relevance[positions],
        reasons=reasons.at(positions),
        target=target.values,
        certificate={**ranked.certificate, **measured(desk, prepared, positions)},
        n_candidates=len(candidates),
        model=model_used(desk.source.choice),
        brought=brought.to_json() if brought else None,
        data=desk.data,
        quality=candidates.quality_class[positions],
        comparison=compare(candidates.page_ids[plain], page_ids),
    )


def for_work(candidates: Candidates) -> Candidates:
    """The candidates as a work list values them: relevance counts fully only where there is work to do."""
    worth = 1.0 - WORK_WEIGHT + WORK_WEIGHT * candidates.work_needed
    return replace(candidates, relevance=candidates.relevance * worth)


def measured(desk: Desk, prepared: Prepared, positions: NDArray[np.intp]) -> dict[str, float]:
    """Relevance kept and AWRF of a ranking under any policy, by the estimates that policies work with."""
    candidates, target = prepared
    weights = discounts(len(positions)).astype(np.float64)
    kept = float(candidates.relevance[positions] @ weights)
    most = float(np.sort(candidates.relevance)[::-1][: len(positions)] @ weights)
    exposure = list_exposure(desk.collection, candidates.page_ids[positions], target.space)[1:]
    wanted = target.values[1:]
    return {
        "relevance_share": kept / most if most > 0 else 1.0,
        "AWRF": awrf(exposure, wanted) if exposure.sum() > 0 and wanted.sum() > 0 else 0.0,
    }
