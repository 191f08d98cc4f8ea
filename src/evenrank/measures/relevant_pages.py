"""The relevant pages of a topic one by one: what exposure each should get, and what it gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.sparse_alignment import SparseAlignment

if TYPE_CHECKING:
    from evenrank.measures.measure import TopicView


class RelevantPages(Protocol):
    """The relevant pages of a topic that have metadata, by ascending id."""

    @property
    def page_ids(self) -> NDArray[np.int32]: ...
    @property
    def ideal_exposure(self) -> NDArray[np.float64]:
        """Exposure of each page under an ideal policy, by the work that it needs."""
        ...

    @property
    def alignment(self) -> Alignment | SparseAlignment:
        """Groups of the pages."""
        ...


@dataclass(frozen=True)
class ItemExposure:
    """Exposure page by page."""

    shown: NDArray[np.float64]
    """Expected exposure of every page that is shown."""
    given: NDArray[np.float64]
    """Expected exposure of each relevant page."""
    wanted: NDArray[np.float64]
    """Ideal exposure of each relevant page."""


def item_exposure(view: TopicView) -> ItemExposure:
    """Exposure of pages over the rankings of a sequence: the mean of their ranks' attention."""
    pages, number = np.unique(view.pages, return_inverse=True)
    weights = view.attention.astype(np.float64)
    shown = np.bincount(number.reshape(-1), weights, minlength=len(pages)) / max(1, view.n_rankings)
    relevant = view.relevant.page_ids
    given = np.zeros(len(relevant))
    if len(pages):
        places = np.minimum(np.searchsorted(pages, relevant), len(pages) - 1)
        given = np.where(pages[places] == relevant, shown[places], 0.0)
    return ItemExposure(shown, given, view.relevant.ideal_exposure)
