"""`swap`: relevance order, improved by the best exchange of two pages until none helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenrank.exposure import discounts
from evenrank.policies.candidates import Candidates
from evenrank.policies.optimisation.divergence import divergence_by_group
from evenrank.policies.policy import Rankings, Request
from evenrank.policies.relevance import relevance_order, repeat_ranking
from evenrank.policies.shares import counted_rows
from evenrank.records import Task
from evenrank.targets.target import EstimatedTarget

SMALLEST = 1e-12
"""Stands in for zero where a logarithm is taken."""
N_PLACES = 32
"""Places looked at on either side of an exchange."""
N_TRIED = 16
"""Exchanges that get an exact look first, those that look best at first order."""
LEAST_GAIN = 1e-7
"""Relative gain below which an exchange is not worth making."""


def divergence(exposure: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Jensen–Shannon divergence in bits of each row of exposures, normalised to 1, from `wanted`."""
    share = exposure / np.maximum(exposure.sum(axis=-1, keepdims=True), SMALLEST)
    return np.asarray(divergence_by_group(share, wanted).sum(axis=-1) / np.log(2.0), np.float64)


def divergence_slope(
    exposure: NDArray[np.float64], wanted: NDArray[np.float64], least: float = SMALLEST
) -> NDArray[np.float64]:
    """How the divergence changes with each group's exposure: (h − h·share) / total, h = ½ log2(share / middle).

    At no exposure the slope is infinite, but a ranking cannot give a trace: it is taken at the `least` it can give.
    """
    total = max(float(exposure.sum()), SMALLEST)
    share = np.maximum(exposure, least) / total
    h = 0.5 * np.log2(share / (0.5 * (share + wanted)))
    return np.asarray((h - h @ share) / total, np.float64)


class Arrangement:
    """All candidates in a line: those in the ranking with the discounts of their ranks, the rest with none."""

    def __init__(
        self,
        order: NDArray[np.intp],
        relevance: NDArray[np.float64],
        page_type: NDArray[np.intp],
        rows: NDArray[np.float64],
        wanted: NDArray[np.float64],
        length: int,
        fairness: float,
    ) -> None:
        self.order = order
        self._relevance, self._type = relevance[order], page_type[order]
        self._rows, self._wanted, self._fairness = rows, wanted, fairness
        self._discounts = np.zeros(len(order))
        self._discounts[:length] = discounts(min(length, len(order)))
        self._least = float(self._discounts[self._discounts > 0.0].min(initial=1.0))
        self._gain = float(self._discounts @ self._relevance)
        self._exposure = np.bincount(self._type, self._discounts, minlength=len(rows)) @ rows
        self.value = float(self._values(np.array([self._gain]), self._exposure[None])[0])

    def _values(self, gain: NDArray[np.float64], exposure: NDArray[np.float64]) -> NDArray[np.float64]:
        """Logarithm of relevance × fairness."""
        fair = np.maximum(1.0 - divergence(exposure, self._wanted), SMALLEST)
        return np.asarray(np.log(np.maximum(gain, SMALLEST)) + self._fairness * np.log(fair), np.float64)

    def _slopes(self) -> NDArray[np.float64]:
        """How the value changes with the exposure of each page in the line."""
        fair = max(1.0 - float(divergence(self._exposure, self._wanted)), SMALLEST)
        of_type = self._rows @ divergence_slope(self._exposure, self._wanted, self._least)
        slopes: NDArray[np.float64] = self._relevance / max(self._gain, SMALLEST)
        slopes -= self._fairness / fair * of_type[self._type]
        return slopes

    def improve(self) -> bool:
        """Carry out the best exchange; False when none improves the value.

        The first order says too much of large steps, so exchanges are looked at exactly, a few at a time.
        """
        uppers, lowers = promising_exchanges(self._discounts, self._slopes())
        done = 0
        while done < len(uppers):
            look_at = slice(done, done + N_TRIED * (1 + done))
            if self._exchange_best(uppers[look_at], lowers[look_at]):
                return True
            done = look_at.stop
        return False

    def _exchange_best(self, upper: NDArray[np.intp], lower: NDArray[np.intp]) -> bool:
        """Carry out the best of these exchanges if it improves the value."""
        step = self._discounts[upper] - self._discounts[lower]
        gain = self._gain + step * (self._relevance[lower] - self._relevance[upper])
        moved = self._rows[self._type[lower]] - self._rows[self._type[upper]]
        exposure = self._exposure + step[:, None] * moved
        values = self._values(gain, exposure)
        best = int(values.argmax())
        if values[best] <= self.value + LEAST_GAIN:
            return False
        self.value, self._gain, self._exposure = float(values[best]), float(gain[best]), exposure[best]
        pair, flipped = [upper[best], lower[best]], [lower[best], upper[best]]
        for line in (self.order, self._relevance, self._type):
            line[pair] = line[flipped]
        return True


def promising_exchanges(
    weights: NDArray[np.float64], slopes: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs (upper, lower) of places, by first-order gain (w_upper − w_lower)(slope_lower − slope_upper).

    Only a page with a lower slope than all above it can be the upper one of the best pair, and only one with a
    higher slope than all below it the lower one; and each must have a partner on the right side.
    """
    least_above, most_below = np.minimum.accumulate(slopes), np.maximum.accumulate(slopes[::-1])[::-1]
    uppers = _spread_out((most_below - slopes) * weights, slopes <= least_above)
    lowers = _spread_out((slopes - least_above) * (weights.max(initial=0.0) - weights), slopes >= most_below)
    gains = (weights[uppers, None] - weights[lowers]) * (slopes[lowers] - slopes[uppers, None])
    best = np.argsort(-gains, axis=None, kind="stable")[: np.count_nonzero(gains > 0.0)]
    upper, lower = np.unravel_index(best, gains.shape)
    return uppers[upper], lowers[lower]


def _spread_out(potential: NDArray[np.float64], allowed: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Allowed places with a potential above zero; when there are too many, some from all over the line."""
    places = np.flatnonzero(allowed & (potential > 0.0))
    if len(places) <= N_PLACES:
        return places
    return places[np.linspace(0, len(places) - 1, N_PLACES).astype(np.intp)]


@dataclass(frozen=True)
class Swap:
    """The best pair swaps of relevance × fairness, over all pairs in the ranking and outside it."""

    name: ClassVar[str] = "swap"
    tasks: ClassVar[tuple[Task, ...]] = (1,)
    paper_runs: ClassVar[tuple[str, ...]] = ("1step_pair", "2step_pair", "1step_pair_list", "2step_pair_list")
    citation: ClassVar[str] = "the track's overview; pair swaps as in local search for assignment problems"

    n_swaps: int = 100
    """Exchanges at most."""
    fairness: float = 1.0
    """Power of fairness in the product relevance × fairness."""

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        arrangement = Arrangement(
            relevance_order(candidates),
            candidates.relevance,
            candidates.alignment.page_type,
            counted_rows(candidates, target, request),
            target.values,
            request.length,
            self.fairness,
        )
        for _ in range(self.n_swaps):
            if not arrangement.improve():
                break
        return repeat_ranking(arrangement.order, request)
