"""Task 1: the best mixture of rankings for log relevance + fairness · log(1 − JSD), and the best that one depth allows.

`relax` is a second-order Frank–Wolfe method: each round prices the pages by the gradient, takes the best ranking for
these prices, and finds new weights for all rankings so far from a quadratic model of the objective.

Pages of no counted group take exposure from all groups at once. A relaxation over all totals would let this exposure
go to nothing, in perfect proportions that no ranking can show. So `solve_bands` keeps relaxations to a band of totals:
first around the order by relevance, then wherever the bound is highest, until that is a place already looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimal.bounds import RATES, BandBounds
from evenrank.policies.optimal.compound import LEAST, Band, ChordedDivergence, CompoundProblem, Tangent
from evenrank.policies.optimal.permutohedron import (
    Mixture,
    best_ranking,
    minimise_on_simplex,
    strongest_per_type,
    support,
)


@dataclass(frozen=True)
class Contact:
    """A tangent, and what else a quadratic model needs around its point of contact."""

    tangent: Tangent
    share: NDArray[np.float64]
    awrf: float
    """1 less the chorded divergence."""
    curvature: NDArray[np.float64]
    """Of the divergence with respect to the share of each group."""
    is_off_band: bool
    """Is the point outside of the problem's band, so that the band has a say in the prices?"""


def contact_at(problem: CompoundProblem, chorded: ChordedDivergence, outcome: NDArray[np.float64]) -> Contact:
    """Slopes, prices and curvatures at an outcome.

    The gradient of log(1 − JSD) with respect to the exposure x of groups is −(h − h·P) / (s (1 − JSD)), where h is the
    slope for each group, s = Σ x and P = x / s; `rate` makes relevance the unit. Off the band its penalty adds to the
    price of all groups.
    """
    exposure, relevance = outcome[:-1], float(outcome[-1])
    total = max(float(exposure.sum()), LEAST)
    share = exposure / total
    around = chorded.expansion(share)
    slope = problem.unit * around.slope
    awrf = max(1.0 - problem.unit * (around.value + problem.unreachable), LEAST)
    rate = problem.fairness * relevance / (awrf * total)
    excess = float(problem.band.excess(total))
    total_price = rate * float(slope @ share) - problem.stiffness * relevance * excess
    tangent = Tangent(total, slope, rate, total_price)
    return Contact(tangent, share, awrf, problem.unit * around.curvature, excess != 0.0)


STEPS = np.array([1.0, 0.7, 0.4, 0.2, 0.1, 0.05, 0.02, 0.01, 3e-3, 1e-3, 1e-4])
"""Shares of the way to the model's optimum, and to the new ranking, that are tried."""
LEAST_CURVATURE = 1e-3
"""Of a group on the chord, so that the model stays bounded."""
SHARP = 1e-6
"""Width of a parabola that changes nothing."""


@dataclass(frozen=True)
class Relaxation:
    """What the rounds ended with."""

    mixture: Mixture
    log_score: float
    """Of the mixture under the chorded divergence, without the parabola that only helps to find it."""
    tangent: Tangent
    """The prices that proved most on the way."""
    best_ranking: NDArray[np.intp]
    """The best by the true score of all rankings met on the way."""
    n_iterations: int


