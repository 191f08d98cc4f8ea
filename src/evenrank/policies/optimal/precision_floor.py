"""`min_precision` of `optimal`: fairness is weakened until enough of what is shown is expected to be relevant.

Where even the rankings without fairness have too few relevant pages, nothing reaches the floor. The last hundredths of
what can be reached cost nearly all of the fairness, so rankings then keep `NEARLY_BEST` of it. On generated topics that
gives an AWRF@50 of 0.95 in place of 0.76 (0.97 without a floor), and an EE-L of 0.9 in place of 13 (0.01).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from evenrank.policies.policy import Rankings

NEARLY_BEST = 0.98
"""Share of the precision without fairness that rankings keep where that does not reach the floor."""
LEAST_FAIRNESS = 1e-6
"""Below this weight of fairness a list is the order by relevance."""
FLOOR_STEPS = 10
"""Bisection steps, on a logarithmic scale, towards the weight of fairness at which the floor is met."""
ASKED = "precision_asked"
EXPECTED = "expected_precision"
WITHOUT_FAIRNESS = "precision_without_fairness"
"""The most that can be expected; given where fairness as asked for does not reach the floor."""
USED = "fairness_used"
MET = "floor_met"
WITHOUT_MIN_PRECISION = "_without_min_precision"
"""What follows the name of a measure of fairness: its value if no precision had been asked for."""


class Weighed(NamedTuple):
    """Rankings made with some weight of fairness, and the precision expected of them."""

    fairness: float
    precision: float
    rankings: Rankings


def rank_above_floor(
    asked: float, fairness: float, make: Callable[[float], Weighed], measures: Sequence[str]
) -> Rankings:
    """The rankings of the strongest fairness, up to `fairness`, of which the precision `asked` is expected.

    The certificate says what was asked for and is expected, which fairness was used, and what the first of `measures`
    that it has would be without the floor. Without a floor it says nothing.
    """
    free = make(fairness)
    if asked <= 0.0:
        return free.rankings
    measure = next(name for name in measures if name in free.rankings.certificate)
    chosen, most = free, {}
    if free.precision < asked:
        plain = make(0.0)
        most = {WITHOUT_FAIRNESS: plain.precision}
        floor = asked if plain.precision >= asked else NEARLY_BEST * plain.precision
        chosen = free if free.precision >= floor else _strongest(floor, plain, fairness, make)
    said = {
        ASKED: asked,
        EXPECTED: chosen.precision,
        **most,
        USED: chosen.fairness,
        MET: float(chosen.precision >= asked),
        measure + WITHOUT_MIN_PRECISION: free.rankings.certificate[measure],
    }
    return Rankings(chosen.rankings.positions, {**chosen.rankings.certificate, **said})


def _strongest(floor: float, plain: Weighed, too_strong: float, make: Callable[[float], Weighed]) -> Weighed:
    """The strongest fairness below `too_strong` that meets the floor, as `plain`, without fairness, does."""
    chosen = plain
    for _ in range(FLOOR_STEPS):
        found = make(float(np.sqrt(max(chosen.fairness, LEAST_FAIRNESS) * too_strong)))
        if found.precision >= floor:
            chosen = found
        else:
            too_strong = found.fairness
    return chosen
