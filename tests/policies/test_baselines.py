"""The field's baselines: worked examples, and what each of them guarantees."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import binom

from evenrank.core.exposure import discounts
from evenrank.core.rng import derive
from evenrank.errors import EvenrankError
from evenrank.policies.deficit import Swap
from evenrank.policies.exposure_lp import ExposureLP
from evenrank.policies.mixtures import BestOf, Filter
from evenrank.policies.optimal import OptimalList
from evenrank.policies.optimal.list import list_problem
from evenrank.policies.policy import Request
from evenrank.policies.registry import make_policy
from evenrank.policies.relevance import EpsilonGreedy, Relevance
from evenrank.policies.rerankers import (
    DetConstSort,
    FaIr,
    adjusted_significance,
    constrained_sort,
    failure_probability,
    least_protected,
)
from evenrank.policies.sequences import PlackettLuce

from .made_up import make_candidates, target_of
from .small import LEFT, RIGHT, pages, wanting

TASK1, TASK2 = Request(1, 1, 10), Request(2, 100, 10)


def test_the_table_of_fa_ir_as_published() -> None:
    """Table 2 of the paper: minimum numbers of protected elements for p = 0.5 and α = 0.1, ranks 1 to 12."""
    assert least_protected(12, 0.5, 0.1).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4]


def test_every_prefix_of_fa_ir_passes_its_test() -> None:
    candidates = pages([LEFT] * 30 + [RIGHT] * 30, np.linspace(0.9, 0.1, 60))
    ranking = FaIr().rank(candidates, wanting(0.5, 0.5), Request(1, 1, 20), derive(1)).positions[0]
    n_right = np.cumsum(candidates.alignment.page_type[ranking] == RIGHT)
    assert (n_right >= binom.ppf(0.1, np.arange(1, 21), 0.5)).all()
    assert (np.diff(candidates.relevance[ranking[candidates.alignment.page_type[ranking] == LEFT]]) < 0).all()
    with pytest.raises(EvenrankError, match="significance is 1"):
        FaIr(significance=1.0)


def test_a_fair_process_fails_as_often_as_it_was_worked_out() -> None:
    """Minima 0, 1, 1: it fails when neither of the first two pages is protected."""
    assert failure_probability(np.array([0, 1, 1]), 0.5) == pytest.approx(0.25)
    assert failure_probability(np.array([0, 1, 2]), 0.3) == pytest.approx(0.7 * 0.7 + 2 * 0.3 * 0.7 * 0.7)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.7])
def test_the_adjusted_significance_is_the_largest_that_holds_for_all_prefixes_together(share: float) -> None:
    """All 1,024 sequences of ten coins are looked at."""
    coins = np.array(list(product((0, 1), repeat=10)))
    chance = np.prod(np.where(coins, share, 1.0 - share), axis=1)

    def fails(significance: float) -> float:
        least = binom.ppf(significance, np.arange(1, 11), share)
        return float(chance[(np.cumsum(coins, axis=1) < least).any(axis=1)].sum())

    found = adjusted_significance(10, share, 0.1)
    assert fails(found) <= 0.1 < fails(found + 1e-9)


def test_adjusted_fa_ir_moves_fewer_pages() -> None:
    candidates = pages([LEFT] * 30 + [RIGHT] * 30, np.linspace(0.9, 0.1, 60))
    request = Request(1, 1, 20)
    plain = FaIr().rank(candidates, wanting(0.5, 0.5), request, derive(1)).positions[0]
    adjusted = FaIr(adjusted=True).rank(candidates, wanting(0.5, 0.5), request, derive(1)).positions[0]
    n_right = [int((candidates.alignment.page_type[ranking] == RIGHT).sum()) for ranking in (plain, adjusted)]
    assert 0 < n_right[1] < n_right[0]


@hypothesis_settings(max_examples=40)
@given(st.integers(0, 1000), st.lists(st.floats(0.05, 1.0), min_size=2, max_size=4))
def test_every_prefix_of_det_const_sort_has_its_minimum_of_every_group(seed: int, raw: list[float]) -> None:
    rng, share = np.random.default_rng(seed), np.array(raw) / sum(raw)
    relevance = np.sort(rng.random(200))[::-1]
    group = np.repeat(np.arange(len(share)), 200 // len(share) + 1)[:200]
    rng.shuffle(group)
    ranking = np.array(constrained_sort(relevance, group, share, 30))
    assert len(set(ranking.tolist())) == 30
    for k in range(1, 31):
        assert (np.bincount(group[ranking[:k]], minlength=len(share)) >= np.floor(share * k + 1e-9)).all()


def test_det_const_sort_fills_up_when_a_group_runs_out() -> None:
    candidates = pages([LEFT] * 9 + [RIGHT], np.linspace(0.9, 0.1, 10))
    ranking = DetConstSort().rank(candidates, wanting(0.5, 0.5), TASK1, derive(1)).positions[0]
    assert sorted(ranking.tolist()) == list(range(10))
    assert RIGHT in candidates.alignment.page_type[ranking[:3]]


def test_epsilon_is_the_share_of_random_pages() -> None:
    candidates = pages([LEFT] * 200, np.linspace(0.9, 0.1, 200))
    still = EpsilonGreedy(epsilon=0.0).rank(candidates, wanting(1.0, 0.0), TASK2, derive(1)).positions
    assert (still == np.arange(10)).all()
    moved = EpsilonGreedy(epsilon=0.3).rank(candidates, wanting(1.0, 0.0), TASK2, derive(1)).positions
    assert np.mean(moved >= 10) == pytest.approx(0.3, abs=0.06)
    with pytest.raises(EvenrankError, match="epsilon is 2"):
        EpsilonGreedy(epsilon=2.0)


@pytest.mark.parametrize("seed", range(5))
def test_the_linear_program_is_that_over_pages_and_ranks(seed: int) -> None:
    """The least cost is that of the published program, which has a variable for each page and rank."""
    rng = np.random.default_rng(seed)
    n, length, penalty = 14, 5, float(rng.choice([0.3, 2.0, 10.0]))
    candidates = pages(rng.choice([LEFT, RIGHT], n).tolist(), rng.random(n))
    target = wanting(0.3, 0.7)
    request = Request(2, 100, length)
    found = ExposureLP(penalty=penalty).rank(candidates, target, request, derive(1))
    weights, utility, groups = discounts(length), candidates.utility(2), candidates.alignment.dense()
    n_groups = groups.shape[1]
    cells = np.einsum("pg,r->gpr", groups, weights).reshape(n_groups, -1)
    slack = np.hstack([np.eye(n_groups), -np.eye(n_groups)])
    no_slack = np.zeros((max(n, length), 2 * n_groups))
    published = linprog(
        np.append(-np.outer(utility, weights).reshape(-1), np.full(2 * n_groups, penalty)),
        A_ub=np.hstack([np.kron(np.eye(n), np.ones((1, length))), no_slack[:n]]),
        b_ub=np.ones(n),
        A_eq=np.vstack(
            [np.hstack([np.kron(np.ones((1, n)), np.eye(length)), no_slack[:length]]), np.hstack([cells, slack])]
        ),
        b_eq=np.append(np.ones(length), target.values * weights.sum()),
    )
    assert published.fun - 2e-4 * max(1.0, abs(published.fun)) <= found.certificate["lower_bound"]
    assert found.certificate["lower_bound"] <= published.fun + 1e-9
    assert found.certificate["gap"] < 0.2


def test_the_linear_program_meets_a_target_that_can_be_met() -> None:
    candidates = pages([LEFT] * 20 + [RIGHT] * 20, np.linspace(0.9, 0.5, 40))
    found = ExposureLP().rank(candidates, wanting(0.4, 0.6), TASK2, derive(1))
    weights = discounts(10)
    exposure = np.mean([weights @ candidates.alignment.dense()[row] for row in found.positions], axis=0)
    assert exposure / weights.sum() == pytest.approx([0.0, 0.4, 0.6], abs=0.02)
    assert found.certificate["n_permutations"] <= 4  # one more than there are groups


@pytest.mark.parametrize("share, penalty", [(0.4, 10.0), (1.0, 0.2), (0.4, 0.0)])
def test_the_linear_program_records_what_it_proves(share: float, penalty: float) -> None:
    """Its rankings cost what the record says, and hardly more than the program's least cost."""
    candidates = pages([LEFT] * 20 + [RIGHT] * 20, np.linspace(0.9, 0.5, 40))
    target = wanting(share, 1.0 - share)
    found = ExposureLP(penalty=penalty).rank(candidates, target, TASK2, derive(1))
    weights, utility = discounts(10), candidates.utility(2)
    shown = np.mean([weights @ candidates.alignment.dense()[row] for row in found.positions], axis=0)
    missed = float(np.abs(target.values * weights.sum() - shown).sum())
    worth = float(np.mean([weights @ utility[row] for row in found.positions]))
    proven = found.certificate
    assert proven["missed_exposure"] == pytest.approx(missed, abs=1e-9)
    assert proven["objective"] == pytest.approx(penalty * missed - worth)
    assert 0.0 <= proven["gap"] == pytest.approx(proven["objective"] - proven["lower_bound"], abs=1e-9)
    assert proven["gap"] < 0.02 * abs(proven["objective"])
    anything = Relevance().rank(candidates, target, TASK2, derive(1)).positions
    of_relevance = float(np.mean([weights @ utility[row] for row in anything]))
    off = np.abs(target.values * weights.sum() - weights @ candidates.alignment.dense()[anything[0]]).sum()
    assert proven["lower_bound"] <= penalty * off - of_relevance + 1e-9