def relax(problem: CompoundProblem, start: Mixture, tolerance: float, max_iterations: int) -> Relaxation:
    """The best mixture of rankings, its prices, and the best ranking met on the way.

    The objective is concave within a band, so its linearisation anywhere bounds it from above: each round proves a
    log score that no mixture exceeds, and the prices of the lowest are kept.
    """
    chorded = ChordedDivergence(problem.target, problem.least_share(problem.band.high))
    mixture, met, outcomes = start, list(start.rankings), list(start.outcomes)
    log_score, proven = float(_log_score(problem, chorded, start.outcome)), np.inf
    tangent = contact_at(problem, chorded, start.outcome).tangent
    for _ in range(max_iterations):
        outcome = mixture.outcome
        contact = contact_at(problem, chorded, outcome)
        prices = np.append(contact.tangent.price, 1.0)
        ranking = best_ranking(problem.page_scores(prices[:-1]), len(problem.discounts))
        found = problem.outcome(ranking)
        met.append(ranking)
        outcomes.append(found)
        missed = float(prices @ (found - outcome)) / max(float(outcome[-1]), LEAST)
        if log_score + missed < proven:
            proven, tangent = log_score + missed, contact.tangent
        if missed <= tolerance:
            break
        mixture, improved = _correct(problem, chorded, contact, mixture.joined(ranking, found), log_score)
        if improved <= log_score:
            break
        log_score = improved
    best = int(np.argmax(problem.true_log_score(np.array(outcomes))))
    value = float(_log_score(problem, replace(chorded, width=SHARP), mixture.outcome))
    return Relaxation(mixture, value, tangent, met[best], len(met) - len(start.rankings))


