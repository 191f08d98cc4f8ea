"""Exposure and target over the eight dimensions of 2022, compared with the roundings of the organisers' code."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evenrank.core.problem import QueryBatch
from evenrank.core.sparse_alignment import SparseVector
from evenrank.trec.published_target import PublishedPages, Values, block_sum, dot, shared_cells


@dataclass(frozen=True)
class PublishedGroups:
    """Exposure and target by place in the organisers' arrays of `size` elements."""

    exposure: SparseVector
    target: SparseVector
    size: int

    def awrf(self, log_base: float) -> float:
        """1 − Jensen–Shannon divergence, by way of its square root."""
        p = self.exposure.values / block_sum(self.exposure, self.size)
        q = SparseVector(self.target.cells, self.target.values / block_sum(self.target, self.size))
        middle = (p + q.at(self.exposure.cells)) / 2.0
        left = SparseVector(self.exposure.cells, p * _log(p / middle))
        divergence = block_sum(left, self.size) + block_sum(self._target_terms(q, middle), self.size)
        distance = math.sqrt(max(0.0, divergence / math.log(log_base) / 2.0))
        return 1.0 - distance * distance

    def _target_terms(self, q: SparseVector, middle: Values) -> SparseVector:
        """q log(q / m) by place; m is q / 2 where there is no exposure."""
        terms = q.values * math.log(2.0)
        at_exposure, at_target = shared_cells(self.exposure, q)
        exposed = q.values[at_target]
        terms[at_target] = exposed * _log(exposed / middle[at_exposure])
        return SparseVector(q.cells, terms)

    def loss(self) -> float:
        """‖ε − ε*‖²."""
        unwanted = np.setdiff1d(self.exposure.cells, self.target.cells, assume_unique=True)
        cells = np.sort(np.concatenate([self.target.cells, unwanted]), kind="stable")
        difference = SparseVector(cells, self.exposure.at(cells) - self.target.at(cells))
        return dot(difference, difference, self.size)

    def disparity(self) -> float:
        """ε · ε."""
        return dot(self.exposure, self.exposure, self.size)

    def relevance(self) -> float:
        """ε · ε*."""
        return dot(self.exposure, self.target, self.size)


@dataclass(frozen=True)
class PublishedView:
    """The ranked pages of a topic and its target, in the organisers' layout."""

    pages: PublishedPages
    target: SparseVector

    def groups(self, batch: QueryBatch) -> PublishedGroups:
        """Exposure beside the target: the attention of the pages that count, over its sum or the number of rankings."""
        is_counted = self.pages.is_listed & batch.is_relevant if batch.relevant_only else self.pages.is_listed
        kept = np.flatnonzero(is_counted)
        given = self.pages.total(batch.attention.astype(np.float64), kept)
        share = float(batch.attention[kept].sum()) if batch.is_share else max(1.0, float(batch.n_rankings[0]))
        return PublishedGroups(SparseVector(given.cells, given.values / share), self.target, self.pages.layout.size)


def _log(values: Values) -> Values:
    """Natural logarithms by the C library, whose last bit numpy's own need not share."""
    return np.array([math.log(value) for value in values.tolist()])
