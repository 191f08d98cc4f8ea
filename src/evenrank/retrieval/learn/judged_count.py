"""How many pages of a topic are relevant in a whole collection, from ten to twenty judged pages of its ranking.

Scores do not carry over from judged windows to a whole collection, ranks do: from the first page of a ranking to the
last, the chance to be relevant falls along one S-shaped curve of the logarithm of the rank, in some topics down to
further relevant pages that no word finds. A few judgments locate that curve, if they are made where they say most (the
Ψ method of Kontsevich and Tyler, 1999): each next page is the one whose judgment is expected to tell most about the
curve. Where the judgments leave no doubt, the interval is narrow; where the order is poor, it is wide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.core.types import Floats
from evenrank.retrieval.learn.relevant_count import SIZE_DEVIATION, RelevantCount

TOPS = (0.05, 0.15, 0.4, 0.6, 0.8, 0.9, 0.99)
"""Chances of the very first pages to be relevant. The low ones are for topics whose relevant pages are hardly found by
words: after a few judgments, the next ones are then asked further down, where such topics have theirs."""
SPREADS = (0.03, 0.1, 0.2, 0.4, 0.6, 0.85)
"""How gradually the chance falls: scale of the logistic curve over the logarithm of the rank. The smallest one is for
orders that are nearly perfect, as where an index has the category that makes pages relevant."""
TAILS = {0.0: 1.0, 1.0: 0.1, 4.0: 0.1}
"""Further relevant pages, anywhere in the ranking, as a multiple of those of the curve, with how likely that is."""
N_MIDDLES, N_RANKS, N_BLOCKS, N_LEVELS = 48, 64, 400, 15
"""Ranks at which the curve may be at half its height, ranks that may be judged next, blocks of ranks that numbers are
summed over, and equally likely cases that stand for chance around each curve."""
INNER = 0.7
"""Share of the cases inside the interval that is to hold for four topics in five: with more of them, it held for more
(chosen on half of the topics of `benchmarks/count.py`)."""
MATCH_DEVIATION = 2.0
"""Standard deviation of the logarithm of the number, given how many pages match well: they say little."""
MATCH_SHARE = 0.35
"""Share of the score of the best page from which on a page matches well."""


class _Curves(NamedTuple):
    """Possible curves; arrays run beside each other."""

    middle: Floats
    top: Floats
    spread: Floats
    tail: Floats
    """The chance of every page, wherever it is, on top of the curve's."""

    def at(self, ranks: Floats) -> Floats:
        """Curve by rank: the chance of the page at a rank to be relevant, never quite 0 or 1."""
        steep = (np.log(ranks)[None, :] - self.middle[:, None]) / self.spread[:, None]
        falling = self.top[:, None] / (1.0 + np.exp(np.clip(steep, -50.0, 50.0)))
        return np.asarray(np.clip(falling + self.tail[:, None], 1e-9, 0.999))


class _Prior(NamedTuple):
    """What is known of the rankings of a collection before anything is judged; arrays run beside each other."""

    curves: _Curves
    log_weights: Floats
    """How likely each curve is."""
    mean: Floats
    """Of the number of relevant pages under each curve."""
    variance: Floats


