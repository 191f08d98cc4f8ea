"""`optimal` for Task 1: the problem of a topic, one list for all depths, and what is proven of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evenrank.core.exposure import LOG, Attention
from evenrank.core.target import EstimatedTarget
from evenrank.policies.optimisation.bands import AT_THE_END, BRIEF, BRIEF_END, ON_THE_WAY, Effort, thorough_effort
from evenrank.policies.optimisation.certificate import certify_list
from evenrank.policies.optimisation.compound import CompoundProblem
from evenrank.policies.optimisation.nested_list import Caution, DepthMixture, make_nested_list
from evenrank.policies.policy import Candidates, Rankings, Request, rank_weights

LEAST_CHOICE = 4
"""Candidates that may be used for each rank below those which relevant pages are expected to fill, however unlikely
they are: such ranks are filled with what is hardly relevant anyway (chosen on real topics with about seven pages)."""
FLOORED_RANKS = 50
"""Deepest of the depths for which the floor holds in a list that is longer than relevant pages will fill: what is above
is what most people see."""
BRIEF_UP_TO = 3.0
"""Weight of fairness above which a brief relaxation stops too far from its optimum: lists of strong fairness were then
less fair, and less relevant, than those of a weaker one."""


class ListSettings(Protocol):
    """The settings of `Optimal` that matter here."""

    @property
    def fairness(self) -> float: ...
    @property
    def floor(self) -> float: ...
    @property
    def depths(self) -> tuple[int, ...]: ...
    @property
    def emphasis(self) -> float: ...
    @property
    def relevance_power(self) -> float: ...
    @property
    def depth_weights(self) -> tuple[float, ...]: ...
    @property
    def adapt_weights(self) -> bool: ...
    @property
    def proof(self) -> str: ...
    @property
    def log_base(self) -> float: ...
    @property
    def drop_unknown(self) -> bool: ...
    @property
    def tolerance(self) -> float: ...
    @property
    def max_iterations(self) -> int: ...


def rank_list(settings: ListSettings, candidates: Candidates, target: EstimatedTarget, request: Request) -> Rankings:
    """One ranking (the same one for every ranking asked for), with its certificate."""
    length = min(request.length, len(candidates))
    mixture = DepthMixture(settings.depths, settings.depth_weights).of_length(length)
    problem = list_problem(settings, candidates, target, length, request.attention)
    if settings.adapt_weights:
        mixture = mixture.adapted(candidates.relevance, problem.discounts)
    floor = settings.floor / max(settings.fairness, 1.0)
    limits = [n_above_floor(candidates.relevance, floor, depth) for depth in mixture.depths]
    if length > float(candidates.relevance.sum()):  # the end must be filled with what is hardly relevant anyway
        is_floored = [depth <= FLOORED_RANKS and depth < length for depth in mixture.depths]
        limits = [limit if floored else len(candidates) for limit, floored in zip(limits, is_floored, strict=True)]
    efforts = _efforts(settings, problem, mixture.depths)
    caution = Caution(settings.emphasis, settings.relevance_power)
    best = make_nested_list(problem, mixture, efforts, limits, caution)
    return Rankings(np.tile(best.ranking, (request.n_rankings, 1)), certify_list(best.proofs, mixture.weights))


def n_above_floor(relevance: NDArray[np.float64], floor: float, depth: int) -> int:
    """How many of the most relevant candidates may fill a list down to a depth: those at least `floor` times as likely
    to be relevant as the page at that depth in the order by relevance, and enough to choose from."""
    by_relevance = np.sort(relevance)[::-1]
    n_likely = int(np.count_nonzero(relevance >= floor * by_relevance[min(depth, len(relevance)) - 1]))
    n_ranks_left = max(0.0, depth - float(relevance.sum()))
    return min(len(relevance), max(n_likely, int(np.ceil(LEAST_CHOICE * n_ranks_left))))


def _efforts(settings: ListSettings, problem: CompoundProblem, depths: Sequence[int]) -> list[Effort]:
    """How exactly each depth is solved."""
    if settings.proof == "thorough":
        at_depth = (problem.at_depth(depth) for depth in depths)
        return [thorough_effort(part, settings.tolerance, settings.max_iterations) for part in at_depth]
    is_brief = settings.proof == "brief" and settings.fairness <= BRIEF_UP_TO
    on_the_way, at_the_end = (BRIEF, BRIEF_END) if is_brief else (ON_THE_WAY, AT_THE_END)
    return [*(on_the_way for _ in depths[:-1]), at_the_end]


def list_problem(
    settings: ListSettings, candidates: Candidates, target: EstimatedTarget, depth: int, attention: Attention = LOG
) -> CompoundProblem:
    """The compound problem of a topic at a depth, over all candidates; the fully unknown group may be left out."""
    is_counted = np.ones(len(target.values), np.bool_)
    is_counted[0] = not settings.drop_unknown or target.values[0] > 0.0
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
