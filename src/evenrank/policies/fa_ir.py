"""`fa-ir`: enough pages of under-shown groups at every rank that chance alone would explain the rest (FA*IR)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError
from evenrank.policies.policy import Candidates, Rankings, Request
from evenrank.policies.relevance import relevance_order, repeat_ranking
from evenrank.policies.shares import counted_rows
from evenrank.records import Task
from evenrank.targets.target import EstimatedTarget


def least_protected(length: int, share: float, significance: float) -> NDArray[np.intp]:
    """Smallest number of protected pages in each prefix that a fair coin of this share gives with that probability.

    The table of FA*IR: the `significance` quantile of a binomial distribution, for ranks 1 … length.
    """
    from scipy.stats import binom

    return np.asarray(binom.ppf(significance, np.arange(1, length + 1), share), np.intp)


@dataclass(frozen=True)
class FaIr:
    """Order by relevance, except where a prefix would have too few pages of groups that are shown less than wanted."""

    name: ClassVar[str] = "fa-ir"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    paper_runs: ClassVar[tuple[str, ...]] = ()
    citation: ClassVar[str] = "Zehlike et al., FA*IR: a fair top-k ranking algorithm, CIKM 2017"

    significance: float = 0.1
    """Probability with which a fair process would have fewer protected pages than a prefix must have."""

    def __post_init__(self) -> None:
        if not 0.0 < self.significance < 1.0:
            raise EvenrankError(f"fa-ir: significance is {self.significance}, but must be between 0 and 1")

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        order = relevance_order(candidates)
        length = min(request.length, len(order))
        if not length:
            return repeat_ranking(order, request)
        is_protected, share = self._protected(candidates, target, request, order[:length])
        queues = {flag: order[is_protected[order] == flag].tolist()[::-1] for flag in (True, False)}
        rank_of = np.empty(len(order), np.intp)
        rank_of[order] = np.arange(len(order))
        ranking: list[int] = []
        n_protected = 0
        for least in least_protected(length, share, self.significance).tolist():
            protected, other = queues[True], queues[False]
            must = n_protected < least
            take = bool(protected) and (must or not other or rank_of[protected[-1]] < rank_of[other[-1]])
            ranking.append((protected if take else other).pop())
            n_protected += take
        return repeat_ranking(np.array(ranking, np.intp), request)

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
