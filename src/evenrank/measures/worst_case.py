"""How low and how high a measure of groups can get when some groups are unknown: bounds that need no model.

What is unknown is a set of masses. Some mass is in known groups; the rest comes in bundles, each of which may go to any
of several groups, in any parts. Two such sets, of exposure and of the target, are independent here: a page whose group
is unknown may count as one group in the exposure and as another in the target. So every way of filling the unknown is
inside, and the bounds hold for all of them; they may be wider than the widest of these ways.

Both divergences are sums over groups of a convex function φ(exposure, target). The smallest sum is bounded from below
by the duality gap of the Frank–Wolfe method (Jaggi, ICML 2013). The largest is bounded from above by planes through
the corners of the box that each group's pair of values can lie in, refined by branching on the bundles.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import GroupSpace
from evenrank.core.types import Floats

Flags = NDArray[np.bool_]
Divergence = Callable[[Floats, Floats], Floats]
MAX_STEPS = 200
"""Steps of the Frank–Wolfe method; the bound holds after any number of them."""
MAX_NODES = 40
"""Nodes of the search for the largest value; the bound holds after any number of them."""
CLOSE_ENOUGH = 5e-4
"""Bounds this near to a value that is attained are not refined."""
ROUNDING = 1e-9
"""By how much bounds are widened for the rounding of sums."""
MAX_CELLS = 256
"""Groups over which bounds are worked out; matrices of group by group are held."""


class Bound(NamedTuple):
    """The values between which a measure lies."""

    low: float
    high: float
    is_exact: bool = False
    """Whether both ends are attained; otherwise the interval contains all that is possible, and perhaps more."""


MeasureBounds = dict[str, Bound | None]
"""Bounds by measure; None where there are none."""


def bounds_json(bounds: MeasureBounds) -> dict[str, Any]:
    """Bounds as JSON has them: null where a measure has none."""
    return {
        name: None if one is None else {"low": one.low, "high": one.high, "exact": one.is_exact}
        for name, one in bounds.items()
    }


@dataclass(frozen=True)
class MassSet:
    """All that the masses of groups can be."""

    base: Floats
    """Mass that is known to be in each group."""
    weights: Floats = field(default_factory=lambda: np.empty(0))
    """Mass of each bundle."""
    options: Flags = field(default_factory=lambda: np.empty((0, 0), bool))
    """Bundle by group: where it may go."""
    is_optional: Flags = field(default_factory=lambda: np.empty(0, bool))
    """Whether a bundle may also count nowhere."""
    is_share: bool = False
    """Whether masses are divided by their sum."""
    image: Floats | None = None
    """Matrix that is applied to the masses in the end, such as the blend of a target with the world."""

    @property
    def is_fixed(self) -> bool:
        return not len(self.weights)

    @property
    def may_be_empty(self) -> bool:
        """Whether no group may have any mass."""
        return bool(self.base.sum() <= 0.0 and self.is_optional.all())

    def farthest(self, directions: Floats) -> tuple[Floats, Floats]:
        """For each direction the largest inner product with a member of the set, and that member."""
        inner = directions if self.image is None else directions @ self.image
        if self.is_fixed:
            points = np.broadcast_to(self.base / (self.base.sum() if self.is_share else 1.0), inner.shape)
        else:
            points = self._farthest(inner)
        values = (inner * points).sum(axis=1)
        return values, points if self.image is None else points @ self.image.T

    def _farthest(self, directions: Floats) -> Floats:
        n = len(directions)
        gains = np.where(self.options, directions[:, None, :], -np.inf)
        choice, best = gains.argmax(axis=2), gains.max(axis=2)
        of_base, base_sum = directions @ self.base, self.base.sum()
        if self.is_share:
            value = np.full(n, -np.inf)
            is_taken = np.ones(best.shape, bool)
            while True:  # Dinkelbach's method: the ratio grows until no bundle improves it
                mass = base_sum + is_taken @ self.weights
                ratio = np.where(
                    mass > 0.0, (of_base + (best * is_taken) @ self.weights) / np.maximum(mass, 1e-300), value
                )
                if (ratio <= value).all():
                    break
                value = np.maximum(value, ratio)
                kept = ~self.is_optional | (best > value[:, None])
                is_taken = np.where((base_sum + kept @ self.weights > 0.0)[:, None], kept, is_taken)
        else:
            is_taken = ~self.is_optional | (best > 0.0)
        points = np.tile(self.base, (n, 1))
        np.add.at(points, (np.arange(n)[:, None], choice), is_taken * self.weights)
        return points / points.sum(axis=1, keepdims=True) if self.is_share else points

    def box(self) -> tuple[Floats, Floats]:
        """The smallest and the largest value of each group."""
        unit = np.eye(len(self.base) if self.image is None else len(self.image))
        values, _ = self.farthest(np.concatenate([unit, -unit]))
        return np.maximum(0.0, -values[len(unit) :]), np.maximum(0.0, values[: len(unit)])

    def branches(self) -> list[MassSet]:
        """The set cut into smaller ones whose vertices are those of the set: the heaviest bundle goes to one group."""
        bundle = int(self.weights.argmax())
        rest = replace(
            self,
            weights=np.delete(self.weights, bundle),
            options=np.delete(self.options, bundle, axis=0),
            is_optional=np.delete(self.is_optional, bundle),
        )
        made = [
            replace(rest, base=self.base + self.weights[bundle] * (np.arange(len(self.base)) == group))
            for group in np.flatnonzero(self.options[bundle])
        ]
        return [*made, rest] if self.is_optional[bundle] else made


def completions(space: GroupSpace) -> Flags:
    """Group by group: whether an item of the first may turn out to be of the second.

    Dimensions in which it is known stay as they are; one in which it is unknown stays so or becomes any known group.
    """
    allowed = np.ones((1, 1), bool)
    for size in space.shape:
        own = np.eye(size, dtype=bool)
        own[0] = True
        allowed = np.kron(allowed, own)
    return allowed


def mass_set(
    low: Floats,
    high: Floats,
    options: Flags,
    *,
    drops_unknown: bool = False,
    is_share: bool = False,
    image: Floats | None = None,
) -> MassSet:
    """The set of masses of groups that are at least `low` and at most `high` as recorded, and may turn by `options`.

    With `drops_unknown` the first group does not count, so that what goes there goes nowhere.
    """
    is_settled = options.sum(axis=1) == 1
    base = np.where(is_settled, low, 0.0)
    forced = np.flatnonzero(~is_settled & (low > 0.0))
    extra = np.flatnonzero(high > low)
    chosen = np.concatenate([forced, extra])
    weights = np.concatenate([low[forced], (high - low)[extra]])
    is_optional = np.arange(len(chosen)) >= len(forced)
    open_to = options[chosen].copy()
    if drops_unknown:
        base[0] = 0.0
        is_optional |= open_to[:, 0]
        open_to[:, 0] = False
    kept = open_to.any(axis=1)
    return MassSet(base, weights[kept], open_to[kept], is_optional[kept], is_share, image)


def js_terms(left: Floats, right: Floats) -> Floats:
    """What each group adds to the Jensen–Shannon divergence, in nats."""
    both = left + right
    return 0.5 * (_part(left, both) + _part(right, both))


def _part(one: Floats, both: Floats) -> Floats:
    ratio = np.divide(2.0 * one, both, out=np.ones(np.broadcast(one, both).shape), where=(one > 0.0) & (both > 0.0))
    return np.asarray(one * np.log(ratio))


def _js_slopes(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    both = np.maximum(left + right, 1e-300)
    return 0.5 * np.log(np.maximum(2.0 * left / both, 1e-15)), 0.5 * np.log(np.maximum(2.0 * right / both, 1e-15))


def square_terms(left: Floats, right: Floats) -> Floats:
    """What each group adds to the squared distance."""
    return np.asarray((left - right) ** 2)


def _square_slopes(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    return 2.0 * (left - right), 2.0 * (right - left)


SLOPES: dict[Divergence, Callable[[Floats, Floats], tuple[Floats, Floats]]] = {
    js_terms: _js_slopes,
    square_terms: _square_slopes,
}


def divergence_bounds(left: MassSet, right: MassSet, terms: Divergence = js_terms) -> Bound:
    """Certified bounds of Σ φ over all members of two sets."""
    if left.is_fixed and right.is_fixed:
        (x,), (y,) = (one.farthest(np.zeros((1, len(one.base))))[1] for one in (left, right))
        value = float(terms(x, y).sum())
        return Bound(value, value, is_exact=True)
    return Bound(max(0.0, _least(left, right, terms) - ROUNDING), _most(left, right, terms) + ROUNDING)


def _least(left: MassSet, right: MassSet, terms: Divergence) -> float:
    """A lower bound of the smallest value: at every point, the tangent plane is below the convex function."""
    steps = np.concatenate([[0.0], np.geomspace(1e-4, 0.9, 40)])[:, None]
    x, y = (_centre(one) for one in (left, right))
    bound = 0.0
    for _ in range(MAX_STEPS):
        value = float(terms(x, y).sum())
        slope_x, slope_y = SLOPES[terms](x, y)
        (to_x,), (to_y,) = left.farthest(-slope_x[None])[1], right.farthest(-slope_y[None])[1]
        gap = float(slope_x @ (x - to_x) + slope_y @ (y - to_y))
        bound = max(bound, value - gap)
        if value - bound < CLOSE_ENOUGH * max(1.0, value):
            break
        tried = terms(x + steps * (to_x - x), y + steps * (to_y - y)).sum(axis=1)
        step = float(steps[tried.argmin(), 0])
        if step == 0.0:
            break
        x, y = x + step * (to_x - x), y + step * (to_y - y)
    return bound


def _centre(one: MassSet) -> Floats:
    """A member in which every group that can have mass has some."""
    unit = np.eye(len(one.base) if one.image is None else len(one.image))
    return np.asarray(one.farthest(unit)[1].mean(axis=0))


def _most(left: MassSet, right: MassSet, terms: Divergence) -> float:
    """An upper bound of the largest value, best first over branches of the sets."""
    order = count()
    bound, attained = _above(left, right, terms)
    open_nodes = [(-bound, next(order), left, right)]
    for _ in range(MAX_NODES):
        top = -open_nodes[0][0]
        if top - attained <= CLOSE_ENOUGH * max(1.0, attained):
            return max(top, attained)
        _, _, x, y = heapq.heappop(open_nodes)
        splits_left = not x.is_fixed and (y.is_fixed or _widest(x) >= _widest(y))
        pairs = [(one, y) for one in x.branches()] if splits_left else [(x, one) for one in y.branches()]
        for pair in pairs:
            bound, reached = _above(*pair, terms)
            attained = max(attained, reached)
            heapq.heappush(open_nodes, (-bound, next(order), *pair))
    return max(-open_nodes[0][0], attained)


def _widest(one: MassSet) -> float:
    total = one.base.sum() + one.weights.sum() if one.is_share else 1.0
    return float(one.weights.max() / total)


def _above(left: MassSet, right: MassSet, terms: Divergence) -> tuple[float, float]:
    """An upper bound of the largest value, and a value that a pair of members has.

    φ has a mixed derivative below 0, so at the corners φ(l, l) + φ(h, h) ≤ φ(l, h) + φ(h, l): of the two planes through
    the latter corners and one of the former, each is above φ in the whole box.
    """
    (low_x, high_x), (low_y, high_y) = left.box(), right.box()
    wide_x, wide_y = np.maximum(high_x - low_x, 1e-15), np.maximum(high_y - low_y, 1e-15)
    mixed = (terms(high_x, low_y), terms(low_x, high_y))
    best, attained = math.inf, 0.0
    for corner, is_high in ((terms(low_x, low_y), False), (terms(high_x, high_y), True)):
        up_x, up_y = (mixed[0] - corner) / wide_x, (mixed[1] - corner) / wide_y
        if is_high:
            up_x, up_y = -(mixed[1] - corner) / wide_x, -(mixed[0] - corner) / wide_y
        up_x, up_y = np.where(high_x > low_x, up_x, 0.0), np.where(high_y > low_y, up_y, 0.0)
        at_x, at_y = (high_x, high_y) if is_high else (low_x, low_y)
        constant = float((corner - up_x * at_x - up_y * at_y).sum())
        (value_x,), (point_x,) = left.farthest(up_x[None])
        (value_y,), (point_y,) = right.farthest(up_y[None])
        best = min(best, constant + float(value_x + value_y))
        attained = max(attained, float(terms(point_x, point_y).sum()))
    return max(best, attained), attained


def awrf_bounds(exposure: MassSet, target: MassSet, log_base: float = 2.0) -> Bound:
    """Bounds of AWRF; the whole range where nothing may be exposed or nothing wanted."""
    worst = 1.0 - math.log(2.0) / math.log(log_base)
    if exposure.may_be_empty or target.may_be_empty:
        return Bound(min(0.0, worst), 1.0)
    found = divergence_bounds(exposure, target)
    low, high = (1.0 - value / math.log(log_base) for value in (found.high, found.low))
    return Bound(max(low, worst), min(high, 1.0), found.is_exact)


def loss_bounds(exposure: MassSet, target: MassSet) -> Bound:
    """Bounds of EE-L, the squared distance of exposure from target."""
    return divergence_bounds(exposure, target, square_terms)


def gain_bounds(gains: Floats, gained: float, n_relevant: int, n_others: int, ideal: Floats) -> tuple[float, float]:
    """The smallest and the largest nDCG; exact.

    `gains` are those that each unjudged item would add if it were relevant, `n_others` the unjudged items that are not
    ranked, `ideal` the gain of an ideal ranking of 0, 1, 2 … relevant items. Of the sets of as many relevant items, one
    with the smallest or the largest gains is the worst or the best.
    """
    ordered = np.concatenate([[0.0], np.cumsum(np.sort(gains))])
    reverse = np.concatenate([[0.0], np.cumsum(np.sort(gains)[::-1])])
    n = n_relevant + np.arange(len(ordered))
    last = len(ideal) - 1
    worst, best = ideal[np.minimum(n + n_others, last)], ideal[np.minimum(n, last)]
    low = np.divide(gained + ordered, worst, out=np.zeros(len(n)), where=worst > 0.0)
    high = np.divide(gained + reverse, best, out=np.zeros(len(n)), where=best > 0.0)
    return float(low.min()), float(high.max())
