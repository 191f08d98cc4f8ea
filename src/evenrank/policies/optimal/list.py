"""`optimal` for Task 1: from candidates to one list that is fair at every depth, and what is proven of it.

First each depth is solved for itself, which gives a bound that no ranking of that depth exceeds, and the worth of
every page there. Then the list is made from the top: the ranks up to a depth are solved with the exposure and relevance
of the head above them held constant, for the score at that depth and, to the first order, for those of later depths,
at which a page that has no place here appears further below. At last pages are exchanged for all depths at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import MOST, PageCount, Range, RisingRanks, Share, Weight
from evenrank.core.exposure import LOG, Attention
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.optimal.bounds import lower_bounds
from evenrank.policies.optimal.compound import LEAST, Band, CompoundProblem
from evenrank.policies.optimal.exchange import Depth, best_improved, improve_at_all_depths
from evenrank.policies.optimal.permutohedron import Mixture, best_ranking, strongest_per_type
from evenrank.policies.optimal.precision_floor import Weighed, rank_above_floor
from evenrank.policies.optimal.relaxation import (
    AT_THE_END,
    BRIEF,
    BRIEF_END,
    ON_THE_WAY,
    Effort,
    FreeSolution,
    Relaxation,
    relax,
    solve_free,
    thorough_effort,
)
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request, rank_weights

THOROUGH = 5e-6, 400
"""Share of the score that a thorough proof may miss, and iterations after which it ends in any case."""
BRIEF_UP_TO = 3.0
"""Weight of fairness above which a brief relaxation stops too far from its optimum: lists of strong fairness were then
less fair, and less relevant, than those of a weaker one."""

MOST_POWER = 10.0
"""Largest power of relevance; by then hardly anything but the likeliest pages counts."""
SUM_ERROR = 1e-6
"""How far shares may be from a sum of 1."""
N_STARTS = 3
"""Rankings from which local search starts, in a list for one depth; below a head it is one."""
SETTLED_RANKS = 50
"""With more ranks whole pages cost next to nothing, and assignments take long."""
BAND_BELOW_HEAD = 1.3
"""How far the total exposure of groups may be from that of the free optimum when the head of a list is fixed."""
BELOW_TOLERANCE, BELOW_ITERATIONS = 2e-4, 20
"""Of the relaxation below a head, which starts near its optimum."""
TAIL_TOLERANCE, TAIL_ITERATIONS = 1e-4, 40
"""Of the relaxation of the last ranks, which are most of a long list."""
ROUNDING_OF_POWER = 1e-15
"""Relative error of a score for each unit of the exponent of AWRF."""
UNREAD = 1e-5
"""Attention of a rank, as a share of that of the first, at and below which nobody is expected to read it."""
ROUNDING_ERROR = 1e-9
"""Relative error that floating-point arithmetic may make in a score or a bound."""
NO_SCORE = 1e-9
"""A bound below this means that no ranking can score."""


@dataclass(frozen=True)
class OptimalList(CheckedPolicy):
    """One list with a high expected nDCG × AWRF at every depth."""

    name: ClassVar[str] = "optimal"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    citation: ClassVar[str] = "AWRF: Sapiezynski et al. 2019; Frank–Wolfe: Jaggi, ICML 2013"
    untuned: ClassVar[tuple[str, ...]] = ("min_precision", "precision_rank", "log_base", "proof")

    fairness: Weight = 1.0
    """Weight of fairness, the exponent of AWRF: 1 weighs it as Score does, 0 is the order by relevance."""
    min_precision: Share = 0.0
    """Smallest expected share of relevant pages up to `precision_rank`. Fairness is lowered until it is met
    or, if it cannot be, until precision is 98 % of the highest possible."""
    precision_rank: PageCount = 50
    """Rank up to which `min_precision` must be met."""
    depths: Annotated[tuple[int, ...], RisingRanks()] = (10, 20, 50, 100, 1000)
    """Ranks at which people stop reading; depths beyond the end of a list count as its end."""
    depth_weights: tuple[float, ...] = ()
    """Share of people who stop at each of the depths. Empty: equal shares."""
    relevance_power: Annotated[float, Range(above=0.0, most=MOST_POWER)] = 1.0
    """A page counts with this power of its probability of relevance. 1 counts pages as estimated; above 1, unlikely
    pages count for less, which helps where too many pages are expected to be relevant. A list whose only depth is its
    end always counts them as estimated. Bounds are always those of the measure."""
    log_base: Annotated[float, Range(above=1.0, most=MOST)] = 2.0
    """Base of the logarithm in the divergence: 2 (`paper-2021`), or 2.718281828 (`official-2021`)."""
    proof: Literal["brief", "quick", "thorough"] = "quick"
    """`thorough` proves tighter bounds and takes about four times as long; `brief` proves looser ones for lists that
    are nearly the same, in about half the time (up to a `fairness` of 3; above it is `quick`)."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        """The best list found, with a certificate; nothing is left to chance, so `rng` is not used."""
        del rng
        if not len(candidates) or not request.length or not request.n_rankings:
            return Rankings(np.empty((request.n_rankings, 0), np.intp))

        def weigh(fairness: float) -> Weighed:
            rankings = rank_list(replace(self, fairness=fairness), candidates, target, request)
            return Weighed(fairness, self.precision(candidates, rankings), rankings)

        return rank_above_floor(self.min_precision, self.fairness, weigh, (f"AWRF@{self.precision_rank}", "AWRF"))

    def precision(self, candidates: Candidates, rankings: Rankings) -> float:
        """Expected share of relevant pages in what is shown, as `min_precision` counts it."""
        return float(candidates.relevance[rankings.positions[:, : self.precision_rank]].mean())

    def faults(self) -> Iterator[str]:
        """A fault where weights are no distribution over the depths."""
        depths, weights = self.depths, self.depth_weights
        if not weights:
            return
        if not (
            isinstance(depths, (tuple, list)) and isinstance(weights, (tuple, list)) and all(map(_is_number, weights))
        ):
            return
        if (
            len(weights) != len(depths)
            or not min(weights, default=0.0) >= 0.0
            or not abs(sum(weights) - 1.0) <= SUM_ERROR
        ):
            given = ", ".join(f"{weight:g}" for weight in weights) or "empty"
            yield f"depth_weights are {given}, but must be one share for each depth, none negative, that sum to 1"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))


def rank_list(settings: OptimalList, candidates: Candidates, target: EstimatedTarget, request: Request) -> Rankings:
    """One ranking (the same one for every ranking asked for), with its certificate."""
    length = min(request.length, len(candidates))
    problem = list_problem(settings, candidates, target, length, request.attention)
    weights = settings.depth_weights or (1.0 / len(settings.depths),) * len(settings.depths)
    mixture = DepthMixture(settings.depths, weights).of_length(length)
    efforts = _efforts(settings, problem, mixture.depths)
    ranking, proofs = make_nested_list(problem, mixture, efforts, settings.relevance_power)
    return Rankings(np.tile(ranking, (request.n_rankings, 1)), certify_list(proofs, mixture.weights))


def _efforts(settings: OptimalList, problem: CompoundProblem, depths: Sequence[int]) -> list[Effort]:
    """How exactly each depth is solved."""
    if settings.proof == "thorough":
        at_depth = (problem.at_depth(depth) for depth in depths)
        return [thorough_effort(part, *THOROUGH) for part in at_depth]
    is_brief = settings.proof == "brief" and settings.fairness <= BRIEF_UP_TO
    on_the_way, at_the_end = (BRIEF, BRIEF_END) if is_brief else (ON_THE_WAY, AT_THE_END)
    return [*(on_the_way for _ in depths[:-1]), at_the_end]


def list_problem(
    settings: OptimalList, candidates: Candidates, target: EstimatedTarget, depth: int, attention: Attention = LOG
) -> CompoundProblem:
    """The compound problem of a topic at a depth, over all candidates, without the unknown group if it has no
    target."""
    is_counted = np.ones(len(target.values), np.bool_)
    is_counted[0] = target.values[0] > 0.0
    occurs = np.bincount(candidates.alignment.page_type, minlength=len(candidates.alignment.rows)) > 0
    return CompoundProblem.of(
        candidates.alignment.rows[occurs][:, is_counted],
        (np.cumsum(occurs) - 1)[candidates.alignment.page_type],
        candidates.relevance,
        target.values[is_counted],
        rank_weights(attention, depth),
        fairness=settings.fairness,
        log_base=settings.log_base,
    )


def certify_list(proofs: Sequence[DepthProof], depth_weights: Sequence[float]) -> dict[str, float]:
    """What is proven: for the whole list, for the mixture over depths, and for each depth.

    Scores are in units of the most relevant ranking's nDCG; `gap` and `rounding` are shares of the bound. `relaxed` is
    the score of the best mixture of rankings found, `rounding` what the list misses of it. The bound of the mixture
    over depths is the weighted sum of the bounds: no list exceeds it, but none need attain it.
    """
    whole, weights = proofs[-1], np.array(depth_weights)
    certificate = {
        "score": whole.score,
        "upper_bound": whole.upper_bound,
        "gap": whole.gap,
        "relaxed": whole.relaxed,
        "rounding": (whole.relaxed - whole.score) / (whole.upper_bound or 1.0),
        "relevance_share": whole.relevance_share,
        "AWRF": whole.awrf,
        "n_iterations": float(sum(proof.n_iterations for proof in proofs)),
        "mixture_score": float(weights @ [proof.score for proof in proofs]),
        "mixture_bound": float(weights @ [proof.upper_bound for proof in proofs]),
    }
    for proof, weight in zip(proofs, weights, strict=True):
        certificate |= {
            f"weight@{proof.depth}": float(weight),
            f"score@{proof.depth}": proof.score,
            f"upper_bound@{proof.depth}": proof.upper_bound,
            f"gap@{proof.depth}": proof.gap,
            f"relevance_share@{proof.depth}": proof.relevance_share,
            f"AWRF@{proof.depth}": proof.awrf,
        }
    return certificate


class BoundError(RuntimeError):
    """A score above its proven bound: an error in this program, never in its input."""


@dataclass(frozen=True)
class DepthProof:
    """What is known of one depth, scores in units of the most relevant ranking's nDCG at that depth."""

    depth: int
    score: float
    """Of the first `depth` ranks of the list."""
    upper_bound: float
    """No ranking of that depth has a higher score."""
    relaxed: float
    """Score of the best mixture of rankings found."""
    relevance_share: float
    """Discounted relevance, relative to the order by relevance."""
    awrf: float
    n_iterations: int

    @property
    def gap(self) -> float:
        """How far the list can be from the best one for this depth alone, as a share of the bound."""
        return (self.upper_bound - self.score) / self.upper_bound if self.upper_bound > NO_SCORE else 0.0


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


