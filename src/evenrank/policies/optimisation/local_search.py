"""Task 1: exact local search. Every substitution by the best unused page of a type, every swap of two ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.compound import CompoundProblem
from evenrank.policies.optimisation.permutohedron import best_ranking, first_of_each_type

SEARCHED_WEIGHT = 0.01
"""Ranks with a smaller share of all exposure are left as they are: there the relaxation has left nothing to gain."""
SEARCHED_PAGES = 100
"""Unused pages that are tried in the place of others."""
MAX_MOVES = 200
IMPROVEMENT = 1e-12


def improve(problem: CompoundProblem, ranking: NDArray[np.intp], price: NDArray[np.float64]) -> NDArray[np.intp]:
    """`ranking` after the best of all moves, again and again, until none raises the score.

    Where there are very many page types, those whose best unused page has the highest value at `price` are tried.
    """
    ranking = ranking.copy()
    n_ranks = int(np.sum(problem.discounts >= SEARCHED_WEIGHT * problem.discounts.sum()))
    by_type = np.lexsort((-problem.relevance, problem.page_type))
    values = problem.page_scores(price)
    for _ in range(MAX_MOVES if n_ranks else 0):
        outcome = problem.outcome(ranking)
        score = problem.true_log_score(outcome) + IMPROVEMENT
        unused = _first_unused(problem, by_type, ranking)
        unused = unused[best_ranking(values[unused], SEARCHED_PAGES)]
        swap_score, first, second = _best_swap(problem, ranking[:n_ranks], outcome)
        substitute_score, rank, page = _best_substitute(problem, ranking[:n_ranks], outcome, unused)
        if max(swap_score, substitute_score) <= score:
            break
        if swap_score > substitute_score:
            ranking[[first, second]] = ranking[[second, first]]
        else:
            ranking[rank] = page
    return ranking


def _first_unused(problem: CompoundProblem, by_type: NDArray[np.intp], ranking: NDArray[np.intp]) -> NDArray[np.intp]:
    """The most relevant page of each type that is not in the ranking."""
    is_used = np.zeros(len(problem.page_type), np.bool_)
    is_used[ranking] = True
    free = by_type[~is_used[by_type]]
    return free[first_of_each_type(problem.page_type[free])]


def _best_substitute(
    problem: CompoundProblem,
    head: NDArray[np.intp],
    outcome: NDArray[np.float64],
    unused: NDArray[np.intp],
) -> tuple[float, int, int]:
    """(log score, rank from 0, page) of the best replacement of one page by an unused one."""
    if not len(unused):
        return -np.inf, 0, 0
    change = _effects(problem, unused)[None, :, :] - _effects(problem, head)[:, None, :]
    scores = _scores_after(problem, outcome, problem.discounts[: len(head), None, None] * change)
    rank, chosen = np.unravel_index(np.argmax(scores), scores.shape)
    return float(scores[rank, chosen]), int(rank), int(unused[chosen])


def _best_swap(
    problem: CompoundProblem, head: NDArray[np.intp], outcome: NDArray[np.float64]
) -> tuple[float, int, int]:
    """(log score, rank, rank) of the best exchange of two ranks, from 0."""
    first, second = np.triu_indices(len(head), 1)
    if not len(first):
        return -np.inf, 0, 0
    effects = _effects(problem, head)
    drop = problem.discounts[first] - problem.discounts[second]
    scores = _scores_after(problem, outcome, drop[:, None] * (effects[second] - effects[first]))
    best = int(np.argmax(scores))
    return float(scores[best]), int(first[best]), int(second[best])


def _effects(problem: CompoundProblem, pages: NDArray[np.intp]) -> NDArray[np.float64]:
    """What a unit of exposure of each page adds to an outcome."""
    return np.column_stack([problem.rows[problem.page_type[pages]], problem.relevance[pages]])


def _scores_after(
    problem: CompoundProblem, outcome: NDArray[np.float64], change: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log scores after changes of the outcome; rounding below zero is cut off."""
    return problem.true_log_score(np.maximum(outcome + change, 0.0))
