"""`optimal` for Task 1: the problem of a topic, its solution, and the pages behind the scored depth."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evenrank.exposure import discounts
from evenrank.policies.candidates import Candidates
from evenrank.policies.optimisation.band import Band
from evenrank.policies.optimisation.compact import compact
from evenrank.policies.optimisation.compound import CompoundProblem
from evenrank.policies.optimisation.divergence import divergence_by_group
from evenrank.policies.optimisation.permutohedron import best_ranking, strongest_per_type, support
from evenrank.policies.optimisation.single import make_list
from evenrank.policies.policy import Rankings, Request
from evenrank.targets.target import EstimatedTarget


class ListSettings(Protocol):
    """The settings of `Optimal` that matter here."""

    @property
    def fairness(self) -> float: ...
    @property
    def scored_depth(self) -> int: ...
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
    depth = min(settings.scored_depth or length, length)
    whole = list_problem(settings, candidates, target, depth)
    kept = strongest_per_type(whole.page_type, whole.relevance, depth)
    best = make_list(_restricted(whole, kept), settings.tolerance, settings.max_iterations)
    head = kept[best.ranking]
    scores = whole.page_scores(best.price)
    scores[head] = -np.inf
    ranking = np.concatenate([head, best_ranking(scores, length - depth)])
    return Rankings(np.tile(ranking, (request.n_rankings, 1)), best.certificate)


def list_problem(
    settings: ListSettings, candidates: Candidates, target: EstimatedTarget, depth: int
) -> CompoundProblem:
    """The compound problem of a topic at a depth, over all candidates.

    Relevance is in units of the most relevant ranking; when no page has any, all pages count alike.
    """
    is_counted = np.ones(len(target.values), np.bool_)
    is_counted[0] = not settings.drop_unknown or target.values[0] > 0.0
    alignment = compact(candidates.alignment, is_counted)
    weights = discounts(depth).astype(np.float64)
    relevance = np.maximum(candidates.relevance, 0.0)
    if not relevance.any():
        relevance = np.ones(len(candidates))
    missed = target.values[is_counted & ~alignment.is_reached]
    return CompoundProblem(
        rows=alignment.rows,
        page_type=alignment.page_type,
        relevance=relevance / support(relevance, weights),
        target=target.values[alignment.is_reached],
        unreachable=float(divergence_by_group(np.zeros_like(missed), missed).sum()),
        discounts=weights,
        fairness=settings.fairness,
        log_base=settings.log_base,
        band=Band(0.0, float(weights.sum())),
    )


def _restricted(problem: CompoundProblem, kept: NDArray[np.intp]) -> CompoundProblem:
    """The problem with some of the pages only."""
    return replace(problem, page_type=problem.page_type[kept], relevance=problem.relevance[kept])
