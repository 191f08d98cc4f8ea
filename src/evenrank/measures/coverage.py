"""Coverage: how many pages a reader ever gets to see, and how many of the relevant ones."""

from __future__ import annotations

import math

import numpy as np

from evenrank.measures.measure import Measure, TopicView


def _shown_relevant(view: TopicView) -> float:
    n_shown = len(np.unique(view.pages[view.is_relevant]))
    return n_shown / view.n_relevant if view.n_relevant else 0.0


SHOWN = Measure(
    name="Shown",
    tasks=(1, 2),
    label="share of the relevant pages that are shown at all",
    formula="distinct relevant pages shown / relevant pages",
    higher_is_better=True,
    low=0.0,
    high=1.0,
    if_empty=0.0,
    citation="recall over a sequence: the same pages for every editor leave the others without work",
    compute=_shown_relevant,
    on_request=True,
)
DISTINCT = Measure(
    name="Distinct",
    tasks=(1, 2),
    label="number of different pages that are shown",
    formula="distinct pages",
    higher_is_better=True,
    low=0.0,
    high=math.inf,
    if_empty=0.0,
    citation="catalogue coverage, e.g. Ge et al. 2010",
    compute=lambda view: float(len(np.unique(view.pages))),
    on_request=True,
)
