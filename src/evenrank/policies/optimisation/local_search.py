"""Task 1: local search over exchanges: two ranks swap pages, or a rank takes the best unused page of a type.

An unused page is a page with the discount 0, so both are exchanges between two places. All of them are estimated; the
most promising ones are worked out exactly, and the best of these is made. Several rankings are improved at once with
few exchanges worked out; the best of them goes on alone with many.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.compound import CompoundProblem
from evenrank.policies.optimisation.exchange import drops, estimates_of

SEARCHED_WEIGHT = 0.01
"""Ranks with a smaller share of all exposure are left as they are: there the relaxation has left nothing to gain."""
FEW, MANY = 24, 2000
"""Exchanges of a ranking that are worked out: of each of several rankings, and of the best in the end."""
MAX_MOVES = 200
IMPROVEMENT = 1e-10


def best_improved(problem: CompoundProblem, rankings: NDArray[np.intp]) -> NDArray[np.intp]:
    """The best ranking that exchanges lead to from any of `rankings` (one in each row).

    With up to `MANY` exchanges, no single one of them raises its score.
    """
    n_ranks = int(np.sum(problem.discounts >= SEARCHED_WEIGHT * problem.discounts.sum()))
    if n_ranks:
        rankings = _improved(problem, rankings, n_ranks, FEW)
    best = rankings[[np.argmax([problem.score(ranking) for ranking in rankings])]]
    return np.asarray(_improved(problem, best, n_ranks, MANY)[0] if n_ranks else best[0])


def _improved(
    problem: CompoundProblem, rankings: NDArray[np.intp], n_ranks: int, n_worked_out: int
) -> NDArray[np.intp]:
    """Rankings after exchanges that raise the score, until none of the most promising ones does."""
    rankings, by_type = rankings.copy(), _pages_by_type(problem)
    effects = np.column_stack([problem.rows[problem.page_type], problem.relevance])
    active = np.arange(len(rankings))
    for _ in range(MAX_MOVES):
        current = rankings[active]
        places = np.hstack([current[:, :n_ranks], _unused(by_type, current)])
        outcomes = np.einsum("k,rkg->rg", problem.discounts, effects[current])
        estimates = np.where(places[:, None] >= 0, estimates_of(problem, effects[places], outcomes, n_ranks), -np.inf)
        rank, place, score = _best_exchange(problem, effects[places], outcomes, estimates, n_worked_out)
        row = np.flatnonzero(score > problem.true_log_score(outcomes) + IMPROVEMENT)
        if not len(row):
            break
        active, rank, place = active[row], rank[row], place[row]
        is_swap = place < n_ranks
        rankings[active[is_swap], place[is_swap]] = places[row, rank][is_swap]
        rankings[active, rank] = places[row, place]
    return rankings


def _pages_by_type(problem: CompoundProblem) -> NDArray[np.intp]:
    """The pages of each type (a row each), most relevant first, and −1 behind the last one."""
    order = np.lexsort((-problem.relevance, problem.page_type))
    types = problem.page_type[order]
    place = np.arange(len(order)) - np.searchsorted(types, types)
    pages = np.full((len(problem.rows), int(place.max()) + 2), -1, np.intp)
    pages[types, place] = order
    return pages


def _unused(by_type: NDArray[np.intp], rankings: NDArray[np.intp]) -> NDArray[np.intp]:
    """The most relevant page of each type that is not in the ranking, ranking by type; −1 where there is none."""
    is_used = np.zeros((len(rankings), int(by_type.max()) + 2), np.bool_)
    is_used[np.arange(len(rankings))[:, None], rankings] = True
    return np.asarray(by_type[np.arange(len(by_type)), np.argmin(is_used[:, by_type], axis=2)])


def _best_exchange(
    problem: CompoundProblem,
    effects: NDArray[np.float64],
    outcomes: NDArray[np.float64],
    estimates: NDArray[np.float64],
    n_worked_out: int,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """(rank from 0, place, log score) of the best exchange for each ranking, among those of the highest estimates."""
    n_rankings, n_ranks, n_places = estimates.shape
    flat = estimates.reshape(n_rankings, -1)
    n_kept = min(n_worked_out, flat.shape[1])
    tried = np.sort(np.argpartition(flat, flat.shape[1] - n_kept, axis=1)[:, flat.shape[1] - n_kept :], axis=1)
    rank, place = np.divmod(tried, n_places)
    row = np.arange(n_rankings)[:, None]
    drop = drops(problem, n_ranks, n_places)[rank, place]
    change = drop[..., None] * (effects[row, place] - effects[row, rank])
    scores = problem.true_log_score(np.maximum(outcomes[:, None] + change, 0.0))
    scores = np.where(np.isfinite(flat[row, tried]), scores, -np.inf)
    best = (row[:, 0], np.argmax(scores, axis=1))
    return rank[best], place[best], scores[best]