def _log_score(
    problem: CompoundProblem, chorded: ChordedDivergence, outcomes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The objective of the relaxation: the log score under the chorded divergence, less a penalty off the band."""
    total = outcomes[..., :-1].sum(axis=-1)
    share = outcomes[..., :-1] / np.maximum(total, LEAST)[..., None]
    awrf = np.where(total > 0.0, 1.0 - problem.unit * (chorded.value(share) + problem.unreachable), 0.0)
    scores = np.log(np.maximum(outcomes[..., -1], LEAST)) + problem.fairness * np.log(np.maximum(awrf, LEAST))
    return np.asarray(scores - 0.5 * problem.stiffness * problem.band.excess(total) ** 2)


def _correct(
    problem: CompoundProblem, chorded: ChordedDivergence, at: Contact, mixture: Mixture, log_score: float
) -> tuple[Mixture, float]:
    """The mixture with better weights, and its log score; as it was when no step improves it."""
    newest = np.zeros(len(mixture.weights))
    newest[-1] = 1.0
    goal = minimise_on_simplex(*_model(problem, at, mixture), mixture.weights)
    ways = np.array([goal - mixture.weights, newest - mixture.weights])
    tried = (mixture.weights + STEPS[:, None, None] * ways).reshape(-1, len(newest))
    scores = _log_score(problem, chorded, tried @ mixture.outcomes)
    best = int(np.argmax(scores))
    if scores[best] <= log_score:
        return mixture, log_score
    return mixture.reweighted(np.where(tried[best] > LEAST, tried[best], 0.0)), float(scores[best])


def _model(problem: CompoundProblem, at: Contact, mixture: Mixture) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Q and b of the quadratic model ½ wᵀ Q w − bᵀ w of minus the objective around the mixture.

    Its Hessian is that of −log relevance, that of the divergence for a fixed total exposure, the square of the
    gradient that −log(1 − JSD) adds, and off the band that of its penalty; in scaled coordinates it is the identity.
    """
    price = at.tangent.price
    unit = max(float(mixture.weights @ mixture.outcomes[:, -1]), LEAST)
    curvature = np.maximum(at.curvature, problem.unit * LEAST_CURVATURE) / at.tangent.total**2
    along = (price - price @ at.share) / (unit * np.sqrt(problem.fairness))
    exposures = mixture.outcomes[:, :-1]
    size = exposures.shape[1]
    scaled = np.empty((len(exposures), size + 2 + at.is_off_band))
    scaled[:, :size] = exposures * np.sqrt(problem.fairness / at.awrf * curvature)
    scaled[:, size] = mixture.outcomes[:, -1] / unit
    scaled[:, size + 1] = exposures @ along
    if at.is_off_band:
        scaled[:, size + 2] = exposures.sum(axis=1) * np.sqrt(problem.stiffness)
    quadratic = scaled @ scaled.T
    return quadratic, quadratic @ mixture.weights + (exposures @ price + mixture.outcomes[:, -1]) / unit


MAX_RELAXATIONS = 12
"""Whatever the bound: a relaxation may end outside of its band, and leave the highest bound where it was."""
ENOUGH = 2e-4
"""Share by which looking again at the same place must lower the bound to be worth it."""


COARSE = 0.005
"""Share of all exposure that the last rank has in a short ranking, where whole pages matter."""


@dataclass(frozen=True)
class Effort:
    """How exactly relaxations are solved."""

    tolerance: float
    """Share of the score that a relaxation may miss."""
    max_iterations: int
    """Of one relaxation."""
    budget: int
    """Iterations of all relaxations together."""
    first_width: float
    """The first relaxation looks at totals from 1 / width to width times that of the order by relevance."""
    width: float
    """The same for the others."""
    n_rates: int = len(RATES)
    """Multiples of each relaxation's rate that the bound is tried with."""
    n_between: int = 5
    """Prices between those of neighbouring relaxations that the bound is tried with."""
    assigns: bool = False
    """Whether the bounds of short lists are made tighter by assignments, which takes as long as all the rest."""


ON_THE_WAY = Effort(1e-3, max_iterations=12, budget=30, first_width=1.1, width=1.05, n_rates=2, n_between=2)
"""For a depth above the end of a list, where the bound is a by-product."""
AT_THE_END = Effort(1e-4, max_iterations=60, budget=100, first_width=1.1, width=1.05, n_rates=3)
"""For the depth of the whole list."""
BRIEF = Effort(1e-3, max_iterations=12, budget=12, first_width=1.1, width=1.05, n_rates=1)
"""One relaxation for a depth above the end of a list, for people who wait."""
BRIEF_END = Effort(1e-3, max_iterations=30, budget=30, first_width=1.1, width=1.05, n_rates=2)
"""The same for the whole list."""


def thorough_effort(problem: CompoundProblem, tolerance: float, max_iterations: int) -> Effort:
    """With few ranks whole pages cost more than an inexact relaxation: many rough relaxations prove more there."""
    is_coarse = problem.discounts[-1] > COARSE * problem.discounts.sum()
    if is_coarse:
        budget = min(150, max_iterations)
        return Effort(2e-4, max_iterations=30, budget=budget, first_width=1.05, width=1.05, assigns=True)
    return Effort(tolerance, max_iterations, budget=max_iterations, first_width=1.2, width=1.03)


def solve_bands(
    problem: CompoundProblem, start: Mixture, effort: Effort, floor: float
) -> tuple[list[Relaxation], BandBounds]:
    """Relaxations, and bounds: no ranking has a higher score than that of its band, or than the known score `floor`."""
    bounds = BandBounds.of(problem, floor)
    solved: list[Relaxation] = []
    looked_at: list[float] = []
    total, width, mixture, left = float(start.outcome[:-1].sum()), effort.first_width, start, effort.budget
    while True:
        banded = replace(problem, band=Band(total / width, total * width))
        relaxation = relax(banded, mixture, effort.tolerance, min(left, effort.max_iterations))
        before = bounds.highest()[1]
        _learn(bounds, relaxation.tangent, [other.tangent for other in solved], effort)
        solved.append(relaxation)
        looked_at += [total, relaxation.tangent.total]
        total, bound = bounds.highest()
        left -= relaxation.n_iterations
        nearest = min(solved, key=lambda other: abs(np.log(other.tangent.total / total)))
        is_stuck = nearest.n_iterations < effort.max_iterations or bound > before * (1.0 - ENOUGH)
        is_known = any(1.0 / effort.width < total / other < effort.width for other in looked_at)
        if left <= 0 or len(solved) >= MAX_RELAXATIONS or (is_stuck and is_known):
            return solved, bounds
        mixture, width = nearest.mixture, effort.width


def _learn(bounds: BandBounds, tangent: Tangent, others: list[Tangent], effort: Effort) -> None:
    """Lower the bounds with new prices, and with those between them and the ones of neighbouring totals."""
    bounds.learn(tangent, effort.n_rates)
    below = [other for other in others if other.total < tangent.total]
    above = [other for other in others if other.total >= tangent.total]
    if below:
        bounds.learn_between(max(below, key=lambda other: other.total), tangent, effort.n_between)
    if above:
        bounds.learn_between(tangent, min(above, key=lambda other: other.total), effort.n_between)


GROUPS_FIRST = 1e3
"""Worth of a page of some group, when a ranking shows such pages first."""
GROUPS_FIRST_SHARE = 0.1
"""Share of that ranking in the mixture that a relaxation starts from, so that no group has no exposure."""
REVALUED_BAND = 1.1
"""How far the total exposure of groups may move when pages are valued anew."""
REVALUED_TOLERANCE, REVALUED_ITERATIONS = 1e-3, 12
"""Of the relaxation with other values, which starts near its optimum."""


@dataclass(frozen=True)
class FreeSolution:
    """The best that a depth alone allows."""

    problem: CompoundProblem
    """Over all candidates."""
    kept: NDArray[np.intp]
    """Pages that the relaxations looked at: no others can be in a best ranking."""
    relaxations: Sequence[Relaxation]
    """None when fairness does not count, or no candidate is in a group."""
    bounds: BandBounds | None

    @property
    def best(self) -> Relaxation:
        return max(self.relaxations, key=lambda relaxation: relaxation.log_score)

    def awrf(self) -> float:
        """Of the best mixture."""
        log_relevance = np.log(max(float(self.best.mixture.outcome[-1]), LEAST))
        return float(np.exp((self.best.log_score - log_relevance) / self.problem.fairness))

    def slope(self) -> NDArray[np.float64]:
        """What a unit of exposure of each page adds to the score, at the best mixture.

        Divided by AWRF^(fairness − 1), so that depths are comparable whatever the weight of fairness.
        """
        return self.awrf() * self.problem.page_scores(self.best.tangent.price)

    def exposure(self) -> NDArray[np.float64]:
        """Expected exposure of each page in the best mixture."""
        exposure = np.zeros(len(self.problem.relevance))
        exposure[self.kept] = self.best.mixture.exposure(self.problem.discounts, len(self.kept))
        return exposure

    def revalued(self, relevance_power: float) -> FreeSolution:
        """The best when pages are worth a power of their relevance; the bounds stay those of the measure."""
        if relevance_power == 1.0 or not self.relaxations:
            return self
        worth = (self.problem.relevance / self.problem.relevance.max()) ** relevance_power
        worth /= support(worth, self.problem.discounts) or 1.0
        problem = replace(self.problem, relevance=worth)
        total, found = self.best.tangent.total, self.best.mixture
        kept = replace(problem.restricted(self.kept), band=Band(total / REVALUED_BAND, total * REVALUED_BAND))
        outcomes = np.array([kept.outcome(ranking) for ranking in found.rankings])
        start = Mixture(found.rankings, outcomes, found.weights)
        relaxation = relax(kept, start, REVALUED_TOLERANCE, REVALUED_ITERATIONS)
        return replace(self, problem=problem, relaxations=(relaxation,))


def solve_free(problem: CompoundProblem, effort: Effort) -> FreeSolution:
    """Relaxations and bounds for one depth."""
    length = len(problem.discounts)
    kept = strongest_per_type(problem.page_type, problem.relevance, length)
    free = problem.restricted(kept)
    by_relevance = best_ranking(free.relevance, length)
    start = _start(free, by_relevance)
    if problem.fairness <= 0.0 or not start.outcome[:-1].any():
        return FreeSolution(problem, kept, (), None)
    return FreeSolution(problem, kept, *solve_bands(free, start, effort, floor=free.score(by_relevance)))


def _start(problem: CompoundProblem, by_relevance: NDArray[np.intp]) -> Mixture:
    """Relevance order, and a share of the order that shows pages of some group first, so that none has no exposure."""
    in_groups = problem.rows.sum(axis=1)[problem.page_type]
    groups_first = best_ranking(problem.relevance + GROUPS_FIRST * in_groups, len(problem.discounts))
    start = Mixture.of(by_relevance, problem.outcome(by_relevance))
    return start.joined(groups_first, problem.outcome(groups_first), weight=GROUPS_FIRST_SHARE)
