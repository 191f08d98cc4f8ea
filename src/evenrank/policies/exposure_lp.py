"""`exposure-lp`: the linear program of Singh and Joachims, and the rankings of its Birkhoff decomposition.

The natural peer of `optimal` in Task 2: it optimises over marginal probabilities of pages at ranks, a doubly stochastic
matrix, under constraints on the exposure of groups. Where a target cannot be met exactly, what is missed of it costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import PageCount, Weight
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.errors import EvenrankError
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request

SMALL = 1e-9
"""Probabilities below this are zero."""
COVERED = 0.999
"""Share of the doubly stochastic matrix after which the decomposition stops."""
MAX_RANKINGS = 2000


def birkhoff(matrix: NDArray[np.float64]) -> list[tuple[float, NDArray[np.intp]]]:
    """(weight, page of each rank) of permutations whose weighted sum is a doubly stochastic matrix, page by rank.

    Each step takes a perfect matching on what is left, with as large a smallest entry as the assignment finds, and
    subtracts it.
    """
    from scipy.optimize import linear_sum_assignment

    left, covered = matrix.copy(), 0.0
    found: list[tuple[float, NDArray[np.intp]]] = []
    while covered < COVERED and len(found) < MAX_RANKINGS:
        pages, ranks = linear_sum_assignment(
            np.where(left > SMALL, np.log(np.maximum(left, SMALL)), -1e6), maximize=True
        )
        weight = float(left[pages, ranks].min())
        if weight <= SMALL:
            break
        left[pages, ranks] -= weight
        order = np.empty(len(matrix), np.intp)
        order[ranks] = pages
        found.append((weight, order))
        covered += weight
    return found


@dataclass(frozen=True)
class ExposureLP(CheckedPolicy):
    """Most expected relevance × work under fair group exposure; a candidate pool keeps the program small.

    The certificate has the cost of the rankings (`objective`: `penalty` × missed exposure less utility, per ranking),
    the least cost of any rankings of the pool (`lower_bound`, from the program), and the `gap` between them: what
    rounding to whole rankings costs. It says nothing of pages outside of the pool.
    """

    name: ClassVar[str] = "exposure-lp"
    tasks: ClassVar[tuple[Task, ...]] = (2,)
    paper_runs: ClassVar[tuple[str, ...]] = ()
    citation: ClassVar[str] = "Singh and Joachims, Fairness of exposure in rankings, KDD 2018"

    pool: PageCount = 120
    """Candidates in the program: the most useful ones, and of each group its most useful ones."""
    penalty: Weight = 10.0
    """What a unit of missed exposure of a group costs, in units of the best page's utility."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        length = min(request.length, len(candidates))
        if not length:
            return Rankings(np.empty((request.n_rankings, 0), np.intp))
        pool = self._pool(candidates, length)
        weights = request.weights(length)
        wanted = target.values * float(request.weights().sum())
        utility, groups = candidates.utility(2)[pool], candidates.alignment.dense()[pool]
        matrix, least = self._solve(utility, groups, wanted, weights)
        parts = birkhoff(matrix)
        shares = np.array([weight for weight, _ in parts])
        counts = _whole_numbers(shares / shares.sum(), request.n_rankings)
        rankings = [order[:length] for count, (_, order) in zip(counts, parts, strict=True) for _ in range(count)]
        places = np.array(rankings, np.intp)[rng.permutation(request.n_rankings)]
        missed, relevance = _achieved(places, utility, groups, wanted, weights)
        cost = self.penalty * missed - relevance
        certificate = {
            "objective": cost,
            "lower_bound": min(least, cost),
            "gap": max(cost - least, 0.0),
            "missed_exposure": missed,
            "n_pool": float(len(pool)),
            "n_permutations": float(len(parts)),
            "decomposed": float(shares.sum()),
        }
        return Rankings(pool[places], certificate)

    def _pool(self, candidates: Candidates, length: int) -> NDArray[np.intp]:
        """Half of the pool by utility alone, the other half round robin over page types."""
        size = min(max(self.pool, length), len(candidates))
        by_utility = np.lexsort((-candidates.scores, -candidates.utility(2)))
        chosen = by_utility[: max(length, size // 2)]
        rest = np.setdiff1d(by_utility, chosen, assume_unique=True)
        rest = by_utility[np.isin(by_utility, rest)]
        types = candidates.alignment.page_type[rest]
        turn = np.array([np.count_nonzero(types[:place] == kind) for place, kind in enumerate(types[: 20 * size])])
        more = rest[: len(turn)][np.argsort(turn, kind="stable")][: size - len(chosen)]
        return np.concatenate([chosen, more])

    def _solve(
        self,
        utility: NDArray[np.float64],
        groups: NDArray[np.float64],
        wanted: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], float]:
        """The marginal probabilities, page by rank, and the least cost.

        The ranks after the last are for pages that are not shown.
        """
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

        n_pages, n_ranks, n_groups = len(utility), len(weights), len(wanted)
        n_cells = n_pages * n_ranks
        at_rank = kron(np.ones((1, n_pages)), eye_array(n_ranks))
        of_page = kron(eye_array(n_pages), np.ones((1, n_ranks)))
        exposure = csr_array((groups[:, :, None] * weights).transpose(1, 0, 2).reshape(n_groups, n_cells))
        missed = hstack([eye_array(n_groups), -eye_array(n_groups)])
        solved = linprog(
            np.concatenate([-np.outer(utility, weights).reshape(-1), np.full(2 * n_groups, self.penalty)]),
            A_ub=hstack([of_page, csr_array((n_pages, 2 * n_groups))]),
            b_ub=np.ones(n_pages),
            A_eq=vstack([hstack([at_rank, csr_array((n_ranks, 2 * n_groups))]), hstack([exposure, missed])]),
            b_eq=np.concatenate([np.ones(n_ranks), wanted]),
            method="highs",
        )
        if solved.x is None:
            raise EvenrankError(f"exposure-lp: no solution found: {solved.message} (try a smaller penalty or pool)")
        shown = np.clip(solved.x[:n_cells].reshape(n_pages, n_ranks), 0.0, 1.0)
        n_unshown = n_pages - n_ranks
        hidden = np.repeat((1.0 - shown.sum(axis=1, keepdims=True)) / max(n_unshown, 1), n_unshown, axis=1)
        return np.hstack([shown, np.maximum(hidden, 0.0)]), float(solved.fun)


def _achieved(
    places: NDArray[np.intp],
    utility: NDArray[np.float64],
    groups: NDArray[np.float64],
    wanted: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> tuple[float, float]:
    """Missed group exposure and utility of rankings, per ranking, as the program counts them."""
    exposure = np.bincount(places.reshape(-1), np.tile(weights, len(places)), minlength=len(utility)) / len(places)
    return float(np.abs(wanted - exposure @ groups).sum()), float(exposure @ utility)


def _whole_numbers(shares: NDArray[np.float64], total: int) -> NDArray[np.intp]:
    """Whole numbers with this sum in proportion to the shares, by largest remainder."""
    counts = np.floor(shares * total + SMALL).astype(np.intp)
    by_remainder = np.argsort(counts - shares * total, kind="stable")
    counts[by_remainder[: total - int(counts.sum())]] += 1
    return counts
