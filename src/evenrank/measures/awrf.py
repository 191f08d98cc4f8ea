"""AWRF, how close a ranking's exposure of groups is to the target; with other distances; and Score, nDCG × AWRF."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from evenrank.core.problem import QueryBatch
from evenrank.core.sparse import SparseTarget
from evenrank.core.types import Floats
from evenrank.measures.cascade import jensen_shannon
from evenrank.measures.measure import Measure
from evenrank.measures.relevance import NDCG


def awrf(exposure: Floats, target: Floats, log_base: float = 2.0, unexposed: float = 0.0) -> float:
    """1 − Jensen–Shannon divergence of the two distributions (each is normalised here).

    In base 2 it lies in [0, 1]; with the natural logarithm, as published, in [1 − ln 2, 1]. `unexposed` is the target
    of groups that are not listed because they get no exposure.
    """
    return 1.0 - js_divergence(exposure, target, log_base, unexposed)


def js_divergence(left: Floats, right: Floats, log_base: float, right_alone: float = 0.0) -> float:
    """Jensen–Shannon divergence of two distributions, in units of the logarithm's base.

    `right_alone` is what `right` has where `left` has nothing, beyond the listed places; each part of it adds ½ ln 2.
    """
    p, q = left / left.sum(), right / (right.sum() + right_alone)
    middle = (p + q) / 2
    divergence = (_relative_entropy(p, middle) + _relative_entropy(q, middle)) / 2
    if right_alone > 0.0:
        divergence += 0.5 * math.log(2.0) * right_alone / (right.sum() + right_alone)
    distance = math.sqrt(max(0.0, divergence / math.log(log_base)))
    return distance**2  # by way of the distance, as in the published code: its last digit decides ties of the bootstrap


def _relative_entropy(p: Floats, q: Floats) -> float:
    """Kullback–Leibler divergence in nats; 0 log 0 is 0. Ratios near 1 keep their digits by way of log1p."""
    excess = np.divide(p - q, q, out=np.zeros_like(p), where=p > 0)
    # A ratio that rounds to 0 has no logarithm; its term is smaller than the last digit of any sum here.
    logarithms = [math.log1p(value) if value > -1.0 else 0.0 for value in excess.tolist()]
    return float((p * np.array(logarithms)).sum())


def awrf_rows(exposure: Floats, target: Floats, log_base: float = 2.0) -> Floats:
    """AWRF of each row of exposure and target, both with a sum above 0; all rows in one pass."""
    divergence = jensen_shannon(_shares(exposure), _shares(target))
    return np.asarray(1.0 - np.maximum(0.0, divergence / math.log2(log_base)))


def _shares(values: Floats) -> Floats:
    total = values.sum(axis=1, keepdims=True)
    return np.asarray(values / np.where(total > 0.0, total, 1.0))


def _awrf(batch: QueryBatch) -> Floats:
    is_compared = ~(batch.exposes_nothing | batch.wants_nothing)
    if not is_compared.any():
        return _without_comparison(batch)
    base, groups = batch.protocol.log_base, batch.groups
    if batch.is_exact:
        if groups.published is not None:
            return np.array([groups.published.awrf(base)])
        return np.array([awrf(groups.exposure[0], groups.target[0], base, float(groups.unexposed_target[0]))])
    values = awrf_rows(groups.exposure, groups.target, base)
    return values if is_compared.all() else np.where(is_compared, values, _without_comparison(batch))


def _without_comparison(batch: QueryBatch) -> Floats:
    """AWRF of rankings that expose no group: 0, undefined, or that of a uniform distribution, by the protocol.

    Without a target it is undefined.
    """
    protocol = batch.protocol
    if protocol.no_exposure == "zero":
        found = np.zeros(batch.n_pairs)
    elif protocol.no_exposure == "undefined" or isinstance(batch.full_target, SparseTarget):
        found = np.full(batch.n_pairs, math.nan)
    elif batch.is_exact and not batch.wants_nothing[0]:
        found = np.array([awrf(np.ones_like(batch.target[0]), batch.target[0], protocol.log_base)])
    else:
        found = awrf_rows(np.ones_like(batch.target), batch.target, protocol.log_base)
    return np.where(batch.wants_nothing, math.nan, found)


def kl_divergence(p: Floats, q: Floats, rest: Floats | float = 0.0) -> Floats:
    """Kullback–Leibler divergence of each row of p from q in bits; infinite where q has nothing and p has something."""
    ratio = np.divide(p, q, out=np.ones_like(p), where=(p > 0.0) & (q > 0.0))
    return np.where(((p > 0.0) & (q <= 0.0)).any(axis=1), math.inf, (p * np.log2(ratio)).sum(axis=1))


def hellinger(p: Floats, q: Floats, rest: Floats | float = 0.0) -> Floats:
    """Hellinger distance of each row, 0 to 1."""
    return np.asarray(np.sqrt(np.maximum(0.0, 1.0 - np.sqrt(p * q).sum(axis=1))))


def euclidean(p: Floats, q: Floats, rest: Floats | float = 0.0) -> Floats:
    """Euclidean distance of each row; groups that are not listed count as one."""
    return np.asarray(np.sqrt(((p - q) ** 2).sum(axis=1) + np.square(rest)))


def total_variation(p: Floats, q: Floats, rest: Floats | float = 0.0) -> Floats:
    """Half the sum of the differences, 0 to 1; `rest` is what q has in groups that are not listed."""
    return np.asarray(0.5 * (np.abs(p - q).sum(axis=1) + rest))


def match_distance(p: Floats, q: Floats, rest: Floats | float = 0.0) -> Floats:
    """How far shares must be carried to turn p into q, of the largest distance there is; 0 to 1, for ordered groups."""
    return np.asarray(np.abs(np.cumsum(p - q, axis=1)[:, :-1]).sum(axis=1) / max(1, p.shape[1] - 1))


def _distance(batch: QueryBatch, distance: Callable[[Floats, Floats, Floats], Floats]) -> Floats:
    """A distance of exposure from target, both as shares; NaN where one of them is empty."""
    wanted = batch.target.sum(axis=1) + batch.unexposed_target
    divisor = np.where(wanted > 0.0, wanted, 1.0)
    found = distance(_shares(batch.exposure), batch.target / divisor[:, None], batch.unexposed_target / divisor)
    return np.where(batch.exposes_nothing | batch.wants_nothing, math.nan, found)


def _ordinal(batch: QueryBatch) -> Floats:
    """Undefined where the groups have no order: in several dimensions, or of regions, genders and occupations."""
    return 1.0 - _distance(batch, match_distance) if batch.is_ordered else np.full(batch.n_pairs, math.nan)


AWRF = Measure(
    name="AWRF",
    tasks=(1,),
    label="attention-weighted rank fairness: how close the exposure of groups is to the target",
    formula="1 − JSD(exposure by group, target)",
    low=0.0,
    high=1.0,
    if_empty=lambda view: float(_without_comparison(view.batch)[0]),
    citation="Sapiezynski et al. 2019, Raj et al. 2020; the paper, section 4.2",
    compute=_awrf,
    official_in=(1,),
    needs_groups=True,
)
SCORE = Measure(
    name="Score",
    tasks=(1,),
    label="relevance times fairness, the official measure of Task 1: a run must be both accurate and fair",
    formula="nDCG × AWRF",
    low=0.0,
    high=1.0,
    if_empty=lambda view: NDCG.empty_value(view) * AWRF.empty_value(view),
    citation="the paper, section 4.2",
    compute=lambda batch: NDCG.over(batch) * AWRF.over(batch),
    official_in=(1,),
    needs_relevance=True,
    needs_groups=True,
)
_distance_measure = partial(Measure, low=0.0, if_empty=math.nan, on_request=True, needs_groups=True)
"""What distances of exposure from the target share: a ranking without items has none."""
_closeness = partial(_distance_measure, tasks=(1,), high=1.0)
"""What AWRF with other distances shares: 1 minus a distance of at most 1."""

L2_UNFAIRNESS = _distance_measure(
    name="L2",
    label="amortised unfairness: distance of the groups' shares of exposure from their shares of the target",
    formula="‖ε / Σε − ε* / Σε*‖",
    higher_is_better=False,
    high=math.sqrt(2.0),
    citation="Biega et al. 2018, 2020 (TREC 2019), with the target as merit",
    compute=lambda batch: _distance(batch, euclidean),
)
KL = _distance_measure(
    name="KL",
    tasks=(1,),
    label="Kullback–Leibler divergence of exposure by group from the target; infinite if that is 0 for a shown group",
    formula="Σ e log2(e / t)",
    higher_is_better=False,
    if_infinite="a group with a target of 0 is shown; AWRF, AWRF-H and AWRF-TV stay finite",
    citation="Kullback and Leibler 1951; AWRF leaves the distance open (Sapiezynski et al. 2019)",
    compute=lambda batch: _distance(batch, kl_divergence),
)
AWRF_HELLINGER = _closeness(
    name="AWRF-H",
    label="AWRF with the Hellinger distance",
    formula="1 − √(1 − Σ √(e t))",
    citation="Sapiezynski et al. 2019 leave the distance open",
    compute=lambda batch: 1.0 - _distance(batch, hellinger),
)
AWRF_TOTAL_VARIATION = _closeness(
    name="AWRF-TV",
    label="AWRF with the total variation distance: the share of exposure that is where it should be",
    formula="1 − ½ Σ |e − t|",
    citation="Sapiezynski et al. 2019 leave the distance open",
    compute=lambda batch: 1.0 - _distance(batch, total_variation),
)
AWRF_ORDINAL = _closeness(
    name="AWRF-OD",
    label="AWRF with an ordinal distance: exposure in a neighbouring group is less wrong; for one dimension of bands",
    formula="1 − Σ_i |Σ_{j ≤ i} (e_j − t_j)| / (n − 1) over n groups in their order",
    citation="normalised match distance: Werman et al. 1985; for ordered groups Sakai 2021 and Sakai et al. 2023",
    compute=_ordinal,
)
