"""`optimal` for Task 2: the expected loss of a topic, its least value, and the rankings that stand for it.

The loss that is really expected has three parts (docs/explanation/optimal.md derives it): the distance of the groups'
exposure from the target, for groups as they are expected to be; the variance of what is not known about a page's
groups, which draws the page to its own fair share of exposure; and a weight on item-level fairness, which does the same
for all pages. Relevance and work needed are rewarded beside it.

There is one such problem of a topic, over all candidates. Restrictions (`reach`, `keep_relevance`) leave some of the
pages out; a certificate bounds what any sequence of candidates can do, and what those can do that keep to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import PageCountOrAll, Share, Weight
from evenrank.core.exposure import Attention
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.policies.optimal.permutohedron import best_ranking, support
from evenrank.policies.optimal.precision_floor import USED, Weighed, rank_above_floor
from evenrank.policies.optimal.solver import (
    ExposureProblem,
    LeastLoss,
    TypedPages,
    include_probable,
    least_distance,
    least_loss,
    mean_exposure,
    round_exposure,
)
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request
from evenrank.policies.relevance import relevance_order
from evenrank.trec.target_choice import soft_exposure

WORTH_OF_RELEVANCE = 0.0125
"""What the most relevant ranking gains over one without any relevance, as a share of the squared total exposure."""
WORK_WEIGHT = 0.25
"""How far the reward of a relevant page grows with the work it needs: 0 not, 1 in proportion."""
TOLERANCE, MAX_ITERATIONS = 5e-6, 400
"""When to stop: share of the squared total exposure that may be missed, and iterations in any case."""
MOST_MOVED = 0.25
"""Share of a page type's exposure that may move to probable pages that would not be shown otherwise, at a fairness of 1
and above; below that, in proportion to its weight."""
LEAST_PRESENCE, MOST_MOVED_BETWEEN = 0.1, 0.02
"""Share of its fair exposure that a probable page gets, even if no page of its type fits the target, and share of all
exposure that this may take: a page of two groups would otherwise hardly ever be shown where one of them has enough."""
ROUGHLY = 10.0
"""How many times the tolerance is allowed where an exposure or a bound is only looked at."""
LEAST_CHOICE = 2
"""Candidates for each rank that are within reach, however few are expected to be relevant."""
KEEP_STEPS = 5
"""Bisection steps, on a logarithmic scale, towards the number of candidates at which `keep_relevance` is met."""
NEXT_TO_NONE = 1e-9
"""Stands for a fairness of 0: relevance is then worth a billion times more."""
WITHOUT_FLOOR = "EE-L_without_floor"
"""What the EE-L of a sequence would be if it did not have to keep any relevance."""
ROUNDING = 1e-12
"""Differences of this size, absolute or relative, are rounding."""
LOSS, LOSS_BOUND, RESTRICTED_LOSS_BOUND = "EE-L", "EE-L_lower_bound", "EE-L_restricted_lower_bound"
"""EE-L of a sequence, the least that any sequence of the candidates can have, and the least under the restrictions."""
SHOWN_DECIMALS = 3
"""Of an EE-L that is put into words."""


def loss_in_words(certificate: Mapping[str, float], things: str) -> str:
    """What is proven of the EE-L of a sequence, as a sentence; empty for a certificate that says nothing of it.

    `things` are what was ranked, such as "these 2,308 pages".
    """
    if RESTRICTED_LOSS_BOUND not in certificate:
        return ""
    least, restricted, loss = (
        f"{certificate[name]:.{SHOWN_DECIMALS}f}" for name in (LOSS_BOUND, RESTRICTED_LOSS_BOUND, LOSS)
    )
    under = f"; under the limits on relevance (reach, keep_relevance) {restricted}" if restricted != least else ""
    return f"the best EE-L that any sequence of {things} can have is {least}{under}; this one has {loss}"


@dataclass(frozen=True)
class OptimalSequence(CheckedPolicy):
    """The sequence of least expected exposure loss."""

    name: ClassVar[str] = "optimal"
    tasks: ClassVar[tuple[Task, ...]] = (2,)
    citation: ClassVar[str] = (
        "Expected exposure: Diaz et al. 2020 (doi:10.1145/3340531.3411962); "
        "optimising over the exposures that rankings can give: Kletti, Renders and Loiseau, the Expohedron, WSDM 2022; "
        "Frank–Wolfe for fair rankings: Do et al., NeurIPS 2021, and Do and Usunier, SIGIR 2022"
    )
    untuned: ClassVar[tuple[str, ...]] = ("min_precision", "relevant_only", "head_depth")

    fairness: Weight = 1.0
    """Weight of fairness against relevance; 0 is the order by relevance, 1 suits most cases, and larger values give
    more weight to EE-L. The explanation of `optimal` has the formula."""
    min_precision: Share = 0.0
    """Smallest expected share of relevant pages in all rankings. Fairness is lowered until it is met or, if
    it cannot be, until precision is 98 % of the highest possible."""
    reach: Weight = 0.0
    """Only this many times the number of pages that are expected to be relevant, the most relevant ones, are used to
    fill a group (at least twice as many as a ranking has ranks), which keeps rankings on topic; 0 uses all pages."""
    keep_relevance: Share = 0.6
    """Smallest share of the relevance of the order by relevance that a sequence keeps. Where fairness would cost more,
    the candidates least likely to be relevant are left out; 0 is off, and a `fairness` above 1 divides it."""
    spread: Weight = 0.1
    """Weight of item-level fairness, which gives equally good pages equal exposure; 0 favours the best of each kind."""
    include_above: Weight = 0.15
    """Pages at least this likely to be relevant are shown at least once, if there is room among pages of their kind,
    and get a tenth of their fair exposure; above 1 is off."""
    relevant_only: bool = False
    """Count the exposure of a page only as far as it is relevant (`official-2022`)."""
    head_depth: PageCountOrAll = 0
    """Serve a scorer that looks at this many ranks only (`official-2021`: 6), then the rest; 0 is off."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        """The best sequence found, every prefix of it balanced, with a certificate; `rng` is not used."""
        del rng
        if not len(candidates) or not request.length or not request.n_rankings:
            return Rankings(np.empty((request.n_rankings, 0), np.intp))
        problem = sequence_problem(self, candidates, target, request)
        by_relevance = relevance_order(candidates)
        limit = n_within_reach(candidates.relevance, self.reach, request.length)
        floor = self.keep_relevance / max(self.fairness, 1.0)
        found = self._rank_pages(problem, np.sort(by_relevance[:limit]), request)
        without, n_used = {}, limit
        if found.certificate["relevance_share"] < floor and limit > LEAST_CHOICE * request.length:
            without = {WITHOUT_FLOOR: found.certificate[LOSS]}
            n_used = self._n_above_floor(problem, by_relevance[:limit], floor, request)
            found = self._rank_pages(problem, np.sort(by_relevance[:n_used]), request)
        bounds = self._bounds(problem, by_relevance[:limit], n_used, floor, found)
        of_some = {"n_within_reach": float(n_used)} if n_used < len(candidates) else {}
        return Rankings(found.positions, {**bounds, **found.certificate, **of_some, **without})

    def _rank_pages(self, problem: SequenceProblem, pages: NDArray[np.intp], request: Request) -> Rankings:
        """A sequence of some of the candidates, precise enough if that is asked for, with its part of a certificate."""

        def weigh(fairness: float) -> Weighed:
            rankings = rank_sequence(replace(self, fairness=fairness), problem.of_pages(pages), request)
            return Weighed(fairness, rankings.certificate["expected_precision"], rankings)

        found = rank_above_floor(self.min_precision, self.fairness, weigh, (LOSS,))
        return Rankings(pages[found.positions], found.certificate)

    def _n_above_floor(
        self, problem: SequenceProblem, by_relevance: NDArray[np.intp], floor: float, request: Request
    ) -> int:
        """About how many of the most relevant pages may be used so that a sequence keeps this share of the relevance of
        the order by relevance."""
        low, high = LEAST_CHOICE * request.length, len(by_relevance)
        for _ in range(KEEP_STEPS):
            middle = int(np.sqrt(low * high))
            few = problem.of_pages(np.sort(by_relevance[:middle]))
            exposure = _least_loss(few.weighed(self.fairness), ROUGHLY).exposure
            if few.relevance @ exposure >= floor * support(few.relevance, few.loss.discounts):
                low = middle
            else:
                high = middle
        return low

    def _bounds(
        self,
        problem: SequenceProblem,
        within_reach: NDArray[np.intp],
        n_used: int,
        floor: float,
        found: Rankings,
    ) -> dict[str, float]:
        """What no sequence of the candidates can go below: in the objective, in EE-L alone, and in the EE-L of those
        that keep to the pages within reach and to as much relevance as asked for, or as this one has if that is less.
        """
        certificate = found.certificate
        fairness = certificate.get(USED, self.fairness)
        if head := self.serves_head(problem):
            problem, floor = problem.of_head(self.head_depth), 0.0
        least = certificate["restricted_lower_bound"]
        if n_used < len(problem.relevance) and fairness > 0.0:
            discounts = problem.loss.discounts
            exposure = mean_exposure(found.positions[:, : len(discounts)], discounts, len(problem.relevance))
            least = _least_loss(problem.weighed(fairness), ROUGHLY, exposure).lower_bound + problem.unreachable
        any_sequence = least_distance(problem.loss) + problem.unreachable
        kept = min(floor, certificate["relevance_share"])
        restricted = any_sequence
        if len(within_reach) < len(problem.relevance) or (kept > 0.0 and not head):
            near = problem.of_pages(np.sort(within_reach))
            most = support(near.relevance, near.loss.discounts)
            restricted = max(restricted, least_distance(near.loss, near.relevance, kept * most) + near.unreachable)
        return {
            "objective": certificate["objective"],
            "lower_bound": min(least, certificate["restricted_lower_bound"]),
            LOSS: certificate[LOSS],
            LOSS_BOUND: _without_rounding(any_sequence, certificate[LOSS]),
            RESTRICTED_LOSS_BOUND: _without_rounding(restricted, certificate[LOSS]),
        }

    def serves_head(self, problem: SequenceProblem) -> bool:
        """Whether the first ranks are served before the others."""
        return self.fairness > 0.0 and 0 < self.head_depth < len(problem.loss.discounts)


def _without_rounding(bound: float, reached: float) -> float:
    """The bound, or what was reached where rounding alone puts the bound above it."""
    return min(bound, reached) if bound <= reached * (1.0 + ROUNDING) + ROUNDING else bound


def n_within_reach(relevance: NDArray[np.float64], reach: float, n_ranks: int) -> int:
    """How many of the most relevant candidates may fill `n_ranks` ranks: some times as many as are expected to be
    relevant, and enough to choose from; all when `reach` is 0 or no page has any relevance."""
    if reach <= 0.0 or not (relevance > 0.0).any():
        return len(relevance)
    return min(len(relevance), max(int(np.ceil(reach * float(relevance.sum()))), LEAST_CHOICE * n_ranks))


@dataclass(frozen=True)
class SequenceProblem:
    """The expected loss of a topic, with what rounding and certificates need beside it."""

    loss: ExposureProblem
    """With the reward for relevance at a fairness of 1."""
    page_type: NDArray[np.intp]
    rows: NDArray[np.float64]
    """Page type by reached group."""
    counted: NDArray[np.float64]
    """How far the exposure of each page counts for its groups."""
    relevance: NDArray[np.float64]
    """Of each page."""
    fair: NDArray[np.float64]
    """What each page would get from an ideal policy."""
    unreachable: float
    """Part of the loss that no candidate can serve: groups with a target and without a page."""
    left_out: float = 0.0
    """Part of the objective that pages have which are not shown: their distance from their fair shares."""

    def of_pages(self, pages: NDArray[np.intp]) -> SequenceProblem:
        """The same problem where nothing but these pages is shown."""
        if len(pages) == len(self.relevance):
            return self
        loss = self.loss
        others = np.delete(np.arange(len(self.relevance)), pages)
        return replace(
            self,
            left_out=self.left_out + float(loss.pull[others] @ loss.share[others] ** 2),
            loss=replace(
                loss,
                groups=loss.groups[pages],
                pull=loss.pull[pages],
                share=loss.share[pages],
                gain=loss.gain[pages],
                discounts=loss.discounts[: len(pages)],
            ),
            page_type=self.page_type[pages],
            counted=self.counted[pages],
            relevance=self.relevance[pages],
            fair=self.fair[pages],
        )

    def of_head(self, depth: int) -> SequenceProblem:
        """The problem of the first ranks alone."""
        loss = replace(self.loss, discounts=self.loss.discounts[:depth])
        return replace(self, loss=loss, fair=np.zeros_like(self.fair))

    def weighed(self, fairness: float) -> ExposureProblem:
        """The loss where fairness has this weight against relevance."""
        return replace(self.loss, gain=self.loss.gain / max(_weight(fairness), NEXT_TO_NONE))


def sequence_problem(
    settings: OptimalSequence, candidates: Candidates, target: EstimatedTarget, request: Request
) -> SequenceProblem:
    """The expected loss of a topic over all candidates.

    Where groups are unknown to the system but not to the scorer, what is believed of them takes the place of what is
    known, with its variance.
    """
    alignment, variance, own_share = candidates.alignment, np.zeros(len(candidates)), np.zeros(len(candidates))
    if candidates.beliefs is not None:
        beliefs = candidates.beliefs
        alignment, target = beliefs.alignment, beliefs.target
        variance, own_share = beliefs.variance[alignment.page_type], beliefs.own_share[alignment.page_type]
    occurs = np.bincount(alignment.page_type, minlength=len(alignment.rows)) > 0
    is_reached = (alignment.rows[occurs] > 0.0).any(axis=0)
    rows = alignment.rows[:, is_reached]
    total = float(request.weights().sum())
    wanted = target.values * total
    weights = request.weights(min(request.length, len(candidates)))
    fair = fair_exposure(candidates, total, request.attention)
    pull = variance + settings.spread
    counted = candidates.relevance if settings.relevant_only else np.ones(len(candidates))
    reward = candidates.relevance * (1.0 - WORK_WEIGHT + WORK_WEIGHT * candidates.work_needed)
    loss = ExposureProblem(
        groups=rows[alignment.page_type] * counted[:, None],
        target=wanted[is_reached],
        pull=pull,
        share=fair * (variance * own_share + settings.spread) / np.where(pull > 0.0, pull, 1.0),
        gain=WORTH_OF_RELEVANCE * total**2 * reward / (support(reward, weights) or 1.0),
        discounts=weights,
    )
    unreachable = float(np.sum(wanted[~is_reached] ** 2))
    return SequenceProblem(loss, alignment.page_type, rows, counted, candidates.relevance, fair, unreachable)


def fair_exposure(candidates: Candidates, total: float, attention: Attention) -> NDArray[np.float64]:
    """What each page would get from an ideal policy, in expectation: its work level's exposure if it is relevant.

    Ideal exposures are not cut at the length of a ranking, so they are scaled to its total attention.
    """
    fair = candidates.relevance * soft_exposure(candidates.relevance, candidates.quality_class, attention)
    most = float(fair.sum())
    return np.asarray(fair * total / most) if most > 0.0 else np.full(len(candidates), total / len(candidates))


def _weight(fairness: float) -> float:
    """Of the loss against relevance; below 1 the square. In proportion, a tenth of the fairness would still give up
    half of the relevance where a target asks for groups that a field hardly has."""
    return fairness * min(fairness, 1.0)


def rank_sequence(settings: OptimalSequence, problem: SequenceProblem, request: Request) -> Rankings:
    """A sequence of rankings of a problem's pages, every prefix of it balanced, and what is known of it."""
    if settings.fairness <= 0.0:
        by_gain = best_ranking(problem.loss.gain, len(problem.loss.discounts))
        positions = np.tile(by_gain, (request.n_rankings, 1))
        certificate = _certify(problem, settings.fairness, positions)
    elif settings.serves_head(problem):
        positions, certificate = _head_first(settings, problem, request.n_rankings)
    else:
        positions, certificate = _solve(settings, problem, request.n_rankings)
    return Rankings(positions, {**certificate, **_relevance(problem.relevance, positions, request)})


