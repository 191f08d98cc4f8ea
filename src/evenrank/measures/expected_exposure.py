"""Expected exposure of groups and of items against what they should get: losses, shortfalls, ratios, inequality."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from evenrank.core.exposure import Cascade, Geometric
from evenrank.core.problem import QueryBatch, QueryView
from evenrank.core.sparse import SparseAlignment, SparseTarget, SparseVector
from evenrank.core.types import Floats
from evenrank.measures.measure import Measure, lifted
from evenrank.measures.normalised_exposure import item_bounds, normalise

LEAST = 1e-300
"""Stands for a sum of 0 in a division."""
MOST_IN_RATIO = 10
"""Wanted groups over which DTR and DIR are defined: enough for one dimension of continents or genders. The limit is a
choice of ours; on the golden data of 2021 DTR is 0 on 53 of 54 rankings over 31 intersections of the two."""


def ordered_dot(x: Floats, y: Floats) -> float:
    """Inner product, added in an order that no processor changes: in 32 lanes, which are then folded.

    Libraries of linear algebra add in the order that suits a processor, and the last bit of a topic's score decides
    ties of the bootstrap, so the ends of an interval would differ between machines. The order here is that of OpenBLAS
    on processors with AVX-512, where the published code was run.
    """
    product = np.asarray(x * y, np.float64)
    n_full, n_halves = len(product) // 32 * 32, len(product) // 16 * 16
    lanes = product[:n_full].reshape(-1, 4, 2, 4).sum(axis=0).sum(axis=1)
    for start in range(n_full, n_halves, 16):
        lanes = lanes + product[start : start + 16].reshape(4, 4)
    four = ((lanes[0] + lanes[1]) + lanes[2]) + lanes[3]
    total = float((four[0] + four[2]) + (four[1] + four[3]))
    for value in product[n_halves:].tolist():
        total += value
    return total


def ee_loss(exposure: Floats, target: Floats) -> float:
    """Squared distance of the groups' expected exposure ε from the target exposure ε*."""
    distance = exposure - target
    return ordered_dot(distance, distance)


def _products(batch: QueryBatch, left: Floats, right: Floats) -> Floats:
    """Inner product of two values of the groups of each pair, added in the published order where that is asked for."""
    if batch.is_exact:
        return np.array([ordered_dot(left[0], right[0])])
    return np.asarray((left * right).sum(axis=1))


def _loss(batch: QueryBatch) -> Floats:
    published, distance = batch.groups.published, batch.exposure - batch.target
    if published is not None:
        return np.array([published.loss()])
    return _products(batch, distance, distance) + batch.groups.unexposed_squares


def _disparity(batch: QueryBatch) -> Floats:
    published = batch.groups.published
    return _products(batch, batch.exposure, batch.exposure) if published is None else np.array([published.disparity()])


def _relevance(batch: QueryBatch) -> Floats:
    published = batch.groups.published
    return _products(batch, batch.exposure, batch.target) if published is None else np.array([published.relevance()])


def _squared_target(batch: QueryBatch) -> Floats:
    """Sum of squares of all wanted exposures, ‖ε*‖²."""
    return _products(batch, batch.target, batch.target) + batch.groups.unexposed_squares


def _loss_share(batch: QueryBatch) -> Floats:
    wanted, distance = _squared_target(batch), batch.exposure - batch.target
    is_plain = batch.is_exact and not batch.groups.unexposed_squares[0]
    loss = _products(batch, distance, distance) if is_plain else EE_LOSS.over(batch)
    return np.asarray(np.divide(loss, wanted, out=np.full(len(loss), math.nan), where=~batch.wants_nothing))


@dataclass(frozen=True)
class ItemExposure:
    """Exposure item by item."""

    shown: Floats
    """Expected exposure of every item that is shown."""
    given: Floats
    """Expected exposure of each relevant item."""
    wanted: Floats
    """Ideal exposure of each relevant item."""


def item_exposure(view: QueryView) -> ItemExposure:
    """Exposure of items over the rankings of a sequence: the mean of their ranks' attention."""
    pages, number = np.unique(view.pages, return_inverse=True)
    weights = view.attention.astype(np.float64)
    shown = np.bincount(number.reshape(-1), weights, minlength=len(pages)) / max(1, view.n_rankings)
    given = SparseVector(pages, shown).at(view.relevant.page_ids)
    return ItemExposure(shown, given, view.relevant.ideal_exposure)


def _item_disparity(view: QueryView) -> float:
    shown = item_exposure(view).shown
    return float(shown @ shown)


def _item_relevance(view: QueryView) -> float:
    items = item_exposure(view)
    return float(items.given @ items.wanted)


def _squared_item_target(view: QueryView) -> float:
    wanted = view.relevant.ideal_exposure
    return float(wanted @ wanted)


def _item_loss(view: QueryView) -> float:
    return max(0.0, _item_disparity(view) - 2.0 * _item_relevance(view) + _squared_item_target(view))


