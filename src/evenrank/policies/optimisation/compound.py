"""Task 1: expected nDCG × AWRF of one ranking as a problem in arrays.

A problem may be that of a whole ranking, or that of the ranks below a head that is fixed: the head's exposure and
relevance are then `given`, and the discounts are those of the ranks that are still free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.divergence import divergence_by_group, total_divergence
from evenrank.policies.optimisation.permutohedron import support

LEAST = 1e-12
"""Stands for zero inside a logarithm."""
STIFFNESS = 100.0
"""Of the band, when exposure is counted in shares of all exposure."""


@dataclass(frozen=True)
class Band:
    """Rankings that give all groups together an exposure from `low` to `high`, both included."""

    low: float
    high: float

    def excess(self, total: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """How far exposures are above the band, or below it (negative)."""
        return np.asarray(total - np.minimum(np.maximum(total, self.low), self.high))


@dataclass(frozen=True)
class CompoundProblem:
    """Maximise relevance · (1 − JSD)^fairness. An outcome is the exposure of each group, and last the relevance."""

    rows: NDArray[np.float64]
    """Page type by group, for groups that count and that some candidate is in."""
    page_type: NDArray[np.intp]
    relevance: NDArray[np.float64]
    """Probabilities, divided so that the ranking by relevance has 1 in all."""
    target: NDArray[np.float64]
    """Wanted share of each group."""
    unreachable: float
    """JSD, natural logarithm, of the groups that no candidate is in."""
    discounts: NDArray[np.float64]
    fairness: float
    """Exponent of AWRF; 1 is the measure itself."""
    log_base: float
    """Base of the divergence's logarithm."""
    band: Band
    """Rankings among which the best is sought: all of them, or those of a band."""
    given: NDArray[np.float64]
    """Outcome of the ranks above, which are fixed: exposure of each group, and last the relevance."""
    attention: float
    """Discounts of all ranks together, those above included."""

    @classmethod
    def of(
        cls,
        rows: NDArray[np.float64],
        page_type: NDArray[np.intp],
        relevance: NDArray[np.float64],
        target: NDArray[np.float64],
        weights: NDArray[np.float64],
        *,
        fairness: float = 1.0,
        log_base: float = 2.0,
    ) -> CompoundProblem:
        """The problem of pages with these alignment rows over all groups that count, for ranks of these `weights`.

        Groups that no page is in are set apart. Relevance is put into units of the most relevant ranking; when no page
        has any, all pages count alike.
        """
        is_reached = (rows[np.unique(page_type)] > 0.0).any(axis=0)
        worth = np.maximum(relevance, 0.0) if (relevance > 0.0).any() else np.ones(len(relevance))
        missed = target[~is_reached]
        return cls(
            rows=rows[:, is_reached],
            page_type=page_type,
            relevance=worth / (support(worth, weights) or 1.0),
            target=target[is_reached],
            unreachable=float(divergence_by_group(np.zeros_like(missed), missed).sum()),
            discounts=weights,
            fairness=fairness,
            log_base=log_base,
            band=Band(0.0, float(weights.sum() * rows.sum(axis=1).max(initial=1.0))),
            given=np.zeros(int(is_reached.sum()) + 1),
            attention=float(weights.sum()),
        )

    @cached_property
    def unit(self) -> float:
        """One natural unit of divergence in the chosen base."""
        return float(1.0 / np.log(self.log_base))

    @cached_property
    def stiffness(self) -> float:
        """What a squared unit of exposure outside of the band costs in the logarithm of the score."""
        return float(STIFFNESS / self.attention**2)

    def page_scores(self, price: NDArray[np.float64]) -> NDArray[np.float64]:
        """Value of a unit of exposure of each page, when the groups have these prices."""
        return np.asarray(self.relevance + (self.rows @ price)[self.page_type])

    def outcome(self, ranking: NDArray[np.intp]) -> NDArray[np.float64]:
        """Exposure of each group, and last the relevance."""
        by_type = np.bincount(self.page_type[ranking], self.discounts, minlength=len(self.rows))
        return np.append(by_type @ self.rows, self.discounts @ self.relevance[ranking]) + self.given

    def log_score(self, outcomes: NDArray[np.float64], divergence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Logarithm of the score of outcomes (last axis) with these divergences; AWRF is 0 without any exposure."""
        awrf = np.where(outcomes[..., :-1].any(axis=-1), 1.0 - divergence, 0.0)
        fair = self.fairness * np.log(np.maximum(awrf, LEAST))
        return np.asarray(np.log(np.maximum(outcomes[..., -1], LEAST)) + fair)

    def true_log_score(self, outcomes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Logarithm of the score of outcomes."""
        return self.log_score(outcomes, self.divergence(outcomes))

    def divergence(self, outcomes: NDArray[np.float64]) -> NDArray[np.float64]:
        """JSD of the exposures of outcomes and the target."""
        return np.asarray(self.unit * (total_divergence(shares(outcomes), self.target) + self.unreachable))

    def awrf(self, ranking: NDArray[np.intp]) -> float:
        """AWRF of a ranking; 0 when it shows no group at all."""
        outcome = self.outcome(ranking)
        return max(0.0, 1.0 - float(self.divergence(outcome))) if outcome[:-1].any() else 0.0

    def score(self, ranking: NDArray[np.intp]) -> float:
        """Score of a ranking."""
        return float(self.outcome(ranking)[-1] * self.awrf(ranking) ** self.fairness)

    def least_share(self, most_exposure: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Smallest share above 0 of each group in a ranking that gives all groups together at most `most_exposure`."""
        return np.asarray(np.minimum(1.0, self.least_exposure / most_exposure))

    @cached_property
    def least_exposure(self) -> NDArray[np.float64]:
        """Smallest exposure above 0 of each group in a ranking: what it has already, or one page at the last rank."""
        at_last = np.where(self.rows > 0.0, self.rows, np.inf).min(axis=0) * self.discounts[-1]
        return np.asarray(np.where(self.given[:-1] > 0.0, self.given[:-1], at_last))

    def at_depth(self, depth: int) -> CompoundProblem:
        """The same problem for the first `depth` ranks alone, relevance in units of their most relevant ranking."""
        weights = self.discounts[:depth]
        most = support(self.relevance, weights)
        band = Band(0.0, float(weights.sum() * self.rows.sum(axis=1).max(initial=1.0)))
        attention = float(weights.sum())
        return replace(
            self, discounts=weights, relevance=self.relevance / (most or 1.0), band=band, attention=attention
        )

    def below(self, head: NDArray[np.intp]) -> CompoundProblem:
        """The same problem for the ranks below a head; its pages keep their numbers and must not be shown again."""
        of_head = replace(self, discounts=self.discounts[: len(head)])
        return replace(self, discounts=self.discounts[len(head) :], given=of_head.outcome(head))

    def restricted(self, pages: NDArray[np.intp]) -> CompoundProblem:
        """The problem with some of the pages only."""
        return replace(self, page_type=self.page_type[pages], relevance=self.relevance[pages])


def shares(outcomes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of each group in the exposure of outcomes; zeros where no group has any."""
    exposure = outcomes[..., :-1]
    total = exposure.sum(axis=-1, keepdims=True)
    return np.asarray(exposure / np.where(total > 0.0, total, 1.0))
