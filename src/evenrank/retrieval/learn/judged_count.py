"""How many pages of a topic are relevant in a whole collection, from ten to twenty judged pages of its ranking.

Scores do not carry over from judged windows to a whole collection, ranks do: from the first page of a ranking to the
last, the chance to be relevant falls along one S-shaped curve of the logarithm of the rank. A few judgments locate that
curve, if they are made where they say most (the Ψ method of Kontsevich and Tyler, 1999): each next page is the one
whose judgment is expected to leave the least doubt about the number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.core.types import Floats
from evenrank.retrieval.learn.relevant_count import SIZE_DEVIATION, RelevantCount

TOPS = (0.05, 0.15, 0.4, 0.6, 0.8, 0.9, 0.99)
"""Chances of the very first pages to be relevant. The low ones are for topics whose relevant pages are hardly found by
words: after a few judgments, the next ones are then asked further down, where such topics have theirs."""
SPREADS = (0.15, 0.3, 0.5, 0.7, 0.85)
"""How gradually the chance falls: scale of the logistic curve over the logarithm of the rank."""
N_MIDDLES, N_RANKS, N_LEVELS = 48, 64, 15
"""Ranks at which the curve may be at half its height, ranks that may be judged next, and equally likely cases that
stand for chance around each curve."""
INNER = 0.6
"""Share of the cases inside the interval that is to hold for four topics in five: it held for more of them when all
curves of the grid were taken at their word (chosen on generated collections, every second judged window, and every
second topic made from categories)."""
MATCH_DEVIATION = 1.5
"""Standard deviation of the logarithm of the number, given how many pages match well: they say little."""
MATCH_SHARE = 0.35
"""Share of the score of the best page from which on a page matches well."""


class _Curves(NamedTuple):
    """Possible curves; arrays run beside each other."""

    middle: Floats
    top: Floats
    spread: Floats

    def at(self, ranks: Floats) -> Floats:
        """Curve by rank: the chance of the page at a rank to be relevant."""
        steep = (np.log(ranks)[None, :] - self.middle[:, None]) / self.spread[:, None]
        return np.asarray(self.top[:, None] / (1.0 + np.exp(np.clip(steep, -50.0, 50.0))))


@dataclass(frozen=True)
class JudgedRanking:
    """The ranking of a topic over a whole collection, with what people said of some of its pages."""

    n_pages: int
    """Pages of the collection; those that no search found have the last ranks."""
    judged: Mapping[int, bool]
    """Whether the page at each judged rank is relevant; ranks begin with 1."""
    n_matching: int | None = None
    """Pages that match well, where that was counted (`count_matching`)."""
    project_size: int | None = None
    """Pages that the topic's project or category has, where that is known."""

    @cached_property
    def _curves(self) -> _Curves:
        middles = np.linspace(np.log(0.5), np.log(max(self.n_pages, 2)), N_MIDDLES)
        return _Curves(*(np.array(column) for column in zip(*product(middles.tolist(), TOPS, SPREADS), strict=True)))

    @cached_property
    def _totals(self) -> tuple[Floats, Floats]:
        """Mean and variance of the number of relevant pages under each curve, by blocks of ranks."""
        edges = np.unique(np.round(np.geomspace(1, self.n_pages + 1, 400)).astype(np.int64))
        edges = np.append(edges, self.n_pages + 1) if edges[-1] <= self.n_pages else edges
        sizes = np.diff(edges).astype(np.float64)
        chances = self._curves.at(edges[:-1] + (sizes - 1.0) / 2.0)
        return chances @ sizes, (chances * (1.0 - chances)) @ sizes

    @cached_property
    def _weights(self) -> Floats:
        """How likely each curve is, given everything that is known."""
        mean, _ = self._totals
        log_weights = np.zeros(len(mean))
        for known, deviation in ((self.n_matching, MATCH_DEVIATION), (self.project_size, SIZE_DEVIATION)):
            if known is not None:
                log_weights -= 0.5 * ((np.log(mean + 0.5) - np.log(known + 0.5)) / deviation) ** 2
        if self.judged:
            chances = np.clip(self._curves.at(np.array(list(self.judged), np.float64)), 1e-6, 1.0 - 1e-6)
            is_relevant = np.array(list(self.judged.values()))
            log_weights += np.where(is_relevant[None, :], np.log(chances), np.log1p(-chances)).sum(axis=1)
        weights = np.exp(log_weights - log_weights.max())
        return np.asarray(weights / weights.sum())

    def estimate(self) -> RelevantCount:
        """The number of relevant pages, with an interval that contains it for four topics in five."""
        mean, variance = self._totals
        levels = [NormalDist().inv_cdf((at + 0.5) / N_LEVELS) for at in range(N_LEVELS)]
        n_known = sum(self.judged.values())
        cases = np.maximum(mean[:, None] + np.sqrt(variance)[:, None] * np.array(levels)[None, :], n_known).ravel()
        weights = np.repeat(self._weights / N_LEVELS, N_LEVELS)
        order = np.argsort(cases, kind="stable")
        cumulative = np.cumsum(weights[order]) - 0.5 * weights[order]
        tail = (1.0 - INNER) / 2.0
        low, median, high = np.interp([tail, 0.5, 1.0 - tail], cumulative, cases[order]).tolist()
        return RelevantCount(median, min(np.floor(low), median), max(np.ceil(high), median))

    def chances(self, n_ranks: int) -> Floats:
        """The chance of the page at each of the first ranks to be relevant; certain where it was judged."""
        found = self._weights @ self._curves.at(np.arange(1.0, n_ranks + 1.0)) if n_ranks else np.empty(0)
        for rank, is_relevant in self.judged.items():
            if rank <= n_ranks:
                found[rank - 1] = float(is_relevant)
        return np.asarray(found)

    def next_rank(self, n_ranks: int) -> int | None:
        """Of the first ranks, the one to judge next: where the answer leaves least doubt; None when all are judged."""
        spaced = np.unique(np.round(np.geomspace(1, max(n_ranks, 1), N_RANKS)).astype(np.int64))
        ranks = spaced[~np.isin(spaced, list(self.judged))]
        if not n_ranks or not len(ranks):
            return next((rank for rank in range(1, n_ranks + 1) if rank not in self.judged), None)
        chances = self._curves.at(ranks.astype(np.float64))
        log_total = np.log(self._totals[0] + 0.5)
        doubt = np.zeros(len(ranks))
        for given in (chances, 1.0 - chances):
            joint = self._weights[:, None] * given
            mass = joint.sum(axis=0)
            mean = (joint * log_total[:, None]).sum(axis=0) / mass
            doubt += (joint * log_total[:, None] ** 2).sum(axis=0) - mass * mean**2
        return int(ranks[int(np.argmin(doubt))])


def count_matching(scores: Floats) -> int:
    """How many of a topic's pages match well, by their scores."""
    return int((scores >= MATCH_SHARE * scores.max()).sum()) if len(scores) else 0


def judged_ranks(page_ids: NDArray[np.integer], judged: Mapping[int, bool]) -> dict[int, bool]:
    """What was said of pages, by their rank; pages that are not in the ranking are left out."""
    places = {page_id: rank for rank, page_id in enumerate(page_ids.tolist(), 1) if page_id in judged}
    return {places[page_id]: is_relevant for page_id, is_relevant in judged.items() if page_id in places}
