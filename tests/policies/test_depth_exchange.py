"""Exchanges in a list for all depths at once, against every single exchange that there is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from evenrank.exposure import discounts
from evenrank.policies.optimisation import depth_exchange
from evenrank.policies.optimisation.compound import CompoundProblem
from evenrank.policies.optimisation.depth_exchange import Depth, improve_at_all_depths

DEPTHS, WEIGHTS = (3, 6, 12), (0.3, 0.3, 0.4)


def problem_of(seed: int, n_pages: int = 30, n_ranks: int = 12) -> CompoundProblem:
    """Pages of one or two of four groups."""
    rng = np.random.default_rng(seed)
    rows = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0.5, 0.5, 0, 0]], np.float64)
    target, relevance = rng.dirichlet(np.ones(4)), rng.random(n_pages)
    return CompoundProblem.of(rows, rng.integers(0, len(rows), n_pages), relevance, target, discounts(n_ranks))


def depths_of(problem: CompoundProblem, power: float = 1.0, limit: int = 1000) -> list[Depth]:
    parts = zip(DEPTHS, WEIGHTS, strict=True)
    return [Depth(problem.at_depth(depth), weight, power, limit) for depth, weight in parts]


def worth(depths: list[Depth], start: np.ndarray, ranking: np.ndarray) -> float:
    """The weighted scores at `start`, each grown as relevance · AWRF^power has."""
    total = 0.0
    for depth in depths:
        relevance, awrf = (
            np.array([measured(order[: depth.n_ranks]) for order in (start, ranking)])
            for measured in (lambda head, p=depth.problem: p.outcome(head)[-1], depth.problem.awrf)
        )
        growth = relevance[1] / relevance[0] * (awrf[1] / awrf[0]) ** depth.power
        total += depth.weight * relevance[0] * awrf[0] * growth
    return total


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("power", [1.0, 3.0])
def test_no_single_exchange_is_left_that_helps(seed: int, power: float) -> None:
    problem = problem_of(seed)
    depths, start = depths_of(problem, power), np.arange(12)
    found = improve_at_all_depths(depths, start.copy())
    assert len(set(found.tolist())) == len(found) == 12
    best = worth(depths, start, found)
    assert best > worth(depths, start, start)
    unused = np.setdiff1d(np.arange(30), found)
    for above, below in combinations(range(12), 2):
        changed = found.copy()
        changed[[above, below]] = changed[[below, above]]
        assert worth(depths, start, changed) <= best * (1 + 1e-5)
    for rank in range(12):
        for page in unused:
            changed = found.copy()
            changed[rank] = page
            assert worth(depths, start, changed) <= best * (1 + 1e-5)


def test_pages_beyond_the_limit_of_a_depth_stay_below_it() -> None:
    """Only the six most relevant pages may be among the first three, and the first twelve among the first six."""
    problem = problem_of(3)
    order = np.argsort(-problem.relevance)
    rank_of = np.argsort(order)
    depths = [
        Depth(depth.problem, depth.weight, 20.0, limit)
        for depth, limit in zip(depths_of(problem), (6, 12, 30), strict=True)
    ]
    free = improve_at_all_depths(depths_of(problem, 20.0), order[:12].copy())
    assert rank_of[free[:3]].max() >= 6
    found = improve_at_all_depths(depths, order[:12].copy())
    assert rank_of[found[:3]].max() < 6
    assert rank_of[found[:6]].max() < 12


@pytest.mark.parametrize("power", [1e-6, 1e9])
def test_any_weight_of_fairness_can_be_counted(power: float) -> None:
    problem = problem_of(5)
    start = np.argsort(-problem.relevance)[:12]
    with np.errstate(invalid="raise", divide="raise"):
        found = improve_at_all_depths(depths_of(problem, power), start.copy())
    assert len(set(found.tolist())) == 12
    assert problem.awrf(found) >= problem.awrf(start) - 1e-9
    if power < 1.0:
        assert np.array_equal(found, start)


def test_an_end_that_nobody_reads_to_is_still_kept_in_order() -> None:
    """Ranks 7 to 12 count for nothing, but of two lists with the same head the one with the better end is made."""
    problem = problem_of(8)
    by_relevance = np.argsort(-problem.relevance)
    head_only = [
        Depth(d.problem, weight, 1.0, 30) for d, weight in zip(depths_of(problem), (0.5, 0.5, 0.0), strict=True)
    ]
    shuffled = np.concatenate([by_relevance[:6], by_relevance[11:5:-1]])
    found = improve_at_all_depths(head_only, shuffled.copy())
    assert problem.score(found) > problem.score(shuffled)


def test_equal_entries_are_counted() -> None:
    assert depth_exchange._n_equal_before(np.array([1, 1, 1, 4, 7, 7])).tolist() == [0, 1, 2, 0, 0, 1]
    assert depth_exchange._n_equal_before(np.array([], np.intp)).tolist() == []