def make_nested_list(
    problem: CompoundProblem,
    mixture: DepthMixture,
    efforts: Sequence[Effort],
    relevance_power: float = 1.0,
) -> tuple[NDArray[np.intp], list[DepthProof]]:
    """The best list found for a mixture over depths, the last of which is its length, and a proof for each depth.

    Pages are chosen by this power of their relevance, because estimates are uncertain; bounds are those of the measure,
    and a list whose only depth is its end is made for the measure itself.
    """
    free = [solve_free(problem.at_depth(depth), effort) for depth, effort in zip(mixture.depths, efforts, strict=True)]
    if any(solution.bounds is None for solution in free):  # fairness does not count, or nothing is in a group
        ranking = best_ranking(problem.relevance, len(problem.discounts))
        bounds = [solution.problem.score(ranking[: len(solution.problem.discounts)]) for solution in free]
    else:
        valued = [solution.revalued(relevance_power) for solution in free] if len(free) > 1 else free
        ranking = _unread_by_relevance(problem, _rank_head_first(valued, mixture))
        prefixes = [ranking[:depth] for depth in mixture.depths]
        bounds = [_bound(*of_depth) for of_depth in zip(free, prefixes, efforts, strict=True)]
    of_depths = zip(free, mixture.depths, bounds, strict=True)
    return ranking, [_proof(solution, ranking[:depth], bound) for solution, depth, bound in of_depths]


