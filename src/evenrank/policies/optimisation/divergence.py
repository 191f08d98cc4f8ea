"""Jensen–Shannon divergence cell by cell, and a convex function below it that rankings cannot tell from it.

JSD(P, T) is a sum over groups of φ(P_g) = ½ P_g log(P_g / M_g) + ½ T_g log(T_g / M_g) with M = (P + T) / 2. The slope
of φ is infinite at 0, so mixtures can buy fairness with a trace of exposure that no ranking can give: a ranking shows
a group not at all, or at least at its last rank. Between 0 and that least share we may take the chord, which lies above
φ. The bound over mixtures becomes tighter and stays valid for every ranking.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

SMALLEST = 1e-300
"""Keeps logarithms finite; what they are multiplied with is 0 there."""


def divergence_by_group(share: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """φ of each group, natural logarithm; `share` may have any leading axes."""
    both = share + target
    return np.asarray(0.5 * (_x_log_x(share) + _x_log_x(target) - both * np.log(np.maximum(0.5 * both, SMALLEST))))


def total_divergence(share: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ φ over groups (the last axis), with fewer steps than group by group."""
    both = share + target
    entropies = (_x_log_x(share) - _x_log_x(both)).sum(axis=-1) + _x_log_x(target).sum()
    return np.asarray(0.5 * (entropies + np.log(2.0) * both.sum(axis=-1)))


def _x_log_x(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """x log x, and 0 at 0."""
    return np.asarray(x * np.log(np.maximum(x, SMALLEST)))


@dataclass(frozen=True)
class Expansion:
    """A sum of functions of one share each, around a point."""

    value: float
    slope: NDArray[np.float64]
    """First derivative for each group."""
    curvature: NDArray[np.float64]
    """Second derivative for each group."""


@dataclass(frozen=True)
class ChordedDivergence:
    """The sum over groups of: the chord up to `least_share`, a parabola that takes up its kink, then φ lowered.

    The parabola lets the slope grow in a line from the chord's to that of φ at `least_share · (1 + width)`. The slope
    of φ is concave, so it is never above φ's: the function stays below φ on all shares a ranking can give.
    """

    target: NDArray[np.float64]
    least_share: NDArray[np.float64]
    """Smallest share above 0 that a ranking can give to each group."""

    width: float = 0.3
    """Length of the parabola, relative to `least_share`."""

    @cached_property
    def at_zero(self) -> NDArray[np.float64]:
        return divergence_by_group(np.zeros_like(self.target), self.target)

    @cached_property
    def chord_slope(self) -> NDArray[np.float64]:
        rise = divergence_by_group(self.least_share, self.target) - self.at_zero
        return np.asarray(rise / self.least_share)

    @cached_property
    def end(self) -> NDArray[np.float64]:
        """Share where the parabola ends."""
        return self.least_share * (1.0 + self.width)

    @cached_property
    def bend(self) -> NDArray[np.float64]:
        """Second derivative of the parabola."""
        return (_slope_of_phi(self.end, self.target) - self.chord_slope) / (self.end - self.least_share)

    @cached_property
    def lowering(self) -> NDArray[np.float64]:
        """How much below φ the function runs behind the parabola."""
        return divergence_by_group(self.end, self.target) - self._near_zero(self.end)

    def value(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """The function, summed over groups (the last axis)."""
        beyond = np.maximum(share, self.end)
        both = beyond + self.target
        behind = 0.5 * (beyond * np.log(2.0 * beyond / both) - self.target * np.log(both)) + self._constant
        return np.asarray(np.where(share < self.end, self._near_zero(share), behind).sum(axis=-1))

    def expansion(self, share: NDArray[np.float64]) -> Expansion:
        """Value and derivatives at a share of each group."""
        beyond = np.maximum(share, self.end)
        both = beyond + self.target
        of_phi = 0.5 * np.log(2.0 * beyond / both)
        behind = beyond * of_phi - 0.5 * self.target * np.log(both) + self._constant
        is_near, is_bent = share < self.end, share >= self.least_share
        near_slope = self.chord_slope + self.bend * np.where(is_bent, share - self.least_share, 0.0)
        return Expansion(
            value=float(np.where(is_near, self._near_zero(share), behind).sum()),
            slope=np.where(is_near, near_slope, of_phi),
            curvature=np.where(is_near, np.where(is_bent, self.bend, 0.0), 0.5 * self.target / (beyond * both)),
        )

    @cached_property
    def _constant(self) -> NDArray[np.float64]:
        """What does not depend on the share behind the parabola."""
        return 0.5 * self.target * np.log(np.maximum(2.0 * self.target, SMALLEST)) - self.lowering

    def _near_zero(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        beyond_chord = np.maximum(share - self.least_share, 0.0)
        return np.asarray(self.at_zero + self.chord_slope * share + 0.5 * self.bend * beyond_chord**2)


def plane_heights(
    target: NDArray[np.float64], least_share: NDArray[np.float64], slope: NDArray[np.float64]
) -> NDArray[np.float64]:
    """For each group the largest b for which φ(P) ≥ b + slope · P on all shares that rankings can give.

    A ranking gives a group nothing, or `least_share` and more; there φ(P) − slope · P is convex: least where the slope
    of φ is `slope`, or at an end.
    """
    growth = np.exp(2.0 * slope)
    free = np.where(growth < 2.0, target * growth / np.maximum(2.0 - growth, SMALLEST), 1.0)
    share = np.clip(free, least_share, 1.0)
    nothing = divergence_by_group(np.zeros_like(target), target)
    return np.asarray(np.minimum(nothing, divergence_by_group(share, target) - slope * share))


def _slope_of_phi(share: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(0.5 * np.log(2.0 * share / (share + target)))
