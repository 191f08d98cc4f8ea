"""The plan of a saved search: which kind of article appears at which rank of which draw.

The policy `optimal` makes a sequence of rankings whose mean exposure is provably near the goal. Exposure depends on the
groups of an article alone, so the plan keeps only these kinds, and every draw fills them with articles of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenrank.core.rng import derive
from evenrank.policies.optimal import OptimalSequence
from evenrank.policies.policy import Request
from evenrank.ranking.job import Prepared

Kinds = NDArray[np.uint16]
MOST_EXCHANGES = 200
"""Exchanges of kinds in one draw, so that its time is bounded."""
LEAST_GAIN = 1e-6
"""Squared exposure that an exchange must gain; far above what rounding of numbers leaves."""


def plan_draws(prepared: Prepared, fairness: float, request: Request) -> tuple[Kinds, dict[str, float]]:
    """Kinds (draw by rank), and what the policy proves of them."""
    candidates, target = prepared
    ranked = OptimalSequence(fairness=fairness).rank(candidates, target, request, derive(0))
    return candidates.alignment.page_type[ranked.positions].astype(np.uint16), ranked.certificate


@dataclass(frozen=True)
class DrawPool:
    """The candidates of a search as one draw sees them; arrays run beside each other."""

    kinds: Kinds
    worth: NDArray[np.float64]
    """Chance to be drawn, relative to the others."""
    work_needed: NDArray[np.float64]
    is_free: NDArray[np.bool_]
    """Whether the article may be shown: neither done nor unwanted."""


@dataclass(frozen=True)
class Owed:
    """What all draws together still owe to each group, and what one article of each kind gives."""

    exposure: NDArray[np.float64]
    """Goal of all draws up to this one, minus what the draws before it gave."""
    planned: float
    """Squared debt that the plan leaves after this draw."""
    kind_rows: NDArray[np.float64]
    """Kind by group."""
    discounts: NDArray[np.float64]
    """Attention of each rank."""

    def to_groups(self, has_articles: NDArray[np.bool_]) -> Owed:
        """What is owed to groups with articles left: what can no longer be given is not made up for elsewhere."""
        return replace(self, exposure=np.where(has_articles, self.exposure, 0.0))


def fill(wanted: Kinds, pool: DrawPool, owed: Owed, rng: np.random.Generator) -> NDArray[np.intp]:
    """Candidates for the ranks of one draw, of the kinds that the plan wants there.

    Of each kind, articles are drawn by their worth (Plackett–Luce), and those that need more work come first. Where
    a kind has run out, because its articles are done, the kind to which most is owed takes the rank; while that leaves
    the draws farther from the goal than planned, other ranks depart from the plan, too.
    """
    with np.errstate(divide="ignore"):
        keys = np.where(pool.is_free, np.log(pool.worth), -np.inf) + rng.gumbel(size=len(pool.worth))
    free = np.flatnonzero(pool.is_free)
    by_kind = free[np.lexsort((-keys[free], pool.kinds[free]))]
    present, starts = np.unique(pool.kinds[by_kind], return_index=True)
    best_of = dict(zip(present.tolist(), np.split(by_kind, starts)[1:], strict=True))
    kinds = settle_kinds(wanted, {kind: len(places) for kind, places in best_of.items()}, owed)
    filled = np.empty(len(kinds), np.intp)
    for kind in np.unique(kinds):
        ranks = np.flatnonzero(kinds == kind)
        chosen = best_of[int(kind)][: len(ranks)]
        filled[ranks] = chosen[np.argsort(-pool.work_needed[chosen], kind="stable")]
    return filled


def settle_kinds(wanted: Kinds, n_left: dict[int, int], owed: Owed) -> NDArray[np.intp]:
    """The kind of each rank: as planned while there are articles of it, else the one to which most is owed.

    Where that leaves a greater debt than planned, kinds are exchanged.
    """
    left = np.array([n_left.get(kind, 0) for kind in range(len(owed.kind_rows))])
    owed = owed.to_groups(np.asarray((owed.kind_rows[left > 0] > 0.0).any(axis=0)))
    settled = np.full(min(len(wanted), int(left.sum())), -1, np.intp)
    for rank, kind in enumerate(wanted[: len(settled)].tolist()):
        if left[kind]:
            settled[rank] = kind
            left[kind] -= 1
    is_planned = settled >= 0
    weights = owed.discounts[: len(settled)]
    debt = owed.exposure - weights[is_planned] @ owed.kind_rows[settled[is_planned]]
    for rank in np.flatnonzero(~is_planned).tolist():
        gain = owed.kind_rows @ debt - 0.5 * weights[rank] * np.sum(owed.kind_rows**2, axis=1)
        settled[rank] = kind = int(np.argmax(np.where(left > 0, gain, -np.inf)))
        left[kind] -= 1
        debt = debt - weights[rank] * owed.kind_rows[kind]
    return exchange_kinds(settled, left, debt, owed)


def exchange_kinds(
    settled: NDArray[np.intp], left: NDArray[np.intp], debt: NDArray[np.float64], owed: Owed
) -> NDArray[np.intp]:
    """Kinds of ranks, exchanged until the debt that the draw leaves is as small as planned, or nothing lessens it.

    An exchange swaps the kinds of two ranks, or gives a rank to a kind of which articles are left; the best comes
    first. So the last articles of a scarce kind move up, where they get the attention that more of them would have got.
    """
    settled, left, rows = settled.copy(), left.copy(), owed.kind_rows
    weights = owed.discounts[: len(settled), None]
    between = weights - weights.T
    squares = np.sum(rows**2, axis=1)
    apart = squares[:, None] + squares - 2.0 * rows @ rows.T
    for _ in range(MOST_EXCHANGES):
        if debt @ debt <= owed.planned + LEAST_GAIN:
            break
        worth = rows @ debt
        ahead = worth - worth[settled, None]
        by_other = np.where(left > 0, 2.0 * weights * ahead - weights**2 * apart[settled], 0.0)
        by_swap = 2.0 * between * ahead[:, settled] - between**2 * apart[np.ix_(settled, settled)]
        gains = np.hstack([by_other, by_swap])
        rank, other = divmod(int(np.argmax(gains)), gains.shape[1])
        if gains[rank, other] <= LEAST_GAIN:
            break
        before = settled[rank]
        if other < len(left):
            settled[rank] = other
            left[before] += 1
            left[other] -= 1
            debt = debt - weights[rank] * (rows[other] - rows[before])
        else:
            other -= len(left)
            debt = debt - between[rank, other] * (rows[settled[other]] - rows[before])
            settled[rank], settled[other] = settled[other], before
    return settled