@lru_cache(maxsize=4)
def _prior(n_pages: int) -> _Prior:
    edges = np.unique(np.round(np.geomspace(1, n_pages + 1, N_BLOCKS)).astype(np.int64))
    edges = np.append(edges, n_pages + 1) if edges[-1] <= n_pages else edges
    sizes = np.diff(edges).astype(np.float64)
    ranks = edges[:-1] + (sizes - 1.0) / 2.0
    middles = np.linspace(np.log(0.5), np.log(max(n_pages, 2)), N_MIDDLES)
    middle, top, spread, tail = (grid.ravel() for grid in np.meshgrid(middles, TOPS, SPREADS, list(TAILS)))
    n_falling = _Curves(middle, top, spread, np.zeros(len(tail))).at(ranks) @ sizes
    curves = _Curves(middle, top, spread, tail * n_falling / max(n_pages, 1))
    chances = curves.at(ranks)
    log_weights = np.log(np.tile(list(TAILS.values()), len(tail) // len(TAILS)))
    return _Prior(curves, log_weights, chances @ sizes, (chances * (1.0 - chances)) @ sizes)


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
    def _judged_chances(self) -> Floats:
        return _prior(self.n_pages).curves.at(np.array(list(self.judged), np.float64))

    @cached_property
    def _weights(self) -> Floats:
        """How likely each curve is, given everything that is known."""
        _, log_weights, mean, _ = _prior(self.n_pages)
        for known, deviation in ((self.n_matching, MATCH_DEVIATION), (self.project_size, SIZE_DEVIATION)):
            if known is not None:
                log_weights = log_weights - 0.5 * ((np.log(mean + 0.5) - np.log(known + 0.5)) / deviation) ** 2
        is_relevant = np.array(list(self.judged.values()), bool)
        chances = self._judged_chances
        log_weights = log_weights + np.where(is_relevant[None, :], np.log(chances), np.log1p(-chances)).sum(axis=1)
        weights = np.exp(log_weights - log_weights.max())
        return np.asarray(weights / weights.sum())

    def estimate(self) -> RelevantCount:
        """The number of relevant pages, with an interval that contains it for four topics in five."""
        prior, judged = _prior(self.n_pages), self._judged_chances
        n_known = sum(self.judged.values())
        mean = prior.mean - judged.sum(axis=1) + n_known
        variance = np.maximum(prior.variance - (judged * (1.0 - judged)).sum(axis=1), 0.0)
        levels = [NormalDist().inv_cdf((at + 0.5) / N_LEVELS) for at in range(N_LEVELS)]
        cases = np.maximum(mean[:, None] + np.sqrt(variance)[:, None] * np.array(levels)[None, :], n_known).ravel()
        weights = np.repeat(self._weights / N_LEVELS, N_LEVELS)
        order = np.argsort(cases, kind="stable")
        cumulative = np.cumsum(weights[order]) - 0.5 * weights[order]
        tail = (1.0 - INNER) / 2.0
        low, median, high = np.interp([tail, 0.5, 1.0 - tail], cumulative, cases[order]).tolist()
        return RelevantCount(median, min(np.round(low), median), max(np.round(high), median))

    def chances(self, n_ranks: int) -> Floats:
        """The chance of the page at each of the first ranks to be relevant; certain where it was judged."""
        spaced = np.unique(np.round(np.geomspace(1, max(n_ranks, 1), N_BLOCKS)))
        of_spaced = self._weights @ _prior(self.n_pages).curves.at(spaced)
        found = np.interp(np.log(np.arange(1.0, n_ranks + 1.0)), np.log(spaced), of_spaced)
        for rank, is_relevant in self.judged.items():
            if rank <= n_ranks:
                found[rank - 1] = float(is_relevant)
        return np.asarray(found)

    def next_rank(self, n_ranks: int) -> int | None:
        """Of the first ranks, the one whose judgment tells most about the curve; None when all are judged."""
        spaced = np.unique(np.round(np.geomspace(1, max(n_ranks, 1), N_RANKS)).astype(np.int64))
        ranks = spaced[~np.isin(spaced, list(self.judged))]
        if not n_ranks or not len(ranks):
            return next((rank for rank in range(1, n_ranks + 1) if rank not in self.judged), None)
        chances = _prior(self.n_pages).curves.at(ranks.astype(np.float64))
        told = _doubt(self._weights @ chances) - self._weights @ _doubt(chances)
        return int(ranks[int(np.argmax(told))])


def _doubt(chances: Floats) -> Floats:
    """Entropy of an answer that is yes with some chance."""
    return np.asarray(-chances * np.log(chances) - (1.0 - chances) * np.log1p(-chances))


def count_matching(scores: Floats) -> int:
    """How many of a topic's pages match well, by their scores."""
    return int((scores >= MATCH_SHARE * scores.max()).sum()) if len(scores) else 0


def judged_ranks(page_ids: NDArray[np.integer], judged: Mapping[int, bool]) -> dict[int, bool]:
    """What was said of pages, by their rank; pages that are not in the ranking are left out."""
    places = {page_id: rank for rank, page_id in enumerate(page_ids.tolist(), 1) if page_id in judged}
    return {places[page_id]: is_relevant for page_id, is_relevant in judged.items() if page_id in places}
