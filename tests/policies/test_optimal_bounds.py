"""The certificates of `optimal` against brute force: all rankings, and all mixtures of all rankings."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.distance import jensenshannon

import evenrank
from evenrank.core.alignment import Alignment
from evenrank.core.exposure import discounts
from evenrank.core.rng import derive
from evenrank.core.target import EstimatedTarget
from evenrank.policies.optimal import Optimal, OptimalList, OptimalSequence, sequence
from evenrank.policies.optimal.sequence import WORTH_OF_RELEVANCE
from evenrank.policies.optimal.solver import ExposureProblem, least_distance
from evenrank.policies.policy import Candidates, Request

from .made_up import GEOGRAPHY_AND_GENDER

N_GROUPS = 4
RNG = derive(1)


def tiny_topic(seed: int, n_pages: int, unknown: float) -> tuple[Candidates, EstimatedTarget]:
    """Few pages over four groups: most in one group, some in two, some in none but the fully unknown one."""
    rng = np.random.default_rng(seed)
    rows = np.vstack([np.eye(N_GROUPS), (np.eye(N_GROUPS)[1] + np.eye(N_GROUPS)[2:]) / 2.0, np.zeros(N_GROUPS)])
    page_type = rng.integers(1, len(rows), n_pages)
    page_type[rng.random(n_pages) < unknown] = 0
    target = np.append(0.0, rng.dirichlet([0.7] * (N_GROUPS - 1)))
    candidates = Candidates(
        topic_id=seed,
        page_ids=np.arange(n_pages, dtype=np.int32),
        relevance=rng.beta(0.8, 1.5, n_pages),
        scores=np.zeros(n_pages),
        work_needed=rng.random(n_pages),
        quality_class=np.zeros(n_pages, np.uint8),
        alignment=Alignment(rows, page_type),
    )
    return candidates, EstimatedTarget(seed, GEOGRAPHY_AND_GENDER, target)


def true_score(candidates: Candidates, target: EstimatedTarget, ranking: tuple[int, ...], policy: OptimalList) -> float:
    """Relevance · AWRF^fairness of a ranking, in units of the most relevant one, by other means than the policy's."""
    weights = discounts(len(ranking))
    most = np.sort(candidates.relevance)[::-1][: len(ranking)] @ weights
    exposure = weights @ candidates.alignment.dense()[list(ranking)]
    if target.values[0] == 0.0:
        exposure[0] = 0.0
    awrf = 1.0 - jensenshannon(exposure, target.values, base=policy.log_base) ** 2 if exposure.any() else 0.0
    return float(weights @ candidates.relevance[list(ranking)] / most * max(awrf, 0.0) ** policy.fairness)


@hypothesis_settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_pages=st.integers(1, 6),
    length=st.integers(1, 6),
    unknown=st.sampled_from([0.0, 0.4]),
    fairness=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    log_base=st.sampled_from([2.0, float(np.e)]),
)
def test_no_ranking_exceeds_the_upper_bound(
    seed: int, n_pages: int, length: int, unknown: float, fairness: float, log_base: float
) -> None:
    candidates, target = tiny_topic(seed, n_pages, unknown)
    policy = OptimalList(fairness=fairness, log_base=log_base)
    found = policy.rank(candidates, target, Request(1, 1, length), RNG)
    every = list(permutations(range(n_pages), min(length, n_pages)))
    best = max(true_score(candidates, target, ranking, policy) for ranking in every)
    mine = true_score(candidates, target, tuple(found.positions[0]), policy)
    certificate = found.certificate
    assert best <= certificate["upper_bound"] + 1e-9
    assert mine == pytest.approx(certificate["score"], abs=1e-9)
    assert 0.0 <= 1.0 - mine / max(best, 1e-12) <= certificate["gap"] + 1e-9 or best == 0.0


