"""Making a work list: find, rank fairly, say why each article is there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.exposure import discounts
from evenrank.metrics.awrf import awrf
from evenrank.policies.policy import Request
from evenrank.ranking.job import Prepared
from evenrank.rng import derive
from evenrank.web.articles.candidates import find_for
from evenrank.web.articles.reasons import find_reasons
from evenrank.web.desk import Desk
from evenrank.web.fairness.balance import list_exposure
from evenrank.web.lists.work_list import WorkList
from evenrank.web.request.question import Question
from evenrank.web.storage.model_used import model_used


def make_list(desk: Desk, question: Question) -> WorkList:
    """The work list of a question; the same question gives the same list."""
    prepared = find_for(desk, question, 1)
    candidates, target = prepared
    request = Request(1, 1, desk.settings.list_length)
    ranked = question.ranker().rank(candidates, target, request, derive(0, question.title))
    positions = ranked.positions[0]
    page_ids = candidates.page_ids[positions]
    return WorkList(
        question=question,
        page_ids=page_ids,
        relevance=candidates.relevance[positions],
        reasons=find_reasons(desk.source.model().engine, question.topic(), page_ids),
        target=target.values,
        certificate={**ranked.certificate, **measured(desk, prepared, positions)},
        n_candidates=len(candidates),
        model=model_used(desk.source.choice),
    )


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
