"""Task 1, from candidates to one list that is fair at every depth: a mixture over depths, solved head first.

First each depth is solved for itself, which gives a bound that no ranking of that depth exceeds, and the worth of
every page there. Then the list is made from the top: the ranks up to a depth are solved with the exposure and relevance
of the head above them held constant, for the score at that depth and, to the first order, for those of later depths,
at which a page that has no place here appears further below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.assignment import lower_bounds
from evenrank.policies.optimisation.bands import Effort, solve_bands
from evenrank.policies.optimisation.certificate import ROUNDING_ERROR, BoundError, DepthProof
from evenrank.policies.optimisation.compound import LEAST, Band, CompoundProblem
from evenrank.policies.optimisation.exchange_search import best_improved
from evenrank.policies.optimisation.permutohedron import Mixture, best_ranking, strongest_per_type
from evenrank.policies.optimisation.relaxation import Relaxation, relax
from evenrank.policies.optimisation.upper_bound import BandBounds

N_STARTS = 3
"""Rankings from which local search starts."""
SETTLED_RANKS = 50
"""With more ranks whole pages cost next to nothing, and assignments take long."""
GROUPS_FIRST = 1e3
"""Worth of a page of some group, when a ranking shows such pages first."""
GROUPS_FIRST_SHARE = 0.1
"""Share of that ranking in the mixture that a relaxation starts from, so that no group has no exposure."""
BAND_BELOW_HEAD = 1.3
"""How far the total exposure of groups may be from that of the free optimum when the head of a list is fixed."""
BELOW_TOLERANCE, BELOW_ITERATIONS = 2e-4, 20
"""Of the relaxation below a head, which starts near its optimum."""
TAIL_TOLERANCE, TAIL_ITERATIONS = 3e-5, 80
"""Of the relaxation of the last ranks: they are most of a long list, and a rough mixture of them rounds badly."""
EMPHASISED_FROM, EMPHASISED_IN_FULL = 20, 1000
"""Depths between which the emphasis of fairness grows with the logarithm of the depth: the first ranks are fair enough
without, and all later depths pay for relevance that they lack; the deeper, the less relevance is at stake."""


@dataclass(frozen=True)
class DepthMixture:
    """How far people read: the rising depths at which they stop, and the share of people who stop there."""

    depths: tuple[int, ...]
    weights: tuple[float, ...]

    def of_length(self, length: int) -> DepthMixture:
        """The mixture for a list of `length` pages, whose end is one of the depths even if nobody reads that far."""
        by_depth = {length: 0.0}
        for depth, weight in zip(self.depths, self.weights, strict=True):
            if weight > 0.0:
                by_depth[min(depth, length)] = by_depth.get(min(depth, length), 0.0) + weight
        depths = tuple(sorted(by_depth))
        return DepthMixture(depths, tuple(by_depth[depth] for depth in depths))


@dataclass(frozen=True)
class NestedList:
    """One ranking, and a proof for each depth it was made for."""

    ranking: NDArray[np.intp]
    proofs: tuple[DepthProof, ...]


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
        for ranking, weight in zip(self.best.mixture.rankings, self.best.mixture.weights, strict=True):
            exposure[self.kept[ranking]] += weight * self.problem.discounts
        return exposure


def make_nested_list(
    problem: CompoundProblem,
    mixture: DepthMixture,
    efforts: Sequence[Effort],
    limits: Sequence[int],
    emphasis: float = 1.0,
) -> NestedList:
    """The best list found for a mixture over depths, the last of which is its length, with a proof for each depth.

    Down to each depth only as many of the most relevant pages are used as `limits` allow; bounds hold for all pages.
    Fairness counts up to `emphasis` times as much in the choice of pages, the deeper the more, and never in a bound; a
    list for one depth alone is made for the measure itself.
    """
    rank_by_relevance = np.empty(len(problem.relevance), np.intp)
    rank_by_relevance[best_ranking(problem.relevance, len(problem.relevance))] = np.arange(len(problem.relevance))
    free = [solve_free(problem.at_depth(depth), effort) for depth, effort in zip(mixture.depths, efforts, strict=True)]
    head, proofs = np.empty(0, np.intp), []
    for number, (solution, effort) in enumerate(zip(free, efforts, strict=True)):
        if solution.bounds is None:
            head = best_ranking(solution.problem.relevance, len(solution.problem.discounts))
            bound = solution.problem.score(head)
        else:
            weights = np.array(mixture.weights[number:]) / (mixture.weights[number] or 1.0)
            later = [weight * other.slope() for weight, other in zip(weights[1:], free[number + 1 :], strict=True)]
            is_open = rank_by_relevance < limits[number]
            is_end = number == len(free) - 1
            power = _power(emphasis, mixture.depths[number], problem.fairness) if len(free) > 1 else 1.0
            lasting = _lasting_share(problem.discounts, len(head), mixture.depths[number])
            head = _extend(
                solution, head, lasting * sum(later, np.zeros(len(problem.relevance))), is_open, power, is_end
            )
            bound = _bound(solution, head, effort)
        proofs.append(_proof(solution, head, bound))
    return NestedList(head, tuple(proofs))


def _power(emphasis: float, depth: int, fairness: float = 1.0) -> float:
    """How much more fairness counts at a depth of a list for several depths.

    To a weight of fairness above 1, no more is added than to 1: what is strong already needs no emphasis.
    """
    way = np.log(depth / EMPHASISED_FROM) / np.log(EMPHASISED_IN_FULL / EMPHASISED_FROM)
    return float(1.0 + (emphasis - 1.0) * np.clip(way, 0.0, 1.0) / max(fairness, 1.0))


def _lasting_share(weights: NDArray[np.float64], above: int, depth: int) -> float:
    """Share of the exposure in ranks `above` + 1 to `depth` that a page keeps an advantage of at later depths.

    A page that has no place here is shown a little further below instead, so for later depths only the difference
    counts: rank 60 in place of rank 120 is next to nothing, rank 3 in place of rank 13 is half of all its exposure.
    """
    here, below = weights[above:depth], weights[depth : 2 * depth - above]
    return float(1.0 - below.mean() / here.mean()) if len(below) else 1.0


def solve_free(problem: CompoundProblem, effort: Effort) -> FreeSolution:
    """Relaxations and bounds for one depth, whatever the list is like above or below."""
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


def _extend(
    solution: FreeSolution,
    head: NDArray[np.intp],
    later: NDArray[np.float64],
    is_open: NDArray[np.bool_],
    emphasis: float,
    is_end: bool,
) -> NDArray[np.intp]:
    """The head with the ranks below it filled from pages that are open.

    `later` is what a page's exposure adds to the scores of later depths; fairness counts `emphasis` times as much.
    """
    if not len(head) and not later.any() and is_open.all():
        return solution.kept[_best_rounded(solution.problem.restricted(solution.kept), solution.relaxations)]
    below = _with_later(solution, later).below(head)
    below = replace(below, fairness=below.fairness * emphasis)
    is_free = is_open.copy()
    is_free[head] = False
    left = np.flatnonzero(is_free)
    left = left[strongest_per_type(below.page_type[left], below.relevance[left], len(below.discounts))]
    below = below.restricted(left)
    start = _without_head(solution, left, below)
    total = solution.best.tangent.total
    banded = replace(below, band=Band(total / BAND_BELOW_HEAD, total * BAND_BELOW_HEAD))
    effort = (TAIL_TOLERANCE, TAIL_ITERATIONS) if is_end else (BELOW_TOLERANCE, BELOW_ITERATIONS)
    relaxation = relax(banded, start, *effort)
    return np.concatenate([head, left[_best_rounded(below, [relaxation])]])


def _with_later(solution: FreeSolution, later: NDArray[np.float64]) -> CompoundProblem:
    """The problem of a depth with its relevance and power of AWRF changed so that later depths count too.

    Score R · A plus `later` · e has the gradient A · relevance + later + R ∇A. So has, up to a factor, R' · A^φ with
    the relevance' = relevance + later / A, and φ = R / R'.
    """
    problem = solution.problem
    if not later.any():
        return problem
    worth = problem.relevance + later / max(solution.awrf(), LEAST)
    share = float(solution.best.mixture.outcome[-1]) / max(float(worth @ solution.exposure()), LEAST)
    return replace(problem, relevance=np.maximum(worth, 0.0), fairness=problem.fairness * share)


def _without_head(solution: FreeSolution, left: NDArray[np.intp], below: CompoundProblem) -> Mixture:
    """The best free mixture for the pages that are `left`: its rankings without the pages of the head, filled up."""
    length, place = len(below.discounts), np.full(len(solution.problem.relevance), -1, np.intp)
    place[left] = np.arange(len(left))
    by_relevance = best_ranking(below.relevance, min(len(left), 2 * length))
    rankings = []
    for ranking in solution.best.mixture.rankings:
        pages = place[solution.kept[ranking]]
        pages = pages[pages >= 0][:length]
        fill = by_relevance[~np.isin(by_relevance, pages)][: length - len(pages)]
        rankings.append(np.concatenate([pages, fill]))
    outcomes = np.array([below.outcome(ranking) for ranking in rankings])
    return Mixture(tuple(rankings), outcomes, solution.best.mixture.weights)


def _best_rounded(problem: CompoundProblem, solved: Sequence[Relaxation]) -> NDArray[np.intp]:
    """The best ranking after local search from the best roundings and the best rankings of the mixtures."""
    rounded = [ranking for relaxation in solved for ranking in _roundings(problem, relaxation)]
    starts = np.unique(np.array(rounded), axis=0)
    scores = problem.true_log_score(np.array([problem.outcome(ranking) for ranking in starts]))
    return best_improved(problem, starts[best_ranking(scores, N_STARTS)])


def _roundings(problem: CompoundProblem, relaxation: Relaxation) -> list[NDArray[np.intp]]:
    """The pages sorted by their expected exposure, the best ranking met on the way, the rankings of the mixture."""
    exposure = np.zeros(len(problem.relevance))
    for ranking, weight in zip(relaxation.mixture.rankings, relaxation.mixture.weights, strict=True):
        exposure[ranking] += weight * problem.discounts
    by_exposure = best_ranking(exposure, len(problem.discounts))
    return [by_exposure, relaxation.best_ranking, *relaxation.mixture.rankings]


def _bound(solution: FreeSolution, head: NDArray[np.intp], effort: Effort) -> float:
    """The bound of a depth, made tighter by assignments where that is wanted and possible."""
    if solution.bounds is None:
        raise BoundError("no relaxation was made, so nothing is proven")
    if effort.assigns and len(head) <= SETTLED_RANKS:
        tangents = [relaxation.tangent for relaxation in solution.relaxations]
        lower_bounds(solution.bounds, tangents, solution.problem.score(head))
    return solution.bounds.highest()[1]


def _proof(solution: FreeSolution, ranking: NDArray[np.intp], bound: float) -> DepthProof:
    """The proof of one depth; an error when the ranking has a higher score than any can have."""
    problem = solution.problem
    score = problem.score(ranking)
    if score > bound * (1.0 + ROUNDING_ERROR):
        raise BoundError(f"depth {len(ranking)}: the score {score!r} is above its proven bound {bound!r}")
    return DepthProof(
        depth=len(ranking),
        score=score,
        upper_bound=bound if bound > score else score,
        relaxed=float(np.exp(solution.best.log_score)) if solution.relaxations else score,
        relevance_share=float(problem.outcome(ranking)[-1]),
        awrf=problem.awrf(ranking),
        n_iterations=sum(relaxation.n_iterations for relaxation in solution.relaxations),
    )