def _rank_head_first(valued: Sequence[FreeSolution], mixture: DepthMixture) -> NDArray[np.intp]:
    """The list, made from the top, then improved for all depths at once if there are several."""
    whole, n_pages = valued[-1].problem, len(valued[-1].problem.relevance)
    head = np.empty(0, np.intp)
    for number, solution in enumerate(valued):
        weights = np.array(mixture.weights[number:]) / (mixture.weights[number] or 1.0)
        later = [weight * other.slope() for weight, other in zip(weights[1:], valued[number + 1 :], strict=True)]
        lasting = _lasting_share(whole.discounts, len(head), mixture.depths[number])
        later_slope = lasting * sum(later, np.zeros(n_pages))
        head = _extend(solution, head, later_slope, is_end=number == len(valued) - 1)
    if len(valued) == 1:
        return head
    depths = [Depth(solution.problem, weight) for solution, weight in zip(valued, mixture.weights, strict=True)]
    return improve_at_all_depths(depths, head)


def _unread_by_relevance(problem: CompoundProblem, ranking: NDArray[np.intp]) -> NDArray[np.intp]:
    """The ranking with the last ranks that hardly anybody reads filled by relevance; fairness knows no order there."""
    n_read = int(np.count_nonzero(problem.discounts > UNREAD * problem.discounts[0]))
    if n_read == len(ranking):
        return ranking
    by_relevance = best_ranking(problem.relevance, len(problem.relevance))
    below = by_relevance[~np.isin(by_relevance, ranking[:n_read])]
    return np.concatenate([ranking[:n_read], below[: len(ranking) - n_read]])