def _least_loss(loss: ExposureProblem, leniency: float = 1.0, start: NDArray[np.float64] | None = None) -> LeastLoss:
    """The exposures of least loss; the tolerance is a share of the squared total exposure."""
    tolerance = leniency * TOLERANCE * float(loss.discounts.sum()) ** 2
    return least_loss(loss, tolerance, MAX_ITERATIONS, start)


def _solve(
    settings: OptimalSequence, problem: SequenceProblem, n_rankings: int, above: NDArray[np.intp] | None = None
) -> tuple[NDArray[np.intp], dict[str, float]]:
    """Rankings for one problem, and their certificate."""
    loss = problem.weighed(settings.fairness)
    best = _least_loss(loss)
    n_above = 0 if above is None else above.shape[1]
    length = min(len(loss.discounts) + n_above, len(loss.gain))
    exposure = _with_probable(settings, problem, best.exposure, n_rankings)
    shown = TypedPages.of(exposure, problem.counted, problem.page_type, problem.rows, length)
    positions = round_exposure(shown, loss.discounts, n_rankings, above)
    return positions, _certify(problem, settings.fairness, positions, best)


def _certify(
    problem: SequenceProblem, fairness: float, positions: NDArray[np.intp], best: LeastLoss | None = None
) -> dict[str, float]:
    """How far the sequence is from the best stochastic policy that shows the same pages.

    EE-L is that of the groups as they are expected to be. Without `best` relevance alone counts, and the rankings are
    the best there are.
    """
    loss = problem.weighed(fairness)
    exposure = mean_exposure(positions, loss.discounts, len(loss.gain))
    value, beside = loss.loss(exposure), problem.unreachable + problem.left_out
    best = best or LeastLoss(exposure, value, value, 0)
    return {
        "objective": value + beside,
        "restricted_lower_bound": best.lower_bound + beside,
        "gap": value - best.lower_bound,
        "rounding": value - best.loss,
        LOSS: loss.group_loss(exposure) + problem.unreachable,
        "n_pages_shown": float(len(np.unique(positions))),
        "n_distinct": float(len(np.unique(positions, axis=0))),
        "n_iterations": float(best.n_iterations),
    }


