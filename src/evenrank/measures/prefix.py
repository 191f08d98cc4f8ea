"""Parity of the groups among the first items: NDKL, rND, rKL, GF, and the skew of single groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from evenrank.core.problem import QueryView
from evenrank.core.sparse import SparseAlignment
from evenrank.core.types import Floats
from evenrank.measures.awrf import kl_divergence
from evenrank.measures.cascade import DIVERGENCES, ORDINAL, running_shares
from evenrank.measures.measure import Measure, lifted
from evenrank.measures.relevance import stops

STEP = 10
"""rND and rKL look at the first 10, 20, 30, … items, as their authors do."""
LEAST_SHARE = 1e-6
"""Share of a group of which there is no item, so that its skew is a number: ln of it is about −13.8."""


def prefixes(view: QueryView, step: int) -> Iterator[tuple[int, Floats]]:
    """(number of items, their share of each group that counts) of the first `step`, 2 · `step`, … items.

    Items without a group that counts have no part in the shares; a prefix that has no others is passed over.
    """
    counts = np.zeros(len(view.target))
    for end in range(step, len(view.pages) + 1, step):
        counts = counts + view.group_counts(np.arange(end - step, end))
        if counts.sum() > 0.0:
            yield end, counts / counts.sum()


def _weighted_mean(view: QueryView, step: int, distance: Callable[[Floats, Floats], float]) -> float:
    """Mean of a distance from the target over prefixes, weighted by 1 / log2 of their length (+ 1 for single items)."""
    if view.unexposed_target > 0.0:
        return math.nan
    target = view.target / max(view.target.sum(), 1e-300)
    values, weights = [], []
    for n_pages, shares in prefixes(view, step):
        weights.append(1.0 / math.log2(n_pages + 1 if step == 1 else n_pages))
        values.append(distance(shares, target))
    return float(np.dot(weights, values) / sum(weights)) if values else math.nan


def _divergence(shares: Floats, target: Floats) -> float:
    return float(kl_divergence(shares[None], target[None])[0])


def _difference(shares: Floats, target: Floats) -> float:
    """How far the share of all groups but the most wanted one is from its target, over the largest difference."""
    wanted = 1.0 - float(target.max())
    given = 1.0 - float(shares[target.argmax()])
    return abs(given - wanted) / max(wanted, 1.0 - wanted)


def _shares_and_target(view: QueryView) -> tuple[Floats, Floats]:
    """Share of the items and of the target of each wanted group; empty where nothing can be compared."""
    counts, wanted = view.group_counts() if view.unexposed_target <= 0.0 else np.zeros(0), view.target > 0.0
    if counts.sum() <= 0.0 or not wanted.any():
        return np.zeros(0), np.zeros(0)
    return (counts / counts.sum())[wanted], (view.target / view.target.sum())[wanted]


def _min_skew(view: QueryView) -> float:
    shares, target = _shares_and_target(view)
    floor = np.minimum(LEAST_SHARE, target)  # a group without an item is never above its target
    return float(np.log(np.maximum(shares, floor) / target).min()) if len(shares) else math.nan


def _max_skew(view: QueryView) -> float:
    """Over the groups that have an item: one without any is not over-represented, however small its target is."""
    shares, target = _shares_and_target(view)
    has_any = shares > 0.0
    return float(np.log(shares[has_any] / target[has_any]).max()) if has_any.any() else math.nan


def _group_fairness(view: QueryView, name: str) -> float:
    """1 − divergence of the groups down to the rank at which a reader stops, in expectation; undefined without a target
    and, for ordinal divergences, where groups have no order.
    """
    is_ordinal = name in ORDINAL
    if view.wants_nothing or isinstance(view.alignment, SparseAlignment):
        return math.nan
    if is_ordinal and (not view.batch.is_ordered or len(view.target) < 2):
        return math.nan
    shares = view.batch.counted(view.alignment.dense())
    down_to = running_shares(shares, view.batch.ranking_offsets)
    if name == "NMD":  # what items without a group leave empty is no part of a distance between distributions
        down_to[:, -1] += 1.0 - down_to.sum(axis=1)
    divergence = DIVERGENCES[name](down_to, view.target / view.target.sum())
    return float(view.batch.mean(stops(view.batch) * (1.0 - divergence))[0])


def _group_fairness_measure(name: str, divergence: str, label: str) -> Measure:
    def compute(view: QueryView) -> float:
        return _group_fairness(view, divergence)

    return Measure(
        name=name,
        label=f"group fairness of the pages down to the one at which a reader is satisfied{label}",
        formula=f"Σ s_r · Π_{{i<r}} (1 − s_i) · (1 − {divergence}(groups of the first r pages, target)), s as for ERR",
        low=0.0,
        high=1.0,
        if_empty=lambda view: math.nan if math.isnan(compute(view)) else 0.0,
        citation="Sakai et al. 2023, as in NTCIR FairWeb-1; a page without a group leaves part of the shares empty",
        compute=lifted(compute),
        on_request=True,
        needs_relevance=True,
        needs_groups=True,
    )


_parity = partial(Measure, tasks=(1,), if_empty=math.nan, on_request=True, needs_groups=True)
"""What measures of the groups of a list share: without items there is nothing to compare."""

NDKL = _parity(
    name="NDKL",
    label="divergence of the groups of the first pages from the target, over all prefixes",
    formula="Σ KL(first i, target) / log2(i + 1) / Σ 1 / log2(i + 1)",
    higher_is_better=False,
    if_infinite="a group with a target of 0 is shown; GF stays finite",
    low=0.0,
    citation="Geyik et al. 2019, with the logarithm to base 2",
    compute=lifted(lambda view: _weighted_mean(view, 1, _divergence)),
)
RKL = _parity(
    name="rKL",
    label="divergence of the groups of the first 10, 20, … pages from the target",
    formula="Σ KL(first i, target) / log2 i / Σ 1 / log2 i",
    higher_is_better=False,
    if_infinite="a group with a target of 0 is shown; rND and GF stay finite",
    low=0.0,
    citation="Yang and Stoyanovich 2017, with the target in place of the share among all candidates, as a mean",
    compute=lifted(lambda view: _weighted_mean(view, STEP, _divergence)),
)
RND = _parity(
    name="rND",
    label="how far all groups but the most wanted one are from their target among the first 10, 20, … pages",
    formula="Σ |share of first i − target| / log2 i / its largest value",
    higher_is_better=False,
    low=0.0,
    high=1.0,
    citation="Yang and Stoyanovich 2017; protected are all groups but the most wanted one",
    compute=lifted(lambda view: _weighted_mean(view, STEP, _difference)),
)
GROUP_FAIRNESS = _group_fairness_measure("GF", "JSD", "")
ORDERED = ", for one dimension whose groups come in an order"
GROUP_FAIRNESS_NMD = _group_fairness_measure("GF-NMD", "NMD", ORDERED)
GROUP_FAIRNESS_RNOD = _group_fairness_measure("GF-RNOD", "RNOD", ORDERED)
MIN_SKEW = _parity(
    name="MinSkew",
    label="skew of the group that is least represented against its target",
    formula="min over groups of ln(share of pages / target)",
    high=0.0,
    citation="Geyik et al. 2019; a group without a page counts as a share of 10⁻⁶",
    compute=lifted(_min_skew),
)
MAX_SKEW = _parity(
    name="MaxSkew",
    label="skew of the group that is most represented against its target",
    formula="max over groups with a page of ln(share of pages / target)",
    higher_is_better=False,
    citation="Geyik et al. 2019",
    compute=lifted(_max_skew),
)
