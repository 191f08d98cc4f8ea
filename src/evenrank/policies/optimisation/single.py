"""Task 1, from candidates to one ranking: relaxed, rounded, improved by local search, certified."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.assignment import settle
from evenrank.policies.optimisation.bands import effort_for, solve_bands
from evenrank.policies.optimisation.compound import CompoundProblem
from evenrank.policies.optimisation.local_search import best_improved
from evenrank.policies.optimisation.mixture import Mixture
from evenrank.policies.optimisation.permutohedron import best_ranking
from evenrank.policies.optimisation.relaxation import Relaxation

N_STARTS = 8
"""Rankings from which local search starts."""
SETTLED_RANKS = 50
"""With more ranks whole pages cost next to nothing, and assignments take long."""


@dataclass(frozen=True)
class BestList:
    """A ranking of the scored depth, and the prices of groups that led to it."""

    ranking: NDArray[np.intp]
    price: NDArray[np.float64]
    """What exposure of each group is worth in relevance, for ordering the pages behind the scored depth."""
    certificate: dict[str, float]


def make_list(problem: CompoundProblem, tolerance: float, max_iterations: int) -> BestList:
    """The best ranking found, with a proof of how far from the best it can be at most."""
    by_relevance = best_ranking(problem.relevance, len(problem.discounts))
    start = _start(problem, by_relevance)
    if problem.fairness <= 0.0 or not start.outcome[:-1].any():
        score = problem.score(by_relevance)
        return BestList(by_relevance, np.zeros_like(problem.target), _certificate(problem, by_relevance, score, score))
    effort = effort_for(problem, tolerance, max_iterations)
    solved, bounds = solve_bands(problem, start, effort, floor=problem.score(by_relevance))
    ranking = _best_rounded(problem, solved)
    score = problem.score(ranking)
    if len(problem.discounts) <= SETTLED_RANKS:
        settle(bounds, [relaxation.tangent for relaxation in solved], score)
    bound = max(bounds.highest()[1], score)
    best = max(solved, key=lambda relaxation: relaxation.log_score)
    relaxed = max(float(np.exp(best.log_score)), score)
    certificate = _certificate(problem, ranking, relaxed, bound)
    n_iterations = sum(relaxation.n_iterations for relaxation in solved)
    return BestList(ranking, best.tangent.price, {**certificate, "n_iterations": float(n_iterations)})


def _start(problem: CompoundProblem, by_relevance: NDArray[np.intp]) -> Mixture:
    """Relevance order, and a share of the order that shows pages of some group first, so that none has no exposure."""
    in_groups = problem.rows.sum(axis=1)[problem.page_type]
    known_first = best_ranking(problem.relevance + 1e3 * in_groups, len(problem.discounts))
    return Mixture.of(by_relevance, problem.outcome(by_relevance)).joined(
        known_first, problem.outcome(known_first), weight=0.1
    )


def _best_rounded(problem: CompoundProblem, solved: list[Relaxation]) -> NDArray[np.intp]:
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


def _certificate(problem: CompoundProblem, ranking: NDArray[np.intp], relaxed: float, bound: float) -> dict[str, float]:
    """Scores in units of the most relevant ranking's nDCG; `gap` and `rounding` are relative to the bound.

    `relaxed` is the score of the best mixture of rankings found, `rounding` what the ranking misses of it because pages
    are whole. With few ranks the bound knows that too, and is then below `relaxed`.
    """
    score = problem.score(ranking)
    unit = bound or 1.0
    return {
        "score": score,
        "upper_bound": bound,
        "gap": (bound - score) / unit,
        "relaxed": relaxed,
        "rounding": (relaxed - score) / unit,
        "relevance_share": float(problem.outcome(ranking)[-1]),
        "AWRF": problem.awrf(ranking),
    }
