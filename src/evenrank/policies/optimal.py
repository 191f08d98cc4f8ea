"""The policy `optimal`: optimises the track's measures themselves, and proves how near it came."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from evenrank.core.allowed import MOST, MOST_PAGES, PageCount, PageCountOrAll, Range, RisingRanks, Share, Weight
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.optimal_list import rank_list
from evenrank.policies.optimal_sequence import LEAST_CHOICE, kept_relevance, n_within_reach, rank_sequence
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request
from evenrank.policies.precision_floor import Weighed, rank_above_floor
from evenrank.policies.relevance import relevance_order

MOST_POWER = 10.0
"""Largest power of relevance; by then hardly anything but the likeliest pages counts."""
SUM_ERROR = 1e-6
"""How far shares may be from a sum of 1."""
KEEP_STEPS = 5
"""Bisection steps, on a logarithmic scale, towards the number of candidates at which `keep_relevance` is met."""
WITHOUT_FLOOR = "EE-L_without_floor"
"""What the EE-L of a sequence would be if it did not have to keep any relevance."""


@dataclass(frozen=True)
class Optimal(CheckedPolicy):
    """Task 1: one list with a high expected nDCG × AWRF at every depth. Task 2: the sequence of least expected loss."""

    name: ClassVar[str] = "optimal"
    tasks: ClassVar[tuple[Task, ...]] = (1, 2)
    paper_runs: ClassVar[tuple[str, ...]] = ()
    citation: ClassVar[str] = (
        "Expected exposure: Diaz et al. 2020 (doi:10.1145/3340531.3411962); Frank–Wolfe: Jaggi, ICML 2013; "
        "AWRF: Sapiezynski et al. 2019"
    )

    fairness: Weight = 1.0
    """Weight of fairness against relevance. 0 is the order by relevance. In Task 1 it is the exponent of AWRF (1 is
    the measure itself); in Task 2 all of the relevance is worth 1.25 % of the squared exposure, divided by this, or
    by its square where that is less."""
    min_precision: Share = 0.0
    """Smallest expected share of relevant pages in what is shown: in Task 1 up to `precision_rank`, in Task 2 in all
    rankings. Fairness is weakened until it is met; where that is impossible, until 98 % of what can be reached is."""
    precision_rank: PageCount = 50
    """Task 1: rank up to which `min_precision` must be met."""
    floor: Share = 0.1
    """Task 1: a page may fill a group only if it is at least this many times as likely to be relevant as the page at
    the same depth in the order by relevance. 0 allows every page, and a `fairness` above 1 divides the floor."""
    reach: Weight = 5.0
    """Task 2: only this many times the number of pages that are expected to be relevant, the most relevant ones, are
    used to fill a group (at least twice as many as a ranking has ranks); 0 uses them all."""
    keep_relevance: Share = 0.6
    """Task 2: smallest share of the relevance of the order by relevance that a sequence keeps. Where fairness would
    cost more, the candidates least likely to be relevant are left out; 0 is off, and a `fairness` above 1 divides
    it."""
    depths: Annotated[tuple[int, ...], RisingRanks()] = (10, 20, 50, 100, 1000)
    """Task 1: ranks at which people stop reading; depths beyond the end of a list count as its end."""
    depth_weights: tuple[float, ...] = (0.14, 0.115, 0.055, 0.155, 0.535)
    """Task 1: share of people who stop at each of the depths, before it is adapted to a topic."""
    adapt_weights: bool = True
    """Task 1: multiply the weight of each depth by the share of the expected relevance, weighted by attention, that the
    order by relevance has down to it: where few pages are relevant, people stop early. False takes weights as given."""
    emphasis: Annotated[float, Range(above=0.0, most=MOST)] = 1.5
    """Task 1: how many times as much fairness counts deep in a list, where targets are easily missed and little
    relevance is at stake. It grows from 1 at depth 20 to this from depth 100 on; 1 maximises the measure as it is
    estimated."""
    relevance_power: Annotated[float, Range(above=0.0, most=MOST_POWER)] = 1.2
    """Task 1: a page counts with this power of its probability of relevance. An unlikely page tends to be relevant in
    topics with many relevant pages, where each adds less to nDCG; above 1, such pages count for less. 1 counts pages as
    estimated, and so does a list whose only depth is its end. Bounds are always those of the measure."""
    spread: Weight = 0.1
    """Task 2: weight of item-level fairness, which gives equally good pages equal exposure; 0 favours the best of each
    kind."""
    include_above: Weight = 0.15
    """Task 2: pages at least this likely to be relevant are shown at least once, as far as a quarter of the exposure of
    their kind allows, and have a tenth of their fair exposure, as far as 2 % of all exposure allows; above 1 is off."""
    work_weight: Share = 0.25
    """Task 2: how far the reward of a relevant page grows with the work it needs: 0 not, 1 in proportion."""
    relevant_only: bool = False
    """Task 2: count the exposure of a page only as far as it is relevant (`official-2022`)."""
    head_depth: PageCountOrAll = 0
    """Task 2: serve a scorer that looks at this many ranks only (`official-2021`: 6), then the rest; 0 is off."""
    log_base: Annotated[float, Range(above=1.0, most=MOST)] = 2.0
    """Task 1: base of the logarithm in the divergence: 2 (`paper-2021`), or 2.718281828 (`official-2021`)."""
    drop_unknown: bool = True
    """Task 1: leave the fully unknown group out of the exposure when the target gives it nothing."""
    proof: Literal["brief", "quick", "thorough"] = "quick"
    """Task 1: `thorough` proves tighter bounds and takes about four times as long; `brief` proves looser ones for lists
    that are nearly the same, in about half the time (up to a `fairness` of 3; above it is `quick`)."""
    tolerance: Annotated[float, Range(above=0.0, most=1.0)] = 5e-6
    """When to stop: share of the score (Task 1, thorough), or of the squared total exposure (Task 2), that may be
    missed."""
    max_iterations: Annotated[int, Range(least=4, most=MOST_PAGES)] = 400
    """When to stop in any case."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        """The best rankings found, with a certificate; nothing is left to chance, so `rng` is not used."""
        del rng
        if not len(candidates) or not request.length or not request.n_rankings:
            return Rankings(np.empty((request.n_rankings, 0), np.intp))
        if request.task == 2:
            return self._within_reach(candidates, target, request)
        return self._at_precision(candidates, target, request)

    def _within_reach(self, candidates: Candidates, target: EstimatedTarget, request: Request) -> Rankings:
        """A sequence of the candidates within reach, or of fewer where fairness would cost too much relevance."""
        limit = n_within_reach(candidates.relevance, self.reach, request.length)
        free = self._of_most_relevant(limit, candidates, target, request)
        floor = self.keep_relevance / max(self.fairness, 1.0)
        if free.certificate["relevance_share"] >= floor or limit <= LEAST_CHOICE * request.length:
            return free
        fewer = self._floored(limit, floor, candidates, target, request)
        chosen = self._of_most_relevant(fewer, candidates, target, request)
        return Rankings(chosen.positions, {**chosen.certificate, WITHOUT_FLOOR: free.certificate["EE-L"]})

    def _floored(
        self, limit: int, floor: float, candidates: Candidates, target: EstimatedTarget, request: Request
    ) -> int:
        """About how many of the `limit` most relevant candidates may be used so that a sequence keeps this share of
        the relevance."""
        order, low, high = relevance_order(candidates), LEAST_CHOICE * request.length, limit
        for _ in range(KEEP_STEPS):
            middle = int(np.sqrt(low * high))
            if kept_relevance(self, candidates.take(np.sort(order[:middle])), target, request) >= floor:
                low = middle
            else:
                high = middle
        return low

    def _of_most_relevant(
        self, limit: int, candidates: Candidates, target: EstimatedTarget, request: Request
    ) -> Rankings:
        """A sequence of the `limit` most relevant candidates."""
        if limit >= len(candidates):
            return self._at_precision(candidates, target, request)
        pool = np.sort(relevance_order(candidates)[:limit])
        found = self._at_precision(candidates.take(pool), target, request)
        return Rankings(pool[found.positions], {**found.certificate, "n_within_reach": float(limit)})

    def _at_precision(self, candidates: Candidates, target: EstimatedTarget, request: Request) -> Rankings:
        make = rank_list if request.task == 1 else rank_sequence
        if self.min_precision <= 0.0:
            return make(self, candidates, target, request)

        def weigh(fairness: float) -> Weighed:
            rankings = make(replace(self, fairness=fairness), candidates, target, request)
            return Weighed(fairness, self.precision(candidates, rankings, request), rankings)

        return rank_above_floor(
            self.min_precision, self.fairness, weigh, ("EE-L", f"AWRF@{self.precision_rank}", "AWRF")
        )

    def precision(self, candidates: Candidates, rankings: Rankings, request: Request) -> float:
        """Expected share of relevant pages in what is shown, as `min_precision` counts it."""
        shown = rankings.positions[:, : self.precision_rank] if request.task == 1 else rankings.positions
        return float(candidates.relevance[shown].mean())

    def faults(self) -> Iterator[str]:
        """A fault where weights are no distribution over the depths."""
        depths, weights = self.depths, self.depth_weights
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
