"""Re-rankers of the literature: FA*IR, DetConstSort, and expected exposure as a linear program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import PageCount, Range, Weight
from evenrank.core.records import Task
from evenrank.core.target import EstimatedTarget
from evenrank.errors import EvenrankError
from evenrank.policies.diversification import counted_rows
from evenrank.policies.policy import Candidates, CheckedPolicy, Rankings, Request
from evenrank.policies.relevance import relevance_order, repeat_ranking

ADJUSTING_STEPS = 34
"""Bisections of the significance: the minima are whole numbers, so more would change none of them."""


def least_protected(length: int, share: float, significance: float) -> NDArray[np.intp]:
    """Smallest number of protected pages in each prefix that a fair coin of this share gives with that probability.

    The table of FA*IR: the `significance` quantile of a binomial distribution, for ranks 1 … length.
    """
    from scipy.stats import binom

    return np.asarray(np.clip(binom.ppf(significance, np.arange(1, length + 1), share), 0, length), np.intp)


def failure_probability(least: NDArray[np.intp], share: float) -> float:
    """Probability that a fair process has too few protected pages in some prefix.

    The distribution of their number is followed rank by rank, and what is below the minimum is dropped.
    """
    by_count = np.ones(1)
    for minimum in least.tolist():
        by_count = np.append(by_count * (1.0 - share), 0.0) + np.append(0.0, by_count * share)
        by_count[:minimum] = 0.0
    return float(1.0 - by_count.sum())


def adjusted_significance(length: int, share: float, significance: float) -> float:
    """The largest significance of one prefix at which a fair process fails anywhere with `significance` at most.

    It may be above `significance`: a minimum is a whole number, and so fails less often than it may.
    """
    low, high = 0.0, 1.0
    for _ in range(ADJUSTING_STEPS):
        middle = 0.5 * (low + high)
        if failure_probability(least_protected(length, share, middle), share) > significance:
            high = middle
        else:
            low = middle
    return low


def order_with_minimum(is_protected: NDArray[np.bool_], least: NDArray[np.intp]) -> NDArray[np.intp]:
    """Places of pages that are in order of relevance: the next one, or the next protected one where that is due."""
    queues = {flag: np.flatnonzero(is_protected == flag).tolist()[::-1] for flag in (True, False)}
    protected, other = queues[True], queues[False]
    ranking: list[int] = []
    n_protected = 0
    for minimum in least.tolist():
        take = bool(protected) and (n_protected < minimum or not other or protected[-1] < other[-1])
        ranking.append((protected if take else other).pop())
        n_protected += take
    return np.array(ranking, np.intp)


@dataclass(frozen=True)
class FaIr(CheckedPolicy):
    """Order by relevance, except where a prefix would have too few pages of groups that are shown less than wanted."""

    name: ClassVar[str] = "fa-ir"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    paper_runs: ClassVar[tuple[str, ...]] = ()
    citation: ClassVar[str] = "Zehlike et al., FA*IR: a fair top-k ranking algorithm, CIKM 2017"

    significance: Annotated[float, Range(above=0.0, below=1.0)] = 0.1
    """Probability with which a fair process would have fewer protected pages than a prefix must have."""
    adjusted: bool = False
    """Whether that is the probability for all prefixes together, as FA*IR corrects for testing each of them; minima are
    lower then. Takes about 0.2 s a topic."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        order = relevance_order(candidates)
        length = min(request.length, len(order))
        if not length:
            return repeat_ranking(order, request)
        is_protected, share = self._protected(candidates, target, request, order[:length])
        of_prefix = adjusted_significance(length, share, self.significance) if self.adjusted else self.significance
        places = order_with_minimum(is_protected[order], least_protected(length, share, of_prefix))
        return repeat_ranking(order[places], request)

    def _protected(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, head: NDArray[np.intp]
    ) -> tuple[NDArray[np.bool_], float]:
        """FA*IR knows one protected group: here all groups that the order by relevance shows less than wanted."""
        rows = counted_rows(candidates, target, request)
        exposure = request.weights(len(head)) @ rows[candidates.alignment.page_type[head]]
        shown = exposure / max(float(exposure.sum()), 1e-12)
        is_under = target.values > shown
        wanted = float(target.values[is_under].sum())
        of_type = rows[:, is_under].sum(axis=1) > 0.5 * np.maximum(rows.sum(axis=1), 1e-12)
        return np.asarray(of_type[candidates.alignment.page_type]), min(max(wanted, 0.0), 1.0)


def constrained_sort(
    relevance: NDArray[np.float64], group: NDArray[np.intp], share: NDArray[np.float64], length: int
) -> list[int]:
    """Positions such that group g has at least ⌊share · k⌋ of the first k, as far as it has pages (DetConstSort).

    Pages are in order of relevance. Whenever the minimum of a group rises, its next page is inserted and moves up past
    less relevant pages, as long as none of them falls behind the rank it must have at the latest.
    """
    queues = [np.flatnonzero(group == number).tolist()[::-1] for number in range(len(share))]
    least = np.zeros(len(share), np.intp)
    ranking: list[int] = []
    latest: list[int] = []
    k = 0
    while len(ranking) < length and any(queues):
        k += 1
        now = np.floor(share * k + 1e-9).astype(np.intp)
        risen = [number for number in np.flatnonzero(now > least).tolist() if queues[number]]
        risen.sort(key=lambda number: -relevance[queues[number][-1]])
        for number in risen:
            ranking.append(queues[number].pop())
            latest.append(k)
            place = len(ranking) - 1
            while (
                place > 0
                and latest[place - 1] >= place + 1
                and relevance[ranking[place - 1]] < relevance[ranking[place]]
            ):
                for line in (ranking, latest):
                    line[place - 1], line[place] = line[place], line[place - 1]
                place -= 1
        least = now
        if not risen and k > 2 * length + len(share):  # every group that is wanted has run out: fill by relevance
            rest = sorted((page for queue in queues for page in queue), key=lambda page: -relevance[page])
            ranking += rest[: length - len(ranking)]
            break
    return ranking[:length]


@dataclass(frozen=True)
class DetConstSort:
    """Every prefix has its minimum of every group; each page counts for the one group of it that is wanted most."""

    name: ClassVar[str] = "det-const-sort"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    paper_runs: ClassVar[tuple[str, ...]] = ()
    citation: ClassVar[str] = "Geyik et al., Fairness-aware ranking in search and recommendation (LinkedIn), KDD 2019"

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        order = relevance_order(candidates)
        rows = counted_rows(candidates, target, request)
        wanted = np.where(rows > 0.0, target.values, -1.0)
        of_type = np.where(wanted.max(axis=1) > 0.0, wanted.argmax(axis=1), len(target.values))
        group = of_type[candidates.alignment.page_type[order]]
        share = np.append(target.values, 0.0)
        has_pages = np.bincount(group, minlength=len(share)) > 0
        share = np.where(has_pages, share, 0.0)
        total = float(share.sum())
        share = share / total if total > 0.0 else np.where(has_pages, 1.0, 0.0) / max(int(has_pages.sum()), 1)
        length = min(request.length, len(order))
        ranking = constrained_sort(candidates.relevance[order], group, share, length)
        return repeat_ranking(order[np.array(ranking, np.intp)], request)


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
