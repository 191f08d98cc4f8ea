"""Task 1: expected nDCG × AWRF of one ranking as a problem in arrays.

A problem may be that of a whole ranking, or that of the ranks below a head that is fixed: the head's exposure and
relevance are then `given`, and the discounts are those of the ranks that are still free.

The divergence: JSD(P, T) is a sum over groups of φ(P_g) = ½ P_g log(P_g / M_g) + ½ T_g log(T_g / M_g) with
M = (P + T) / 2. The slope of φ is infinite at 0, so mixtures can buy fairness with a trace of exposure that no ranking
can give: a ranking shows a group not at all, or at least at its last rank. Between 0 and that least share we may take
the chord, which lies above φ. The bound over mixtures becomes tighter and stays valid for every ranking.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimal.permutohedron import support

SMALLEST = 1e-300
"""Keeps logarithms finite; what they are multiplied with is 0 there."""


def divergence_by_group(share: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """φ of each group, natural logarithm; `share` may have any leading axes."""
    both = share + target
    return np.asarray(0.5 * (_x_log_x(share) + _x_log_x(target) - both * np.log(np.maximum(0.5 * both, SMALLEST))))


def total_divergence(share: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ φ over groups (the last axis), with fewer steps than group by group."""
    both = share + target
    entropies = (_x_log_x(share) - _x_log_x(both)).sum(axis=-1) + _x_log_x(target).sum()
    return np.asarray(0.5 * (entropies + np.log(2.0) * both.sum(axis=-1)))


def _x_log_x(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """x log x, and 0 at 0."""
    return np.asarray(x * np.log(np.maximum(x, SMALLEST)))


@dataclass(frozen=True)
class Expansion:
    """A sum of functions of one share each, around a point."""

    value: float
    slope: NDArray[np.float64]
    """First derivative for each group."""
    curvature: NDArray[np.float64]
    """Second derivative for each group."""


@dataclass(frozen=True)
class ChordedDivergence:
    """The sum over groups of: the chord up to `least_share`, a parabola that takes up its kink, then φ lowered.

    The parabola lets the slope grow in a line from the chord's to that of φ at `least_share · (1 + width)`. The slope
    of φ is concave, so it is never above φ's: the function stays below φ on all shares a ranking can give.
    """

    target: NDArray[np.float64]
    least_share: NDArray[np.float64]
    """Smallest share above 0 that a ranking can give to each group."""

    width: float = 0.3
    """Length of the parabola, relative to `least_share`."""

    @cached_property
    def at_zero(self) -> NDArray[np.float64]:
        return divergence_by_group(np.zeros_like(self.target), self.target)

    @cached_property
    def chord_slope(self) -> NDArray[np.float64]:
        rise = divergence_by_group(self.least_share, self.target) - self.at_zero
        return np.asarray(rise / self.least_share)

    @cached_property
    def end(self) -> NDArray[np.float64]:
        """Share where the parabola ends."""
        return self.least_share * (1.0 + self.width)

    @cached_property
    def bend(self) -> NDArray[np.float64]:
        """Second derivative of the parabola."""
        return (_slope_of_phi(self.end, self.target) - self.chord_slope) / (self.end - self.least_share)

    @cached_property
    def lowering(self) -> NDArray[np.float64]:
        """How much below φ the function runs behind the parabola."""
        return divergence_by_group(self.end, self.target) - self._near_zero(self.end)

    def value(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """The function, summed over groups (the last axis)."""
        beyond = np.maximum(share, self.end)
        both = beyond + self.target
        behind = 0.5 * (beyond * np.log(2.0 * beyond / both) - self.target * np.log(both)) + self._constant
        return np.asarray(np.where(share < self.end, self._near_zero(share), behind).sum(axis=-1))

    def expansion(self, share: NDArray[np.float64]) -> Expansion:
        """Value and derivatives at a share of each group."""
        beyond = np.maximum(share, self.end)
        both = beyond + self.target
        of_phi = 0.5 * np.log(2.0 * beyond / both)
        behind = beyond * of_phi - 0.5 * self.target * np.log(both) + self._constant
        is_near, is_bent = share < self.end, share >= self.least_share
        near_slope = self.chord_slope + self.bend * np.where(is_bent, share - self.least_share, 0.0)
        return Expansion(
            value=float(np.where(is_near, self._near_zero(share), behind).sum()),
            slope=np.where(is_near, near_slope, of_phi),
            curvature=np.where(is_near, np.where(is_bent, self.bend, 0.0), 0.5 * self.target / (beyond * both)),
        )

    @cached_property
    def _constant(self) -> NDArray[np.float64]:
        """What does not depend on the share behind the parabola."""
        return 0.5 * self.target * np.log(np.maximum(2.0 * self.target, SMALLEST)) - self.lowering

    def _near_zero(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        beyond_chord = np.maximum(share - self.least_share, 0.0)
        return np.asarray(self.at_zero + self.chord_slope * share + 0.5 * self.bend * beyond_chord**2)


def plane_heights(
    target: NDArray[np.float64], least_share: NDArray[np.float64], slope: NDArray[np.float64]
) -> NDArray[np.float64]:
    """For each group the largest b for which φ(P) ≥ b + slope · P on all shares that rankings can give.

    A ranking gives a group nothing, or `least_share` and more; there φ(P) − slope · P is convex: least where the slope
    of φ is `slope`, or at an end.
    """
    growth = np.exp(2.0 * slope)
    free = np.where(growth < 2.0, target * growth / np.maximum(2.0 - growth, SMALLEST), 1.0)
    share = np.clip(free, least_share, 1.0)
    nothing = divergence_by_group(np.zeros_like(target), target)
    return np.asarray(np.minimum(nothing, divergence_by_group(share, target) - slope * share))


def _slope_of_phi(share: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(0.5 * np.log(2.0 * share / (share + target)))


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
    """Exponent of AWRF; 1 weighs it as Score does."""
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


@dataclass(frozen=True)
class Tangent:
    """Prices of exposure, in relevance: a unit of exposure of group g is worth total_price − rate · slope[g]."""

    total: float
    """Exposure of all groups together at the point of contact."""
    slope: NDArray[np.float64]
    """Of the divergence, for each group."""
    rate: float
    """Relevance that one unit of divergence is worth, per unit of exposure in groups."""
    total_price: float
    """What exposure is worth in any group."""

    @property
    def price(self) -> NDArray[np.float64]:
        return self.total_price - self.rate * self.slope

    def towards(self, other: Tangent, way: float) -> Tangent:
        """The prices between these and others, `way` from 0 to 1: good ones for totals in between."""
        rate = (1.0 - way) * self.rate + way * other.rate
        return Tangent(
            total=(1.0 - way) * self.total + way * other.total,
            slope=((1.0 - way) * self.rate * self.slope + way * other.rate * other.slope) / rate,
            rate=rate,
            total_price=(1.0 - way) * self.total_price + way * other.total_price,
        )