def _lasting_share(weights: NDArray[np.float64], above: int, depth: int) -> float:
    """Share of the exposure in ranks `above` + 1 to `depth` that a page keeps an advantage of at later depths.

    A page that has no place here is shown a little further below instead, so for later depths only the difference
    counts: rank 60 in place of rank 120 is next to nothing, rank 3 in place of rank 13 is half of all its exposure.
    """
    here, below = weights[above:depth], weights[depth : 2 * depth - above]
    return float(1.0 - below.mean() / here.mean()) if len(below) else 1.0


def _extend(
    solution: FreeSolution,
    head: NDArray[np.intp],
    later: NDArray[np.float64],
    is_end: bool,
) -> NDArray[np.intp]:
    """The head with the ranks below it filled; `later` is what a page's exposure adds to the scores of later depths."""
    if not len(head) and not later.any():
        return solution.kept[_best_rounded(solution.problem.restricted(solution.kept), solution.relaxations, N_STARTS)]
    below = _with_later(solution, later).below(head)
    is_free = np.ones(len(below.relevance), np.bool_)
    is_free[head] = False
    left = np.flatnonzero(is_free)
    left = left[strongest_per_type(below.page_type[left], below.relevance[left], len(below.discounts))]
    below = below.restricted(left)
    start = _without_head(solution, left, below)
    total = solution.best.tangent.total
    banded = replace(below, band=Band(total / BAND_BELOW_HEAD, total * BAND_BELOW_HEAD))
    effort = (TAIL_TOLERANCE, TAIL_ITERATIONS) if is_end else (BELOW_TOLERANCE, BELOW_ITERATIONS)
    relaxation = relax(banded, start, *effort)
    return np.concatenate([head, left[_best_rounded(below, [relaxation], n_starts=1)]])


def _with_later(solution: FreeSolution, later: NDArray[np.float64]) -> CompoundProblem:
    """The problem of a depth with its relevance and power of AWRF changed so that later depths count too.

    Score R · A plus `later` · e has the gradient A · relevance + later + R ∇A. So has, up to a factor, R' · A^φ with
    the relevance' = relevance + later / A, and φ = R / R'.
    """
    problem = solution.problem
    if not later.any():
        return problem
    worth = problem.relevance + later / max(solution.awrf(), LEAST)
    exposure = solution.exposure()
    share = float(problem.relevance @ exposure) / max(float(worth @ exposure), LEAST)
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


def _best_rounded(problem: CompoundProblem, solved: Sequence[Relaxation], n_starts: int) -> NDArray[np.intp]:
    """The best ranking after local search from the best roundings and the best rankings of the mixtures."""
    rounded = [ranking for relaxation in solved for ranking in _roundings(problem, relaxation)]
    starts = np.unique(np.array(rounded), axis=0)
    scores = problem.true_log_score(np.array([problem.outcome(ranking) for ranking in starts]))
    return best_improved(problem, starts[best_ranking(scores, n_starts)])


def _roundings(problem: CompoundProblem, relaxation: Relaxation) -> list[NDArray[np.intp]]:
    """The pages sorted by their expected exposure, the best ranking met on the way, the rankings of the mixture."""
    exposure = relaxation.mixture.exposure(problem.discounts, len(problem.relevance))
    by_exposure = best_ranking(exposure, len(problem.discounts))
    return [by_exposure, relaxation.best_ranking, *relaxation.mixture.rankings]


def _bound(solution: FreeSolution, head: NDArray[np.intp], effort: Effort) -> float:
    """The bound of a depth, made tighter by assignments where that is wanted and possible."""
    if solution.bounds is None:
        raise BoundError("no relaxation was made, so nothing is proven")
    if effort.assigns and len(head) <= SETTLED_RANKS:
        tangents = [relaxation.tangent for relaxation in solution.relaxations]
        lower_bounds(solution.bounds, tangents, solution.problem.score(head))
    return max(solution.bounds.highest()[1], 0.0)  # no score is negative; a bound may be, by rounding


def _proof(solution: FreeSolution, ranking: NDArray[np.intp], bound: float) -> DepthProof:
    """The proof of one depth; an error when the ranking has a higher score than any can have."""
    problem = solution.problem
    score = problem.score(ranking)
    if score > bound * (1.0 + ROUNDING_ERROR + problem.fairness * ROUNDING_OF_POWER):
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
