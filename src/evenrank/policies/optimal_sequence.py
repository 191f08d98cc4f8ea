"""`optimal` for Task 2: the expected loss of a topic, its least value, and the rankings that stand for it.

The loss that is really expected has three parts (docs/explanation/optimal.md derives it): the distance of the groups'
exposure from the target, for groups as they are expected to be; the variance of what is not known about a page's
groups, which draws the page to its own fair share of exposure; and a weight on item-level fairness, which does the same
for all pages. Relevance and work needed are rewarded beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evenrank.core.exposure import Attention
from evenrank.core.target import EstimatedTarget
from evenrank.policies.optimisation.certificate import certify_sequence
from evenrank.policies.optimisation.expected_loss import (
    ExposureProblem,
    least_loss,
    mean_exposure,
)
from evenrank.policies.optimisation.permutohedron import best_ranking, support
from evenrank.policies.optimisation.rounding import TypedPages, include_probable, round_exposure
from evenrank.policies.policy import Candidates, Rankings, Request
from evenrank.trec.target_choice import soft_exposure

WORTH_OF_RELEVANCE = 0.0125
"""What the most relevant ranking gains over one without any relevance, as a share of the squared total exposure."""
MOST_MOVED = 0.25
"""Share of a page type's exposure that may move to probable pages that would not be shown otherwise, at a fairness of 1
and above; below that, in proportion to its weight."""
LEAST_PRESENCE, MOST_MOVED_BETWEEN = 0.1, 0.02
"""Share of its fair exposure that a probable page gets, even if no page of its type fits the target, and share of all
exposure that this may take: a page of two groups would otherwise hardly ever be shown where one of them has enough."""
ROUGHLY = 10.0
"""How many times the tolerance is allowed where an exposure is only looked at."""
LEAST_CHOICE = 2
"""Candidates for each rank that are within reach, however few are expected to be relevant."""
NEXT_TO_NONE = 1e-9
"""Stands for a fairness of 0: relevance is then worth a billion times more."""


class SequenceSettings(Protocol):
    """The settings of `Optimal` that matter here."""

    @property
    def fairness(self) -> float: ...
    @property
    def spread(self) -> float: ...
    @property
    def include_above(self) -> float: ...
    @property
    def work_weight(self) -> float: ...
    @property
    def relevant_only(self) -> bool: ...
    @property
    def head_depth(self) -> int: ...
    @property
    def tolerance(self) -> float: ...
    @property
    def max_iterations(self) -> int: ...


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


def rank_sequence(
    settings: SequenceSettings, candidates: Candidates, target: EstimatedTarget, request: Request
) -> Rankings:
    """A sequence of rankings, every prefix of it balanced, with its certificate."""
    problem = sequence_problem(settings, candidates, target, request)
    if settings.fairness <= 0.0:
        by_gain = best_ranking(problem.loss.gain, len(problem.loss.discounts))
        positions = np.tile(by_gain, (request.n_rankings, 1))
        return Rankings(
            positions,
            {
                **certify_sequence(problem.loss, problem.unreachable, positions),
                **_relevance(candidates.relevance, positions, request),
            },
        )
    is_head_first = 0 < settings.head_depth < len(problem.loss.discounts)
    if is_head_first:
        positions, certificate = _head_first(settings, problem, request.n_rankings)
    else:
        positions, certificate = _solve(settings, problem, request.n_rankings)
    return Rankings(positions, {**certificate, **_relevance(candidates.relevance, positions, request)})


def sequence_problem(
    settings: SequenceSettings, candidates: Candidates, target: EstimatedTarget, request: Request
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
    loss = ExposureProblem(
        groups=rows[alignment.page_type] * counted[:, None],
        target=wanted[is_reached],
        pull=pull,
        share=fair * (variance * own_share + settings.spread) / np.where(pull > 0.0, pull, 1.0),
        gain=_gain(settings, candidates, weights, total),
        discounts=weights,
    )
    unreachable = float(np.sum(wanted[~is_reached] ** 2))
    return SequenceProblem(loss, alignment.page_type, rows, counted, candidates.relevance, fair, unreachable)


def kept_relevance(
    settings: SequenceSettings, candidates: Candidates, target: EstimatedTarget, request: Request
) -> float:
    """Share of the relevance of the order by relevance that the best stochastic policy keeps, before rounding."""
    problem = sequence_problem(settings, candidates, target, request)
    tolerance = ROUGHLY * settings.tolerance * float(problem.loss.discounts.sum()) ** 2
    exposure = least_loss(problem.loss, tolerance, settings.max_iterations).exposure
    most = support(candidates.relevance, problem.loss.discounts)
    return float(candidates.relevance @ exposure) / most if most > 0.0 else 1.0


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


def _gain(
    settings: SequenceSettings, candidates: Candidates, weights: NDArray[np.float64], total: float
) -> NDArray[np.float64]:
    """Reward of a unit of exposure of each page: its relevance, more of it for pages that need more work."""
    reward = candidates.relevance * (1.0 - settings.work_weight + settings.work_weight * candidates.work_needed)
    worth = WORTH_OF_RELEVANCE * total**2 / max(_weight(settings.fairness), NEXT_TO_NONE)
    return np.asarray(worth * reward / (support(reward, weights) or 1.0))


def _solve(
    settings: SequenceSettings,
    problem: SequenceProblem,
    n_rankings: int,
    above: NDArray[np.intp] | None = None,
) -> tuple[NDArray[np.intp], dict[str, float]]:
    """Rankings for one problem, and their certificate; the tolerance is a share of the squared total exposure."""
    loss = problem.loss
    tolerance = settings.tolerance * float(loss.discounts.sum()) ** 2
    best = least_loss(loss, tolerance, settings.max_iterations)
    n_above = 0 if above is None else above.shape[1]
    length = min(len(loss.discounts) + n_above, len(loss.gain))
    exposure = _with_probable(settings, problem, best.exposure, n_rankings)
    shown = TypedPages.of(exposure, problem.counted, problem.page_type, problem.rows, length)
    positions = round_exposure(shown, loss.discounts, n_rankings, above)
    return positions, certify_sequence(problem.loss, problem.unreachable, positions, best)


def _with_probable(
    settings: SequenceSettings, problem: SequenceProblem, exposure: NDArray[np.float64], n_rankings: int
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
    settings: SequenceSettings, problem: SequenceProblem, n_rankings: int
) -> tuple[NDArray[np.intp], dict[str, float]]:
    """The sequence that serves the first ranks, and with what is left of the target the others.

    The certificate is that of the head.
    """
    depth, loss = settings.head_depth, problem.loss
    of_head = replace(problem, loss=replace(loss, discounts=loss.discounts[:depth]), fair=np.zeros_like(problem.fair))
    head, certificate = _solve(settings, of_head, n_rankings)
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
