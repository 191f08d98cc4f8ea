"""Exchanges in a list for all depths at once, against every single exchange that there is."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from evenrank.core.exposure import discounts
from evenrank.policies.optimal import exchange as depth_exchange
from evenrank.policies.optimal.compound import CompoundProblem
from evenrank.policies.optimal.exchange import Depth, improve_at_all_depths

DEPTHS, WEIGHTS = (3, 6, 12), (0.3, 0.3, 0.4)


def problem_of(seed: int, n_pages: int = 30, n_ranks: int = 12) -> CompoundProblem:
    """Pages of one or two of four groups."""
    rng = np.random.default_rng(seed)
    rows = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0.5, 0.5, 0, 0]], np.float64)
    target, relevance = rng.dirichlet(np.ones(4)), rng.random(n_pages)
    return CompoundProblem.of(rows, rng.integers(0, len(rows), n_pages), relevance, target, discounts(n_ranks))


def depths_of(problem: CompoundProblem, fairness: float = 1.0) -> list[Depth]:
    parts = zip(DEPTHS, WEIGHTS, strict=True)
    return [Depth(replace(problem, fairness=fairness).at_depth(depth), weight) for depth, weight in parts]


def improved(depths: list[Depth], start: np.ndarray) -> np.ndarray:
    """The ranking after the search."""
    return improve_at_all_depths(depths, start.copy())


def worth(depths: list[Depth], start: np.ndarray, ranking: np.ndarray) -> float:
    """The weighted scores at `start`, each grown as relevance · AWRF^fairness has, or its root if that is above 1."""
    total = 0.0
    for depth in depths:
        relevance, awrf = (
            np.array([measured(order[: depth.n_ranks]) for order in (start, ranking)])
            for measured in (lambda head, p=depth.problem: p.outcome(head)[-1], depth.problem.awrf)
        )
        fairness = depth.problem.fairness
        growth = relevance[1] / relevance[0] * (awrf[1] / awrf[0]) ** fairness
        total += depth.weight * relevance[0] * awrf[0] * growth ** (1.0 / max(fairness, 1.0))
    return total


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("power", [1.0, 3.0])
def test_no_single_exchange_is_left_that_helps(seed: int, power: float) -> None:
    problem = problem_of(seed)
    depths, start = depths_of(problem, power), np.arange(12)
    found = improved(depths, start)
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


@pytest.mark.parametrize("most_types", [400, 3])
@pytest.mark.parametrize("seed", range(6))
def test_estimates_lead_to_what_evaluating_all_exchanges_does(
    seed: int, most_types: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty exchanges a step, chosen by their estimates from hundreds, end nearly where all of them do; the list that
    they start from has 0.13 to 0.75 of that."""
    problem = problem_of(seed, n_pages=60)
    depths, start = depths_of(problem, 2.0), np.arange(12)
    every = worth(depths, start, improved(depths, start))
    monkeypatch.setattr(depth_exchange, "N_EVALUATED", 20)
    monkeypatch.setattr(depth_exchange, "MOST_TYPES", most_types)
    found = worth(depths, start, improved(depths, start))
    assert found > 0.95 * every > worth(depths, start, start)


def test_pairs_are_not_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of a thousand ranks has 775,000 pairs of places; sorting the types of all took a third of each step."""
    n_sorted, unique = [], np.unique

    def counted(values: np.ndarray, **options: bool) -> object:
        n_sorted.append(np.size(values))
        return unique(values, **options)

    monkeypatch.setattr(depth_exchange.np, "unique", counted)
    monkeypatch.setattr(depth_exchange, "N_EVALUATED", 20)
    improved(depths_of(problem_of(1, n_pages=60), 2.0), np.arange(12))
    assert 0 < max(n_sorted) <= 60


def test_slopes_and_bends_are_derivatives_of_the_worth() -> None:
    """A tiny exchange adds what the slopes say; the rest is what the bends say, up to the third order."""
    problem = problem_of(2, n_pages=40)
    of_each = [np.flatnonzero(problem.page_type == number)[:3] for number in range(4)]  # three pages of each group
    start = np.array(of_each).T.ravel()
    search = depth_exchange._Search(depths_of(problem), start)
    slope, curvature = search._slope_and_curvature()
    types = problem.page_type[search.places]
    upper, lower = np.array([0, 1, 2, 4]), np.array([7, 9, 20, 30])
    assert (search.exposure[-1] > 0.3).all()  # slopes of groups without exposure would be infinite
    before = search._worths(search.exposure, search.relevance)
    search.discounts *= 1e-4  # exchanges pass a tiny part of the exposure
    passed = search.discounts[:, upper] - search.discounts[:, lower]
    to_first_order = passed * (slope[:, lower] - slope[:, upper])
    gained = search._worths(*search._after(upper, lower)).T - before[:, None]
    assert gained[-1] == pytest.approx(to_first_order[-1], rel=0.01)
    bends = search._bends(curvature, types[upper], types[lower])
    rows = problem.rows[types[upper]] - problem.rows[types[lower]]
    assert bends == pytest.approx((curvature @ (rows**2).T), rel=1e-9)
    assert (bends >= 0.0).all()


def test_a_head_that_shows_no_group_is_worth_nothing() -> None:
    """The likeliest page is in no group; at depth 1 its AWRF is 0, and it must not come first."""
    rows = np.array([[0, 0], [1, 0], [0, 1]], np.float64)
    relevance, page_type = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 1e-6]), np.array([0, 1, 1, 1, 1, 2])
    problem = CompoundProblem.of(rows, page_type, relevance, np.array([0.3, 0.7]), discounts(4))
    depths = [Depth(problem.at_depth(depth), 0.5) for depth in (1, 4)]
    assert improved(depths, np.array([1, 0, 5, 2]))[0] != 0


@pytest.mark.parametrize("power", [1e-6, 1e9])
def test_any_weight_of_fairness_can_be_counted(power: float) -> None:
    problem = replace(problem_of(5), fairness=power)
    start = np.argsort(-problem.relevance)[:12]
    with np.errstate(invalid="raise", divide="raise", over="raise"):
        found = improved(depths_of(problem, power), start)
    assert len(set(found.tolist())) == 12
    assert problem.awrf(found) >= problem.awrf(start) - 1e-9
    if power < 1.0:
        assert np.array_equal(found, start)


def test_an_end_that_nobody_reads_to_is_still_kept_in_order() -> None:
    """Ranks 7 to 12 count for nothing, but of two lists with the same head the one with the better end is made."""
    problem = problem_of(8)
    by_relevance = np.argsort(-problem.relevance)
    head_only = [Depth(d.problem, weight) for d, weight in zip(depths_of(problem), (0.5, 0.5, 0.0), strict=True)]
    shuffled = np.concatenate([by_relevance[:6], by_relevance[11:5:-1]])
    found = improved(head_only, shuffled)
    assert problem.score(found) > problem.score(shuffled)


def test_equal_entries_are_counted() -> None:
    assert depth_exchange._n_equal_before(np.array([1, 1, 1, 4, 7, 7])).tolist() == [0, 1, 2, 0, 0, 1]
    assert depth_exchange._n_equal_before(np.array([], np.intp)).tolist() == []