def _with_probable(
    settings: OptimalSequence, problem: SequenceProblem, exposure: NDArray[np.float64], n_rankings: int
) -> NDArray[np.float64]:
    """Exposures with which every probable page is shown: at first at the cost of its own type, of which groups notice
    nothing, then, a little, at that of all pages."""
    probable = np.flatnonzero(problem.relevance >= settings.include_above)
    once = np.full(len(exposure), float(problem.loss.discounts[-1]) / n_rankings)
    weight, one_type = min(1.0, _weight(settings.fairness)), np.zeros_like(problem.page_type)
    within = include_probable(exposure, problem.page_type, problem.relevance, probable, once, MOST_MOVED * weight)
    present = np.maximum(once, LEAST_PRESENCE * problem.fair)
    return include_probable(within, one_type, problem.relevance, probable, present, MOST_MOVED_BETWEEN * weight)


def _head_first(
    settings: OptimalSequence, problem: SequenceProblem, n_rankings: int
) -> tuple[NDArray[np.intp], dict[str, float]]:
    """The sequence that serves the first ranks, and with what is left of the target the others.

    The certificate is that of the head.
    """
    depth, loss = settings.head_depth, problem.loss
    head, certificate = _solve(settings, problem.of_head(depth), n_rankings)
    given = mean_exposure(head, loss.discounts[:depth], len(loss.gain))
    left = replace(
        loss,
        discounts=loss.discounts[depth:],
        target=loss.target - given @ loss.groups,
        share=np.maximum(loss.share - given, 0.0),
    )
    of_tail = replace(problem, loss=left, fair=np.maximum(problem.fair - given / LEAST_PRESENCE, 0.0))
    tail, _ = _solve(settings, of_tail, n_rankings, above=head)
    positions = np.hstack([head, tail])
    exposure = mean_exposure(positions, loss.discounts, len(loss.gain))
    return positions, {**certificate, "EE-L_full_depth": loss.group_loss(exposure) + problem.unreachable}


def _relevance(relevance: NDArray[np.float64], positions: NDArray[np.intp], request: Request) -> dict[str, float]:
    """Expected precision of the rankings, and their discounted relevance relative to the order by relevance."""
    weights = request.weights(positions.shape[1])
    most = support(relevance, weights)
    return {
        "expected_precision": float(relevance[positions].mean()),
        "relevance_share": float((relevance[positions] @ weights).mean() / most) if most > 0.0 else 1.0,
    }
