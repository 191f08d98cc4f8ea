"""Expected exposure of single pages: loss, disparity and relevance, which group exposure cannot see."""

from __future__ import annotations

import math

from evenrank.measures.measure import Measure, TopicView
from evenrank.measures.relevant_pages import item_exposure

CITATION = "Diaz et al. 2020, section 3: expected exposure of items, with the track's work levels as grades"


def _disparity(view: TopicView) -> float:
    shown = item_exposure(view).shown
    return float(shown @ shown)


def _relevance(view: TopicView) -> float:
    items = item_exposure(view)
    return float(items.given @ items.wanted)


def _squared_target(view: TopicView) -> float:
    wanted = view.relevant.ideal_exposure
    return float(wanted @ wanted)


def _loss(view: TopicView) -> float:
    return _disparity(view) - 2.0 * _relevance(view) + _squared_target(view)


ITEM_LOSS = Measure(
    name="EE-L-item",
    tasks=(2,),
    label="expected exposure loss of single pages",
    formula="Σ over pages (ε − ε*)²",
    higher_is_better=False,
    low=0.0,
    high=math.inf,
    if_empty=_squared_target,
    citation=CITATION,
    compute=lambda view: max(0.0, _loss(view)),
    on_request=True,
)
ITEM_DISPARITY = Measure(
    name="EE-D-item",
    tasks=(2,),
    label="inequality of exposure between single pages",
    formula="Σ over pages ε²",
    higher_is_better=False,
    low=0.0,
    high=math.inf,
    if_empty=0.0,
    citation=CITATION,
    compute=_disparity,
    on_request=True,
)
ITEM_RELEVANCE = Measure(
    name="EE-R-item",
    tasks=(2,),
    label="agreement of the exposure of single pages with their ideal exposure",
    formula="Σ over pages ε · ε*",
    higher_is_better=True,
    low=0.0,
    high=math.inf,
    if_empty=0.0,
    citation=CITATION,
    compute=_relevance,
    on_request=True,
)