def underexposure(view: QueryView) -> Floats:
    """What the relevant items of each group lack of their share of exposure; items above theirs make up for nothing."""
    items = item_exposure(view)
    wanted, shown = items.wanted.sum(), items.shown.sum()
    if wanted <= 0.0:
        return np.zeros(1)
    given = items.given / shown if shown > 0.0 else np.zeros(len(items.given))
    lacking = np.maximum(items.wanted / wanted - given, 0.0)
    alignment = view.relevant.alignment
    return (
        alignment.sparse_total(lacking).values if isinstance(alignment, SparseAlignment) else alignment.total(lacking)
    )


def _squared_underexposure(view: QueryView) -> float:
    lacking = underexposure(view)
    return float(lacking @ lacking)


def gini(values: Floats) -> float:
    """Gini coefficient of non-negative values: 0 when all are equal, (n − 1) / n when one has everything."""
    total = values.sum()
    if len(values) == 0 or total <= 0.0:
        return 0.0
    ranks = np.arange(1, len(values) + 1)
    return float(((2 * ranks - len(values) - 1) @ np.sort(values)) / (len(values) * total))


def _worst_to_best(batch: QueryBatch, given: Floats) -> Floats:
    """Smallest over largest of given / wanted of each pair, over the wanted groups; 1 when all are served alike.

    A group that gets nothing counts only if its share of the target is at least that of the last rank in the attention:
    no ranking of this length could give a smaller group its share. With fewer than two groups left, or when they get
    nothing, the ratio is undefined; so it is over more than `MOST_IN_RATIO` wanted groups, where some group is nearly
    always left without exposure and the ratio is 0 whatever the ranking.
    """
    if isinstance(batch.full_target, SparseTarget):
        return np.full(batch.n_pairs, math.nan)  # groups without exposure are not listed
    last = np.full(batch.n_pairs, math.inf)
    np.minimum.at(last, batch.pairs, batch.attention)
    attention = np.maximum(batch.sum(batch.attention.astype(np.float64)), LEAST)
    share = batch.target / np.maximum(batch.target.sum(axis=1), LEAST)[:, None]
    is_counted = (batch.target > 0.0) & ((batch.exposure > 0.0) | (share >= (last / attention)[:, None]))
    rates = np.divide(given, batch.target, out=np.zeros_like(given), where=is_counted)
    worst, best = np.where(is_counted, rates, math.inf).min(axis=1, initial=math.inf), rates.max(axis=1, initial=0.0)
    is_defined = (is_counted.sum(axis=1) >= 2) & (best > 0.0) & ((batch.target > 0.0).sum(axis=1) <= MOST_IN_RATIO)
    return np.asarray(np.divide(worst, best, out=np.full(batch.n_pairs, math.nan), where=is_defined))


def _impact(batch: QueryBatch) -> Floats:
    """Exposure of each group by its relevant items alone."""
    if isinstance(batch.full_target, SparseTarget):
        return np.zeros_like(batch.exposure)
    return batch.counted(batch.group_totals(batch.attention.astype(np.float64) * batch.is_relevant))


_of_groups = partial(Measure, tasks=(2,), low=0.0, needs_groups=True)
"""What measures of the exposure of groups over a sequence share."""
_of_items = partial(Measure, tasks=(2,), low=0.0, on_request=True, needs_relevance=True)
"""What measures of the exposure of single pages over a sequence share."""
_ratio = partial(Measure, low=0.0, high=1.0, if_empty=math.nan, on_request=True, needs_groups=True)
"""What ratios of the worst-served to the best-served group share."""

EE_LOSS = _of_groups(
    name="EE-L",
    label="expected exposure loss, the official measure of Task 2",
    formula="‖ε − ε*‖²",
    higher_is_better=False,
    if_empty=lambda view: float(_squared_target(view.batch)[0]),
    citation="Diaz et al. 2020; the paper, section 4.3 (which prints the norm without its square)",
    compute=_loss,
    official_in=(2,),
)
EE_DISPARITY = _of_groups(
    name="EE-D",
    label="inequality of exposure between groups, whatever is relevant",
    formula="ε · ε",
    higher_is_better=False,
    if_empty=0.0,
    citation="Diaz et al. 2020; the paper's formula (ε* · ε*) is a misprint",
    compute=_disparity,
    official_in=(2,),
)
EE_RELEVANCE = _of_groups(
    name="EE-R",
    label="agreement of exposure with the target",
    formula="ε · ε*",
    if_empty=0.0,
    citation="Diaz et al. 2020; the paper, section 4.3",
    compute=_relevance,
    official_in=(2,),
)
EE_SHARE = _of_groups(
    name="EE-L/T2",
    label="expected exposure loss as a share of ‖target‖²",
    formula="‖ε − ε*‖² / ‖ε*‖²",
    higher_is_better=False,
    if_empty=lambda view: math.nan if view.wants_nothing else 1.0,
    citation="this package; topics differ in ‖ε*‖² by an order of magnitude, so sums of EE-L are led by a few",
    compute=_loss_share,
)
_OF_ITEMS = "Diaz et al. 2020, section 3: expected exposure of items, with the track's work levels as grades"
ITEM_LOSS = _of_items(
    name="EE-L-item",
    label="expected exposure loss of single pages",
    formula="Σ over pages (ε − ε*)²",
    higher_is_better=False,
    if_empty=_squared_item_target,
    citation=_OF_ITEMS,
    compute=lifted(_item_loss),
)
ITEM_DISPARITY = _of_items(
    name="EE-D-item",
    label="inequality of exposure between single pages",
    formula="Σ over pages ε²",
    higher_is_better=False,
    if_empty=0.0,
    citation=_OF_ITEMS,
    compute=lifted(_item_disparity),
)
ITEM_RELEVANCE = _of_items(
    name="EE-R-item",
    label="agreement of the exposure of single pages with their ideal exposure",
    formula="Σ over pages ε · ε*",
    if_empty=0.0,
    citation=_OF_ITEMS,
    compute=lifted(_item_relevance),
)


