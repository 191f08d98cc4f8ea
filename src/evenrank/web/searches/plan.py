"""The plan of a saved search: which kind of article stands at which rank of which draw.

The policy `optimal` makes a sequence of rankings whose mean exposure is provably near the goal. Exposure depends on the
groups of an article alone, so the plan keeps only these kinds, and every draw fills them with articles of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.job import Prepared
from evenrank.policies.optimal import Optimal
from evenrank.policies.policy import Request
from evenrank.rng import derive

Kinds = NDArray[np.uint16]


def make_plan(prepared: Prepared, fairness: float, n_draws: int, length: int) -> tuple[Kinds, dict[str, float]]:
    """Kinds (draw by rank), and what the policy proves of them."""
    candidates, target = prepared
    ranked = Optimal(fairness=fairness).rank(candidates, target, Request(2, n_draws, length), derive(0))
    return candidates.alignment.page_type[ranked.positions].astype(np.uint16), ranked.certificate


def fill(
    wanted: Kinds,
    kinds: Kinds,
    worth: NDArray[np.float64],
    work_needed: NDArray[np.float64],
    is_free: NDArray[np.bool_],
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Candidates for the ranks of one draw, of the kinds that the plan wants there.

    Of each kind, articles are drawn by their worth (Plackett–Luce), and those that need more work come first. Where
    a kind has run out, because its articles are done, the best of the others take the ranks.
    """
    with np.errstate(divide="ignore"):
        keys = np.where(is_free, np.log(worth), -np.inf) + rng.gumbel(size=len(worth))
    filled = np.full(len(wanted), -1, np.intp)
    for kind in np.unique(wanted):
        ranks = np.flatnonzero(wanted == kind)
        _place(filled, ranks, np.flatnonzero((kinds == kind) & is_free), keys, work_needed)
    rest = is_free.copy()
    rest[filled[filled >= 0]] = False
    _place(filled, np.flatnonzero(filled < 0), np.flatnonzero(rest), keys, work_needed)
    return filled[filled >= 0]


def _place(
    filled: NDArray[np.intp],
    ranks: NDArray[np.intp],
    pool: NDArray[np.intp],
    keys: NDArray[np.float64],
    work_needed: NDArray[np.float64],
) -> None:
    """Put the articles of `pool` with the largest keys into `ranks`, those that need more work first."""
    chosen = pool[np.argsort(-keys[pool], kind="stable")[: len(ranks)]]
    chosen = chosen[np.argsort(-work_needed[chosen], kind="stable")]
    filled[ranks[: len(chosen)]] = chosen
