"""Task 1: what an exchange of two places of a ranking adds to the log score, estimated for all exchanges at once.

Places are the ranks that are searched, then unused pages, whose discount is 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenrank.policies.optimisation.compound import LEAST, CompoundProblem, shares
from evenrank.policies.optimisation.divergence import divergence_by_group


def drops(problem: CompoundProblem, n_ranks: int, n_places: int) -> NDArray[np.float64]:
    """Discount of each rank less that of each place; behind the ranks there are places of unused pages."""
    weights = np.zeros(n_places)
    weights[:n_ranks] = problem.discounts[:n_ranks]
    return np.asarray(weights[:n_ranks, None] - weights)


def estimates_of(
    problem: CompoundProblem, effects: NDArray[np.float64], outcomes: NDArray[np.float64], n_ranks: int
) -> NDArray[np.float64]:
    """About what the exchange of a rank and a place adds to the log score: ranking by rank by place.

    `effects` are those of a unit of exposure at each place. Exact up to the first order of the logarithm where an
    unused page enters, no group has both pages and the total exposure of the groups stays.
    """
    total = np.maximum(outcomes[:, :-1].sum(axis=1), LEAST)[:, None, None]
    awrf = np.maximum(1.0 - problem.divergence(outcomes), LEAST)[:, None, None]
    rate = problem.fairness * problem.unit / awrf
    share = shares(outcomes)[:, None]
    visible = np.maximum(share, problem.least_share(total))
    slope = 0.5 * np.log(2.0 * visible / (visible + problem.target))
    bend = 0.5 * problem.target / (visible * (visible + problem.target))
    drop = drops(problem, n_ranks, effects.shape[1])
    inside, unused = effects[:, :n_ranks, :-1], effects[:, n_ranks:, :-1]
    fairer = (
        _fairer_by_swap(inside, slope, bend, drop[:, :n_ranks] / total),
        _fairer_by_entry(problem.target, share, inside, unused, bend, problem.discounts[:n_ranks, None] / total),
    )
    in_groups = effects[..., :-1].sum(axis=-1) * (rate / total * (slope * share).sum(axis=2, keepdims=True))[:, 0]
    worth = effects[..., -1] / np.maximum(outcomes[:, -1:], LEAST) + in_groups
    return np.asarray(drop * (worth[:, None] - worth[:, :n_ranks, None]) + rate * np.concatenate(fairer, axis=2))


def _fairer_by_swap(
    inside: NDArray[np.float64], slope: NDArray[np.float64], bend: NDArray[np.float64], step: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Fall of the divergence, to the second order, when the first of two ranks gives the second a share `step`."""
    values, scaled = (inside * slope).sum(axis=2), inside * np.sqrt(bend)
    lengths = (scaled * scaled).sum(axis=2)
    distance = lengths[:, :, None] + lengths[:, None] - 2.0 * scaled @ scaled.transpose(0, 2, 1)
    return np.asarray(step * (values[:, :, None] - values[:, None]) - 0.5 * step**2 * distance)


def _fairer_by_entry(
    target: NDArray[np.float64],
    share: NDArray[np.float64],
    inside: NDArray[np.float64],
    unused: NDArray[np.float64],
    bend: NDArray[np.float64],
    step: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Fall of the divergence when an unused page takes the place of each rank, whose share is `step`."""
    now = divergence_by_group(share, target)
    fall = step**2 * ((inside * bend) @ unused.transpose(0, 2, 1))  # where both pages have a group in common
    for part in np.unique(unused[unused > 0.0]):
        more = now - divergence_by_group(share + part * step, target)
        less = now - divergence_by_group(np.maximum(share - part * step, 0.0), target)
        fall += more @ (unused == part).transpose(0, 2, 1) + (less * (inside == part)).sum(axis=2, keepdims=True)
    return np.asarray(fall)
