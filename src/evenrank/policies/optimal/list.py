"""`optimal` for Task 1: the problem of a topic, one list for all depths, and what is proven of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from evenrank.core.allowed import MOST, PageCount, Range, RisingRanks, Share, Weight
from evenrank.core.exposure import LOG, Attention
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.optimal.compound import CompoundProblem
from evenrank.policies.optimal.nested_list import DepthMixture, DepthProof, make_nested_list
from evenrank.policies.optimal.precision_floor import Weighed, rank_above_floor
from evenrank.policies.optimal.relaxation import AT_THE_END, BRIEF, BRIEF_END, ON_THE_WAY, Effort, thorough_effort
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


@dataclass(frozen=True)
class OptimalList(CheckedPolicy):
    """One list with a high expected nDCG × AWRF at every depth."""

    name: ClassVar[str] = "optimal"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    paper_runs: ClassVar[tuple[str, ...]] = ()
    citation: ClassVar[str] = "AWRF: Sapiezynski et al. 2019; Frank–Wolfe: Jaggi, ICML 2013"

    fairness: Weight = 1.0
    """Weight of fairness against relevance, the exponent of AWRF: 1 is the measure itself, 0 the order by relevance."""
    min_precision: Share = 0.0
    """Smallest expected share of relevant pages up to `precision_rank`. Fairness is weakened until it is met; where
    that is impossible, until 98 % of what can be reached is."""
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
    best = make_nested_list(problem, mixture, efforts, settings.relevance_power)
    return Rankings(np.tile(best.ranking, (request.n_rankings, 1)), certify_list(best.proofs, mixture.weights))


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
