"""Task 1, from candidates to one ranking: relaxed, rounded, improved by local search, certified."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.compound import CompoundProblem
from evenrank.policies.optimisation.local_search import improve
from evenrank.policies.optimisation.mixture import Mixture
from evenrank.policies.optimisation.permutohedron import best_ranking
from evenrank.policies.optimisation.relaxation import Relaxation, relax
from evenrank.policies.optimisation.tangent import upper_bound


@dataclass(frozen=True)
class BestList:
    """A ranking of the scored depth, and the prices of groups that led to it."""

    ranking: NDArray[np.intp]
    group_price: NDArray[np.float64]
    """What exposure of each group is worth in relevance, for ordering the pages behind the scored depth."""
    certificate: dict[str, float]


def make_list(problem: CompoundProblem, tolerance: float, max_iterations: int) -> BestList:
    """The best ranking found, with a proof of how far from the best it can be at most."""
    by_relevance = best_ranking(problem.relevance, len(problem.discounts))
    start = _start(problem, by_relevance)
    if problem.fairness <= 0.0 or not start.outcome[:-1].any():
        score = problem.score(problem.outcome(by_relevance))
        return BestList(by_relevance, np.zeros_like(problem.target), _certificate(problem, by_relevance, score, score))
    relaxation = relax(problem, start, tolerance, max_iterations)
    ranking = improve(problem, _round(problem, relaxation))
    bound = upper_bound(problem, relaxation.tangent, problem.score(problem.outcome(ranking)))
    relaxed = min(bound, float(np.exp(relaxation.log_score)))
    certificate = _certificate(problem, ranking, relaxed, bound)
    return BestList(ranking, relaxation.price, {**certificate, "n_iterations": float(relaxation.n_iterations)})


def _start(problem: CompoundProblem, by_relevance: NDArray[np.intp]) -> Mixture:
    """Relevance order, and a share of the order that shows pages of some group first, so that none has no exposure."""
    in_groups = problem.rows.sum(axis=1)[problem.page_type]
    known_first = best_ranking(problem.relevance + 1e3 * in_groups, len(problem.discounts))
    return Mixture.of(by_relevance, problem.outcome(by_relevance)).joined(
        known_first, problem.outcome(known_first), weight=0.1
    )


def _round(problem: CompoundProblem, relaxation: Relaxation) -> NDArray[np.intp]:
    """The better of: the pages sorted by their expected exposure, the best ranking met on the way."""
    exposure = np.zeros(len(problem.relevance))
    for ranking, weight in zip(relaxation.mixture.rankings, relaxation.mixture.weights, strict=True):
        exposure[ranking] += weight * problem.discounts
    by_exposure = best_ranking(exposure, len(problem.discounts))
    both = (by_exposure, relaxation.best_ranking)
    scores = problem.true_log_score(np.array([problem.outcome(ranking) for ranking in both]))
    return both[int(np.argmax(scores))]


def _certificate(problem: CompoundProblem, ranking: NDArray[np.intp], relaxed: float, bound: float) -> dict[str, float]:
    """Scores in units of the most relevant ranking's nDCG; `gap` and `rounding` are relative to the bound."""
    outcome = problem.outcome(ranking)
    score = problem.score(outcome)
    unit = bound or 1.0
    return {
        "score": score,
        "upper_bound": bound,
        "gap": (bound - score) / unit,
        "relaxed": relaxed,
        "rounding": (relaxed - score) / unit,
        "relevance_share": float(outcome[-1]),
        "AWRF": problem.awrf(outcome),
    }
