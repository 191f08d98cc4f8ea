"""Parity of the groups among the first pages: NDKL, rND, rKL, and the skew of single groups."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from evenrank.measures.awrf_variants import kl_divergence
from evenrank.measures.measure import Measure, TopicView

STEP = 10
"""rND and rKL look at the first 10, 20, 30, … pages, as their authors do."""
LEAST_SHARE = 1e-6
"""Share of a group of which there is no page, so that its skew is a number: ln of it is about −13.8."""
Shares = NDArray[np.float64]


def prefixes(view: TopicView, step: int) -> Iterator[tuple[int, Shares, Shares]]:
    """(number of pages, their share of each group that counts, target share) of the first `step`, 2 · `step`, … pages.

    Pages without a group that counts have no part in the shares; a prefix that has no others is passed over.
    """
    target = view.target / max(view.target.sum(), 1e-300)
    counts = np.zeros(len(target))
    start = len(view.full_exposure) - len(target)
    for end in range(step, len(view.pages) + 1, step):
        counts = counts + view.alignment.take(np.arange(end - step, end)).total()[start:]
        if counts.sum() > 0.0:
            yield end, counts / counts.sum(), target


def _weighted_mean(view: TopicView, step: int, kind: str) -> float:
    """Mean of a divergence over prefixes, weighted by 1 / log2 of their length (+ 1 for single pages)."""
    if view.groups.unexposed_target > 0.0:
        return math.nan
    values, weights = [], []
    for n_pages, shares, target in prefixes(view, step):
        weights.append(1.0 / math.log2(n_pages + 1 if step == 1 else n_pages))
        values.append(kl_divergence(shares, target) if kind == "kl" else _difference(shares, target))
    return float(np.dot(weights, values) / sum(weights)) if values else math.nan


def _difference(shares: Shares, target: Shares) -> float:
    """How far the share of all groups but the most wanted one is from its target, over the largest difference."""
    wanted = 1.0 - float(target.max())
    given = 1.0 - float(shares[target.argmax()])
    return abs(given - wanted) / max(wanted, 1.0 - wanted)


def _skews(view: TopicView) -> Shares:
    """ln(share / target) of each wanted group over the whole ranking."""
    shares = view.alignment.total()[len(view.full_exposure) - len(view.target) :]
    wanted = view.target > 0.0
    if shares.sum() <= 0.0 or view.groups.unexposed_target > 0.0 or not wanted.any():
        return np.array([math.nan])
    share = np.maximum(shares / shares.sum(), LEAST_SHARE)[wanted]
    return np.asarray(np.log(share / (view.target / view.target.sum())[wanted]), np.float64)


NDKL = Measure(
    name="NDKL",
    tasks=(1,),
    label="divergence of the groups of the first pages from the target, over all prefixes",
    formula="Σ KL(first i, target) / log2(i + 1) / Σ 1 / log2(i + 1)",
    higher_is_better=False,
    low=0.0,
    high=math.inf,
    if_empty=math.nan,
    citation="Geyik et al. 2019, with the logarithm to base 2",
    compute=lambda view: _weighted_mean(view, 1, "kl"),
    on_request=True,
)
RKL = Measure(
    name="rKL",
    tasks=(1,),
    label="divergence of the groups of the first 10, 20, … pages from the target",
    formula="Σ KL(first i, target) / log2 i / Σ 1 / log2 i",
    higher_is_better=False,
    low=0.0,
    high=math.inf,
    if_empty=math.nan,
    citation="Yang and Stoyanovich 2017, with the target in place of the share among all candidates, as a mean",
    compute=lambda view: _weighted_mean(view, STEP, "kl"),
    on_request=True,
)
RND = Measure(
    name="rND",
    tasks=(1,),
    label="how far all groups but the most wanted one are from their target among the first 10, 20, … pages",
    formula="Σ |share of first i − target| / log2 i / its largest value",
    higher_is_better=False,
    low=0.0,
    high=1.0,
    if_empty=math.nan,
    citation="Yang and Stoyanovich 2017; protected are all groups but the most wanted one",
    compute=lambda view: _weighted_mean(view, STEP, "difference"),
    on_request=True,
)
MIN_SKEW = Measure(
    name="MinSkew",
    tasks=(1,),
    label="skew of the group that is least represented against its target",
    formula="min over groups of ln(share of pages / target)",
    higher_is_better=True,
    low=-math.inf,
    high=0.0,
    if_empty=math.nan,
    citation="Geyik et al. 2019; a group without a page counts as a share of 10⁻⁶",
    compute=lambda view: float(_skews(view).min()),
    on_request=True,
)
MAX_SKEW = Measure(
    name="MaxSkew",
    tasks=(1,),
    label="skew of the group that is most represented against its target",
    formula="max over groups of ln(share of pages / target)",
    higher_is_better=False,
    low=-math.inf,
    high=math.inf,
    if_empty=math.nan,
    citation="Geyik et al. 2019",
    compute=lambda view: float(_skews(view).max()),
    on_request=True,
)
