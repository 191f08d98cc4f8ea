"""Underexposure: how far relevant pages stay below their share of exposure, summed over their groups."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenrank.core.sparse_alignment import SparseAlignment
from evenrank.measures.measure import Measure, TopicView
from evenrank.measures.relevant_pages import item_exposure

CITATION = "the organisers' code of 2021, columns L2UEXP and TotUEXP of its Task 2 notebook"


def underexposure(view: TopicView) -> NDArray[np.float64]:
    """What the relevant pages of each group lack of their share of exposure; pages above theirs make up for nothing."""
    items = item_exposure(view)
    wanted, shown = items.wanted.sum(), items.shown.sum()
    if wanted <= 0.0:
        return np.zeros(1)
    given = items.given / shown if shown > 0.0 else np.zeros(len(items.given))
    lacking = np.maximum(items.wanted / wanted - given, 0.0)
    return _by_group(view, lacking)


def _by_group(view: TopicView, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of a value of the relevant pages over each group that has any."""
    alignment = view.relevant.alignment
    return alignment.sparse_total(values).values if isinstance(alignment, SparseAlignment) else alignment.total(values)


def _squares(view: TopicView) -> float:
    lacking = underexposure(view)
    return float(lacking @ lacking)


L2_UNDEREXPOSURE = Measure(
    name="L2UEXP",
    tasks=(2,),
    label="squared underexposure of groups",
    formula="‖Σ over relevant pages max(0, ε*/Σε* − ε/Σε) · groups‖²",
    higher_is_better=False,
    low=0.0,
    high=math.inf,
    if_empty=lambda view: _squares(view.emptied()),
    citation=CITATION,
    compute=_squares,
    on_request=True,
)
TOTAL_UNDEREXPOSURE = Measure(
    name="TotUEXP",
    tasks=(2,),
    label="total underexposure of groups; above 1 only where pages are in several groups",
    formula="Σ over relevant pages max(0, ε*/Σε* − ε/Σε) · groups",
    higher_is_better=False,
    low=0.0,
    high=math.inf,
    if_empty=lambda view: float(underexposure(view.emptied()).sum()),
    citation=CITATION,
    compute=lambda view: float(underexposure(view).sum()),
    on_request=True,
)