def test_best_of_takes_the_better_list() -> None:
    candidates = make_candidates(300)
    target = target_of(candidates, TASK1)
    best = BestOf(("relevance", "swap")).rank(candidates, target, TASK1, derive(1)).positions
    assert np.array_equal(best, Swap().rank(candidates, target, TASK1, derive(1)).positions)
    assert not np.array_equal(best, Relevance().rank(candidates, target, TASK1, derive(1)).positions)


def test_best_of_chooses_topic_by_topic() -> None:
    """The list that is expected to score highest, which is one ranker's on some topics and the other's on others."""
    rankers, chosen = ("fa-ir", "fusion"), []
    for seed in range(8):
        candidates = make_candidates(400, seed)
        target = target_of(candidates, TASK1)
        best = BestOf(rankers).rank(candidates, target, TASK1, derive(1)).positions[0]
        lists = [make_policy(name, 1).rank(candidates, target, TASK1, derive(1)).positions[0] for name in rankers]
        problem = list_problem(OptimalList(), candidates, target, len(best))
        scores = [problem.score(found) for found in lists]
        chosen.append(int(np.argmax(scores)))
        assert np.array_equal(best, lists[chosen[-1]])
    assert set(chosen) == {0, 1}


def test_filter_filters_by_default() -> None:
    candidates = pages([LEFT] * 1600 + [RIGHT] * 400, np.linspace(0.9, 0.1, 2000))
    request, target = Request(1, 1, 1000), wanting(0.5, 0.5)
    kept = Filter().rank(candidates, target, request, derive(1)).positions
    assert kept.max() < 1500  # candidates come by falling relevance
    assert Swap().rank(candidates, target, request, derive(1)).positions.max() >= 1600


def test_balance_of_plackett_luce_is_the_share_of_ranks_that_ask_for_groups() -> None:
    """All relevant pages are on the left, all of the target is on the right."""
    candidates = pages([LEFT] * 200 + [RIGHT] * 200, [0.9] * 200 + [1e-9] * 200)
    for balance in (0.0, 0.5, 1.0):
        found = PlackettLuce(balance=balance).rank(candidates, wanting(0.0, 1.0), TASK2, derive(1)).positions
        assert np.mean(found >= 200) == pytest.approx(balance, abs=0.06)
    with pytest.raises(EvenrankError, match="balance is -1"):
        PlackettLuce(balance=-1.0)