def test_seven_pages_all_rankings() -> None:
    """The list found is the best of all 5040 in most topics, and always within the gap it states."""
    losses = []
    for seed in range(12):
        candidates, target = tiny_topic(seed, 7, 0.2)
        policy = OptimalList()
        found = policy.rank(candidates, target, Request(1, 1, 7), RNG)
        best = max(true_score(candidates, target, ranking, policy) for ranking in permutations(range(7)))
        losses.append(1.0 - found.certificate["score"] / best)
        assert losses[-1] <= found.certificate["gap"] + 1e-9
    assert np.mean(losses) < 0.002
    assert np.median(losses) < 1e-9


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("relevant_only", [False, True])
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_no_mixture_of_rankings_is_below_the_lower_bound(
    seed: int, relevant_only: bool, spread: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quadratic program over the distributions on all rankings of 3 out of 6 pages agrees with the certificate."""
    candidates, target = tiny_topic(seed, 6, 0.2)
    monkeypatch.setattr(sequence, "TOLERANCE", 1e-8)
    policy = OptimalSequence(fairness=0.2, relevant_only=relevant_only, spread=spread, include_above=2.0)
    found = policy.rank(candidates, target, Request(2, 2000, 3), RNG)
    weights, wanted = discounts(3), target.values * discounts(3).sum()
    counted = candidates.relevance if relevant_only else np.ones(6)
    reward = candidates.relevance * (0.75 + 0.25 * candidates.work_needed)
    worth = WORTH_OF_RELEVANCE * weights.sum() ** 2 / 0.2**2 / (np.sort(reward)[::-1][:3] @ weights)
    fair = candidates.relevance / candidates.relevance.sum() * weights.sum()  # all pages are of one quality class
    every = np.array(list(permutations(range(6), 3)))
    of_pages = np.zeros((len(every), 6))
    np.put_along_axis(of_pages, every, np.broadcast_to(weights, every.shape), axis=1)
    groups = candidates.alignment.dense() * counted[:, None]

    def objective(shares: np.ndarray) -> tuple[float, np.ndarray]:
        exposure = shares @ of_pages
        off, apart = exposure @ groups - wanted, exposure - fair
        slope = 2.0 * groups @ off + 2.0 * spread * apart - worth * reward
        return float(off @ off + spread * apart @ apart - worth * reward @ exposure), of_pages @ slope

    solved = minimize(
        objective,
        np.full(len(every), 1.0 / len(every)),
        jac=True,
        bounds=[(0.0, 1.0)] * len(every),
        constraints=[{"type": "eq", "fun": lambda s: s.sum() - 1.0, "jac": lambda s: np.ones_like(s)}],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    certificate = found.certificate
    assert solved.fun >= certificate["lower_bound"] - 1e-7
    assert certificate["objective"] <= solved.fun + certificate["gap"] + 1e-7
    assert certificate["objective"] == pytest.approx(solved.fun, abs=2e-3)
    # The certificate speaks of the rankings that were handed out.
    lookup = {tuple(ranking): index for index, ranking in enumerate(every.tolist())}
    shares = np.bincount([lookup[tuple(r)] for r in found.positions.tolist()], minlength=len(every)) / 2000
    assert objective(shares)[0] == pytest.approx(certificate["objective"], abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_no_mixture_is_nearer_to_the_target_than_the_bound_on_the_loss_alone(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EE-L_lower_bound holds for policies that do not care about relevance at all."""
    candidates, target = tiny_topic(seed, 6, 0.3)
    monkeypatch.setattr(sequence, "TOLERANCE", 1e-9)
    alone = Optimal(fairness=1e6, spread=0.0, include_above=2.0)
    plain = alone.rank(candidates, target, Request(2, 2000, 3), RNG).certificate
    traded = Optimal(fairness=0.3).rank(candidates, target, Request(2, 100, 3), RNG).certificate
    assert traded["EE-L_lower_bound"] <= plain["EE-L"] + 1e-6
    assert traded["EE-L"] >= plain["EE-L_lower_bound"] - 1e-9
    assert plain["EE-L"] - plain["EE-L_lower_bound"] < 5e-3


BOUNDS = {"objective": "lower_bound", "EE-L": "EE-L_lower_bound"}


@pytest.mark.parametrize("seed", range(20))
def test_at_defaults_no_free_run_goes_below_the_bounds(seed: int) -> None:
    """Restrictions leave out pages that a target asks for; the bounds are about all of them."""
    rng = np.random.default_rng(seed)
    candidates, target = tiny_topic(seed, int(rng.integers(20, 200)), 0.2)
    hardly = rng.random(len(candidates.alignment.rows)) ** 4
    candidates.relevance[:] *= hardly[candidates.alignment.page_type]
    request = Request(2, 100, int(rng.integers(3, 12)))
    proven = Optimal().rank(candidates, target, request, RNG).certificate
    free = Optimal(reach=0.0, keep_relevance=0.0).rank(candidates, target, request, RNG).certificate
    fairest = Optimal(reach=0.0, keep_relevance=0.0, spread=0.0, fairness=1e6)
    for measure, bound in BOUNDS.items():
        assert free[measure] >= proven[bound] - 1e-9
        assert free[bound] == pytest.approx(proven[bound], abs=0.05)
    least = fairest.rank(candidates, target, request, RNG).certificate
    assert least["EE-L"] >= proven["EE-L_lower_bound"] - 1e-9
    assert proven["EE-L"] >= proven["EE-L_restricted_lower_bound"] - 1e-9
    assert proven["EE-L_restricted_lower_bound"] >= proven["EE-L_lower_bound"]
    assert free["EE-L_restricted_lower_bound"] == free["EE-L_lower_bound"]


def test_the_bound_under_a_floor_of_relevance_is_what_mixtures_above_it_can_reach() -> None:
    """One page of the wanted group, which is hardly relevant: half of the exposure must go to the other one."""
    none, relevance = np.zeros(2), np.array([0.8, 0.2])
    problem = ExposureProblem(np.eye(2), np.array([0.0, 1.0]), none, none, none, np.ones(1))
    assert least_distance(problem) == pytest.approx(0.0, abs=1e-6)
    assert least_distance(problem, relevance, 0.2) == pytest.approx(0.0, abs=1e-6)
    # 0.8 x + 0.2 (1 - x) is at least 0.5 for x >= 1/2, so that each group misses a half
    assert least_distance(problem, relevance, 0.5) == pytest.approx(0.5, abs=0.01)
    assert least_distance(problem, relevance, 0.8) == pytest.approx(2.0, abs=0.02)


@pytest.mark.parametrize("seed", range(8))
def test_rerank_at_defaults_bounds_free_runs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    items = {"q": {f"i{n}": score for n, score in enumerate(rng.beta(0.5, 2.0, 40).tolist())}}
    groups = {f"i{n}": "ab"[int(rng.random() < 0.3)] for n in range(40)}
    proven = evenrank.rerank(items, groups, {"a": 0.3, "b": 0.7}, k=5, n_rankings=100).certificates["q"]
    free = {"reach": 0, "keep_relevance": 0, "fairness": 1e6}
    found = evenrank.rerank(items, groups, {"a": 0.3, "b": 0.7}, k=5, n_rankings=100, settings=free)
    assert found.certificates["q"]["EE-L"] >= proven["EE-L_lower_bound"] - 1e-9