def _normalised(of_items: Measure, name: str, short: str) -> Measure:
    """A measure of items in relation to its bounds, where attention is `rbp` or `gerr`; undefined for others."""

    def compute(view: QueryView) -> float:
        browsing = view.batch.attention_model
        if not isinstance(browsing, Geometric | Cascade):
            return math.nan
        relevant = view.relevant
        wanted, n = relevant.ideal_exposure, len(relevant.page_ids)
        grades = np.unique(-wanted, return_inverse=True)[1].reshape(-1)  # items of a grade have the same exposure
        bounds = item_bounds(wanted, grades, np.array([0, n]), browsing, is_complete=False)[name]
        return float(normalise(name, np.array([of_items(view)]), bounds)[0])

    return _of_items(
        name=short,
        label=f"{name} of the exposure of single pages, in relation to its bounds; for attention rbp or gerr",
        formula=f"{of_items.name} / (upper bound − lower bound)",
        higher_is_better=of_items.higher_is_better,
        if_empty=lambda view: compute(view.emptied()),
        citation="Diaz et al. 2020 and the evaluator of TREC 2020, judgments taken as incomplete",
        compute=lifted(compute),
    )


NORMALISED_LOSS = _normalised(ITEM_LOSS, "difference", "nEE-L")
NORMALISED_DISPARITY = _normalised(ITEM_DISPARITY, "disparity", "nEE-D")
NORMALISED_RELEVANCE = _normalised(ITEM_RELEVANCE, "relevance", "nEE-R")
_OF_UNDEREXPOSURE = "the organisers' code of 2021, columns L2UEXP and TotUEXP of its Task 2 notebook"
L2_UNDEREXPOSURE = _of_items(
    name="L2UEXP",
    label="squared underexposure of groups",
    formula="‖Σ over relevant pages max(0, ε*/Σε* − ε/Σε) · groups‖²",
    higher_is_better=False,
    if_empty=lambda view: _squared_underexposure(view.emptied()),
    citation=_OF_UNDEREXPOSURE,
    compute=lifted(_squared_underexposure),
    needs_groups=True,
)
TOTAL_UNDEREXPOSURE = _of_items(
    name="TotUEXP",
    label="total underexposure of groups; above 1 only where pages are in several groups",
    formula="Σ over relevant pages max(0, ε*/Σε* − ε/Σε) · groups",
    higher_is_better=False,
    if_empty=lambda view: float(underexposure(view.emptied()).sum()),
    citation=_OF_UNDEREXPOSURE,
    compute=lifted(lambda view: float(underexposure(view).sum())),
    needs_groups=True,
)
GINI = Measure(
    name="Gini",
    label="inequality of exposure among the relevant pages, those not shown included",
    formula="Gini coefficient of ε over the relevant pages",
    higher_is_better=False,
    low=0.0,
    high=1.0,
    if_empty=0.0,
    citation="Gini 1912; for exposure of items e.g. Morik et al. 2020",
    compute=lifted(lambda view: gini(item_exposure(view).given)),
    on_request=True,
    needs_relevance=True,
)
EXPOSURE_RATIO = _ratio(
    name="DTR",
    label="exposure of the worst-served group for what it should get, against the best-served one",
    formula="min (ε / ε*) / max (ε / ε*), over up to 10 groups with exposure or a share of at least one rank",
    citation="disparate treatment ratio, Singh and Joachims 2018, for many groups and with the target as merit",
    compute=lambda batch: _worst_to_best(batch, batch.exposure),
)
IMPACT_RATIO = _ratio(
    name="DIR",
    label="the same for exposure of relevant pages alone",
    formula="min (ε of relevant pages / ε*) / max, over the same groups as DTR",
    citation="disparate impact ratio, Singh and Joachims 2018, for many groups and with the target as merit",
    compute=lambda batch: _worst_to_best(batch, _impact(batch)),
    needs_relevance=True,
)
