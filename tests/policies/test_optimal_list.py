"""The parts of Task 1's solver on topics small enough to look at every ranking."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from evenrank.core.exposure import discounts
from evenrank.core.rng import derive
from evenrank.policies.optimal import Optimal, OptimalList
from evenrank.policies.optimal.bounds import AssignmentBlock, BandBounds, lower_bounds, prices_at
from evenrank.policies.optimal.compound import CompoundProblem, divergence_by_group
from evenrank.policies.optimal.exchange import best_improved, estimate_exchanges, improve
from evenrank.policies.optimal.list import list_problem
from evenrank.policies.optimal.permutohedron import Mixture, best_ranking
from evenrank.policies.optimal.relaxation import MAX_RELAXATIONS, Tangent, solve_bands, thorough_effort
from evenrank.policies.policy import Request

from .made_up import make_candidates, target_of
from .small import pages, wanting
from .test_optimal import THREE
from .test_optimal_bounds import tiny_topic


def tiny_problem(seed: int, unknown: float, fairness: float, log_base: float = 2.0) -> CompoundProblem:
    """Rankings of 4 out of 7 pages."""
    return list_problem(OptimalList(fairness=fairness, log_base=log_base), *tiny_topic(seed, 7, unknown), 4)


def any_tangent(rng: np.random.Generator, n_groups: int) -> Tangent:
    """Prices that no relaxation would come up with."""
    return Tangent(
        total=1.0,
        slope=rng.normal(0.0, 0.5, n_groups),
        rate=float(rng.gamma(1.0, 0.3)) + 1e-3,
        total_price=float(rng.normal(0.0, 0.2)),
    )


@hypothesis_settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    unknown=st.sampled_from([0.0, 0.5]),
    fairness=st.sampled_from([0.5, 1.0, 3.0]),
    log_base=st.sampled_from([2.0, float(np.e)]),
)
def test_whatever_the_prices_no_ranking_exceeds_the_bound_of_its_band(
    seed: int, unknown: float, fairness: float, log_base: float
) -> None:
    problem = tiny_problem(seed, unknown, fairness, log_base)
    if not len(problem.target):
        return
    rng = np.random.default_rng(seed)
    first, second = any_tangent(rng, len(problem.target)), any_tangent(rng, len(problem.target))
    bounds = BandBounds.of(problem)
    bounds.learn(first)
    bounds.learn_between(first, second, 4)
    lower_bounds(bounds, [first, second], 0.0)
    for ranking in permutations(range(7), 4):
        total = float(problem.outcome(np.array(ranking))[:-1].sum())
        if total > 0.0:
            band = np.clip(np.searchsorted(bounds.ends, total) - 1, 0, len(bounds.bounds) - 1)
            near = bounds.bounds[max(band - 1, 0) : band + 2].max()  # a total may lie where two bands meet
            assert problem.score(np.array(ranking)) <= near + 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_the_assignment_is_the_best_ranking_and_costs_no_more_than_the_divergence(seed: int) -> None:
    """Rank by rank the cost of groups never exceeds total · JSD, whatever the total up to that of the block."""
    problem, rng = tiny_problem(seed, 0.3, 1.0), np.random.default_rng(seed)
    tangent, by_rank = any_tangent(rng, len(problem.target)), rng.random(len(problem.target)) < 0.7
    most = float(problem.discounts.sum())
    value, pages = AssignmentBlock(problem, most).assign(tangent, by_rank)
    nothing = divergence_by_group(np.zeros_like(problem.target), problem.target)
    values = []
    for ranking in permutations(range(7), 4):
        outcome = problem.outcome(np.array(ranking))
        total, rows = outcome[:-1].sum(), problem.rows[problem.page_type[list(ranking)]]
        costs = most * (divergence_by_group(problem.discounts[:, None] * rows / most, problem.target) - nothing)
        values.append(outcome[:-1] @ np.where(by_rank, tangent.total_price, tangent.price) + outcome[-1])
        values[-1] -= tangent.rate * problem.unit * costs[:, by_rank].sum()
        if total > 0.0:
            true = total * (divergence_by_group(outcome[:-1] / total, problem.target) - nothing)
            assert (costs.sum(axis=0) <= true + 1e-9).all()
    assert value == pytest.approx(max(values))
    assert values[list(permutations(range(7), 4)).index(tuple(pages.tolist()))] == pytest.approx(value)


def test_prices_at_a_total_are_those_of_its_neighbours() -> None:
    rng = np.random.default_rng(2)
    low, middle, high = (replace(any_tangent(rng, 3), total=total) for total in (1.0, 2.0, 4.0))
    tangents = [middle, high, low]
    assert prices_at(tangents, 0.5) is low
    assert prices_at(tangents, 9.0) is high
    assert prices_at(tangents, 2.0).price == pytest.approx(middle.price)
    assert prices_at(tangents, 3.0).price == pytest.approx(0.5 * (middle.price + high.price))


def test_bands_below_a_known_score_are_left_alone() -> None:
    problem = tiny_problem(3, 0.4, 1.0)
    tangent = any_tangent(np.random.default_rng(3), len(problem.target))
    free, floored = BandBounds.of(problem), BandBounds.of(problem, floor=0.7)
    free.learn(tangent)
    floored.learn(tangent)
    assert np.array_equal(np.maximum(free.bounds, 0.7), np.maximum(floored.bounds, 0.7))
    assert (free.bounds <= floored.bounds).all()


def test_prices_on_the_way_from_one_tangent_to_another() -> None:
    rng = np.random.default_rng(1)
    first, second = any_tangent(rng, 3), any_tangent(rng, 3)
    assert first.towards(second, 0.0).price == pytest.approx(first.price)
    assert first.towards(second, 1.0).price == pytest.approx(second.price)
    assert first.towards(second, 0.25).price == pytest.approx(0.75 * first.price + 0.25 * second.price)


@pytest.mark.parametrize("length", [20, 300])
@pytest.mark.parametrize("fairness", [0.1, 1.0, 30.0])
def test_relaxations_keep_to_their_budget(length: int, fairness: float) -> None:
    for seed in range(4):
        candidates = make_candidates(600, seed)
        target = target_of(candidates, Request(1, 1, length))
        problem = list_problem(OptimalList(fairness=fairness), candidates, target, length)
        ranking = best_ranking(problem.relevance, length)
        effort = thorough_effort(problem, 1e-5, 100)
        solved, bounds = solve_bands(problem, Mixture.of(ranking, problem.outcome(ranking)), effort, floor=0.0)
        assert sum(relaxation.n_iterations for relaxation in solved) <= effort.budget
        assert len(solved) < MAX_RELAXATIONS
        assert problem.score(ranking) <= bounds.highest()[1]


@pytest.mark.parametrize("seed", range(6))
def test_local_search_ends_where_no_substitution_and_no_swap_helps(seed: int) -> None:
    candidates = make_candidates(40, seed)
    problem = list_problem(OptimalList(), candidates, target_of(candidates, Request(1, 1, 8)), 8)
    starts = np.array([derive(seed, number).permutation(40)[:8] for number in range(3)])
    ranking = best_improved(problem, starts)
    score = problem.score(ranking)
    assert len(set(ranking.tolist())) == 8
    assert score > max(problem.score(start) for start in starts)
    for rank in range(8):
        for page in range(40):
            other = ranking.copy()
            other[ranking == page] = ranking[rank]
            other[rank] = page
            assert problem.score(other) <= score + 1e-9


def test_pages_of_few_groups_are_not_multiplied_by_all() -> None:
    """A page in three of 300 groups: the memory for estimates holds no number for each page and group."""
    rng = np.random.default_rng(5)
    rows = np.zeros((2000, 300))
    for row in rows:
        row[rng.choice(300, 3, replace=False)] = 1 / 3
    target = rng.dirichlet(np.ones(300))
    problem = CompoundProblem.of(rows, np.arange(2000), rng.random(2000), target, discounts(6))
    ranking = np.arange(6)
    places = np.column_stack([rows, problem.relevance])[None]
    weights = np.append(problem.discounts, np.zeros(1994))[None]
    outcome = problem.outcome(ranking)[None]
    assert problem.least_exposure.all()  # looked up once for each problem
    tracemalloc.start()
    estimate_exchanges(problem, places, outcome, weights, 6)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < rows.nbytes / 4


def test_estimates_are_exact_where_they_say_so() -> None:
    """One group per page, all counted: entering pages of other groups are estimated to the first order of the log."""
    rng = np.random.default_rng(4)
    candidates = pages(rng.integers(1, 3, 30).tolist(), rng.random(30).tolist())
    problem = list_problem(OptimalList(), candidates, wanting(0.3, 0.7), 6)
    ranking, unused = np.arange(6), np.array([10, 11, 12, 13])
    effects = np.column_stack([problem.rows[problem.page_type], problem.relevance])
    outcome = problem.outcome(ranking)
    weights = np.append(problem.discounts, np.zeros(len(unused)))[None]
    places = effects[np.append(ranking, unused)][None]
    estimates = estimate_exchanges(problem, places, outcome[None], weights, 6)[0]
    awrf = 1.0 - problem.divergence(outcome)
    for rank in range(6):
        for place, page in enumerate(unused, 6):
            if problem.page_type[ranking[rank]] != problem.page_type[page]:
                after = problem.outcome(np.where(ranking == ranking[rank], page, ranking))
                fairer = (problem.divergence(outcome) - problem.divergence(after)) / awrf
                assert estimates[rank, place] == pytest.approx((after[-1] - outcome[-1]) / outcome[-1] + fairer)


def test_pages_of_a_type_can_run_out() -> None:
    """All pages are in the ranking: nothing can enter, and no page is shown twice."""
    problem = tiny_problem(5, 0.0, 1.0)
    whole = replace(problem, discounts=discounts(7))
    ranking = best_improved(whole, np.array([np.arange(7), np.arange(7)[::-1]]))
    assert sorted(ranking.tolist()) == list(range(7))
    assert whole.score(ranking) == pytest.approx(
        max(whole.score(np.array(r)) for r in permutations(range(7))), rel=0.01
    )


def test_assignments_make_the_bound_tighter_where_many_groups_have_a_small_target(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    candidates = make_candidates(400, 3, THREE)
    target, request = target_of(candidates, Request(1, 1, 20), THREE), Request(1, 1, 20)
    thorough = Optimal(proof="thorough")
    settled = thorough.rank(candidates, target, request, derive(1))
    monkeypatch.setattr("evenrank.policies.optimal.list.SETTLED_RANKS", 0)
    plain = thorough.rank(candidates, target, request, derive(1))
    assert np.array_equal(settled.positions, plain.positions)
    assert settled.certificate["gap"] < 0.9 * plain.certificate["gap"]


def test_long_rankings_are_searched_where_most_is_to_gain() -> None:
    """Two pages far apart in a long list are in each other's place: the search finds them."""
    candidates = pages([1, 2] * 150, np.linspace(0.9, 0.1, 300))
    problem = list_problem(OptimalList(fairness=0.0), candidates, wanting(0.5, 0.5), 200)
    ranking = np.arange(200)
    ranking[[20, 150]] = ranking[[150, 20]]
    assert improve(problem, ranking[None], 200, 24)[0].tolist() == list(range(200))


def test_the_ranks_below_a_head_know_what_it_gives() -> None:
    problem = tiny_problem(4, 0.2, 1.0)
    ranking = np.array([3, 1, 0, 5])
    assert problem.below(ranking[:2]).outcome(ranking[2:]) == pytest.approx(problem.outcome(ranking))
