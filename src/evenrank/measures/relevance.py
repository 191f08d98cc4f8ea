"""How relevant rankings are: nDCG, precision, recall, average precision, reciprocal rank, ERR, RBP, and coverage."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from evenrank.core.exposure import PERSISTENCE
from evenrank.core.problem import QueryBatch
from evenrank.core.types import Floats
from evenrank.measures.cascade import IRBU_PERSISTENCE, stopping_chances
from evenrank.measures.measure import Measure


def _ndcg(batch: QueryBatch) -> Floats:
    gains, ideal = batch.sum(batch.discounted_gains, batch.is_scored), batch.ideal_gain
    quotient = np.divide(gains, ideal, out=np.zeros_like(ideal), where=ideal > 0.0)
    return np.asarray(quotient.astype(np.float64) / np.maximum(batch.n_rankings, 1))


def _share(values: Floats, of: NDArray[np.integer]) -> Floats:
    """Values divided by counts; 0 where the count is 0."""
    return np.asarray(np.divide(values, of, out=np.zeros(len(values)), where=of > 0))


def _hits(batch: QueryBatch) -> NDArray[np.bool_]:
    """Which rows are relevant and inside the scored depth."""
    return batch.is_relevant & batch.is_scored


def _average_precision(batch: QueryBatch) -> Floats:
    precision = (batch.n_relevant_above + 1.0) / (batch.ranks + 1.0)
    return _share(batch.mean(precision * _hits(batch)), batch.n_relevant)


def _reciprocal_rank(batch: QueryBatch) -> Floats:
    is_first = _hits(batch) & (batch.n_relevant_above == 0)
    return batch.mean(is_first / (batch.ranks + 1.0))


def _satisfaction(batch: QueryBatch) -> Floats:
    """Chance that a row is all that a reader wanted: (2^grade − 1) / 2^(largest grade); ½ where there are no grades."""
    if batch.gains.dtype == np.bool_:
        return np.where(batch.gains, 0.5, 0.0)
    grades = np.maximum(batch.gains.astype(np.float64), 0.0)
    largest = float(batch.judged.grade.max(initial=1.0)) if batch.judged is not None else float(grades.max(initial=1.0))
    return np.asarray(np.exp2(grades - largest) - np.exp2(-largest))


def stops(batch: QueryBatch) -> Floats:
    """The chance that a reader gets as far as each row and stops there, satisfied."""
    return stopping_chances(_satisfaction(batch) * batch.is_scored, batch.ranking_offsets)


def _distinct(batch: QueryBatch, is_counted: NDArray[np.bool_] | None = None) -> Floats:
    """Different items that each pair shows, of those that count."""
    key = batch.pairs * (int(batch.items.max(initial=0)) + 1) + batch.items
    rows = np.arange(len(key)) if is_counted is None else np.flatnonzero(is_counted)
    first = rows[np.unique(key[rows], return_index=True)[1]]
    return np.bincount(batch.pairs[first], minlength=batch.n_pairs).astype(np.float64)


_shown = partial(Measure, low=0.0, high=1.0, if_empty=0.0, needs_relevance=True)
"""What measures of relevance share: shares of what could be reached, so that an empty ranking has 0."""
_on_request = partial(_shown, on_request=True)

NDCG = _shown(
    name="nDCG",
    label="relevance of a ranking, discounted by rank; of a sequence, the mean over its rankings",
    formula="Σ discount·rel / Σ discount of an ideal ranking",
    citation="Järvelin and Kekäläinen 2002; discount of the paper, section 4.1",
    compute=_ndcg,
    official_in=(1,),
    heading_has_depth=True,
)
PRECISION = _shown(
    name="P",
    label="share of relevant pages at the depth that is scored",
    formula="relevant pages / depth",
    citation="relevance companion: official-2021 Task 2 ignores relevance in the exposure",
    compute=lambda batch: _share(batch.sum(_hits(batch)), np.maximum(batch.n_rankings, 1) * batch.depth),
    heading_has_depth=True,
)
RECALL = _on_request(
    name="R",
    label="share of the relevant pages that a ranking contains; of a sequence, the mean over its rankings",
    formula="relevant pages ranked / relevant pages",
    citation="Cleverdon 1967; recall of a set",
    compute=lambda batch: _share(batch.mean(_hits(batch)), batch.n_relevant),
)
AVERAGE_PRECISION = _on_request(
    name="MAP",
    label="precision at the rank of each relevant page, those not ranked counting 0; the mean over queries is MAP",
    formula="Σ over relevant pages ranked of P at their rank / relevant pages",
    citation="average precision: Harman 1992; Buckley and Voorhees 2005",
    compute=_average_precision,
)
RECIPROCAL_RANK = _on_request(
    name="MRR",
    label="how early the first relevant page comes; the mean over queries is MRR",
    formula="1 / rank of the first relevant page",
    citation="reciprocal rank: Voorhees 1999, TREC-8 question answering track",
    compute=_reciprocal_rank,
)
EXPECTED_RECIPROCAL_RANK = _on_request(
    name="ERR",
    label="expected reciprocal rank of the page at which a reader is satisfied",
    formula="Σ 1/r · s_r · Π_{i<r} (1 − s_i), s = (2^grade − 1) / 2^(largest grade); ½ for plain relevance",
    citation="Chapelle et al. 2009",
    compute=lambda batch: batch.mean(stops(batch) / (batch.ranks + 1.0)),
)
INTENTWISE_UTILITY = _on_request(
    name="iRBU",
    label="utility of the page at which a reader is satisfied, less the further down it is",
    formula="Σ p^r · s_r · Π_{i<r} (1 − s_i), p = 0.99, s as for ERR",
    citation="Amigó et al. 2018; Sakai and Zeng 2019",
    compute=lambda batch: batch.mean(stops(batch) * IRBU_PERSISTENCE ** (batch.ranks + 1.0)),
)
RANK_BIASED_PRECISION = _on_request(
    name="RBP",
    label=f"relevant pages that a reader meets who continues to the next rank with a chance of {PERSISTENCE}",
    formula="(1 − p) Σ over relevant pages p^(rank − 1), p = 0.8",
    citation="Moffat and Zobel 2008",
    compute=lambda batch: batch.mean((1.0 - PERSISTENCE) * PERSISTENCE**batch.ranks * _hits(batch)),
)
SHOWN = _on_request(
    name="Shown",
    label="share of the relevant pages that are shown at all",
    formula="distinct relevant pages shown / relevant pages",
    citation="recall over a sequence: the same pages for every editor leave the others without work",
    compute=lambda batch: _share(_distinct(batch, batch.is_relevant), batch.n_relevant),
)
DISTINCT = Measure(
    name="Distinct",
    label="number of different pages that are shown",
    formula="distinct pages",
    low=0.0,
    if_empty=0.0,
    citation="catalogue coverage, e.g. Ge et al. 2010",
    compute=_distinct,
    on_request=True,
)
