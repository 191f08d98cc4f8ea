"""Expected exposure as a linear program over all rankings of all candidates: `exposure-lp`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import Weight
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.errors import EvenrankError
from evenrank.policies.optimal.permutohedron import best_ranking
from evenrank.policies.optimal.solver import mean_exposure
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request

SMALL = 1e-9
"""Cost of a ranking, relative to those in the program, below which it is no better than they are."""
TOLERANCE = 1e-4
"""Distance between the program and its bound, relative to the cost, at which it is solved."""
SMOOTHING = 0.8
"""Share of the prices with the best bound so far in those that are tried next: prices that jump need more rankings."""
MOST_COLUMNS = 1000
"""Rankings that may enter the program; the bound is valid wherever it stops."""


@dataclass(frozen=True)
class ExposureLP(CheckedPolicy):
    """Most expected relevance × work under fair group exposure, a linear program over all rankings of all candidates.

    The program of Singh and Joachims has a variable for each page and rank. Groups are few and rankings are sorted
    pages, so the same optimum comes by column generation: a small program weighs some rankings, its prices of the
    groups' exposure give each page a value, and the pages sorted by it are the next ranking, until none improves on
    those that are there. The optimum is a mixture of few rankings, and needs no decomposition.

    The certificate has the cost of the rankings (`objective`: `penalty` × missed exposure less utility, per ranking),
    the least cost of any rankings of the candidates (`lower_bound`, from the program), and the `gap` between them: what
    rounding to whole rankings costs.
    """

    name: ClassVar[str] = "exposure-lp"
    tasks: ClassVar[tuple[Task, ...]] = (2,)
    citation: ClassVar[str] = "Singh and Joachims, Fairness of exposure in rankings, KDD 2018"

    penalty: Weight = 10.0
    """What a unit of missed exposure of a group costs, in units of the best page's utility."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        length = min(request.length, len(candidates))
        if not length:
            return Rankings(np.empty((request.n_rankings, 0), np.intp))
        weights = request.weights(length)
        wanted = target.values * float(request.weights().sum())
        utility, groups = candidates.utility(2), candidates.alignment.dense()
        found, shares, least = self._solve(utility, groups, wanted, weights)
        counts = _whole_numbers(shares / shares.sum(), request.n_rankings)
        places = np.repeat(found, counts, axis=0)[rng.permutation(request.n_rankings)]
        exposure = mean_exposure(places, weights, len(utility))
        missed = float(np.abs(wanted - exposure @ groups).sum())
        cost = self.penalty * missed - float(exposure @ utility)
        certificate = {
            "objective": cost,
            "lower_bound": min(least, cost),
            "gap": max(cost - least, 0.0),
            "missed_exposure": missed,
            "n_permutations": float(np.count_nonzero(counts)),
        }
        return Rankings(places, certificate)

    def _solve(
        self,
        utility: NDArray[np.float64],
        groups: NDArray[np.float64],
        wanted: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> tuple[NDArray[np.intp], NDArray[np.float64], float]:
        """Rankings, the share of each, and the least cost of any."""
        from scipy.optimize import linprog

        n_groups = len(wanted)
        missed = np.hstack([np.eye(n_groups), -np.eye(n_groups)])
        rankings = [best_ranking(utility, len(weights))]
        least, best = -np.inf, None
        while True:
            exposure = np.array([weights @ groups[ranking] for ranking in rankings])
            gains = np.array([weights @ utility[ranking] for ranking in rankings])
            solved = linprog(
                np.concatenate([-gains, np.full(2 * n_groups, self.penalty)]),
                A_eq=np.vstack(
                    [
                        np.hstack([exposure.T, missed]),
                        np.concatenate([np.ones(len(rankings)), np.zeros(2 * n_groups)])[None],
                    ]
                ),
                b_eq=np.append(wanted, 1.0),
                method="highs",
            )
            if solved.x is None:
                raise EvenrankError(f"exposure-lp: no solution found: {solved.message} (try a smaller penalty)")
            duals = np.asarray(solved.eqlin.marginals[:-1])
            centre = duals if best is None else SMOOTHING * best + (1.0 - SMOOTHING) * duals
            for prices in (centre, duals):
                value = utility + groups @ prices
                ranking = best_ranking(value, len(weights))
                bound = float(wanted @ prices) - float(weights @ value[ranking])
                if bound > least:
                    least, best = bound, prices
                reduced = -float(weights @ (utility + groups @ duals)[ranking]) - float(solved.eqlin.marginals[-1])
                if reduced < -SMALL:
                    break
            is_done = float(solved.fun) - least <= TOLERANCE * max(1.0, abs(float(solved.fun)))
            if is_done or reduced >= -SMALL or len(rankings) >= MOST_COLUMNS:
                return np.array(rankings, np.intp), np.maximum(solved.x[: len(rankings)], 0.0), least
            rankings.append(ranking)


def _whole_numbers(shares: NDArray[np.float64], total: int) -> NDArray[np.intp]:
    """Whole numbers with this sum in proportion to the shares, by largest remainder."""
    counts = np.floor(shares * total + SMALL).astype(np.intp)
    by_remainder = np.argsort(counts - shares * total, kind="stable")
    counts[by_remainder[: total - int(counts.sum())]] += 1
    return counts
