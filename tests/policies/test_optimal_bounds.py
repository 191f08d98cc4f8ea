"""The certificates of `optimal` against brute force: all rankings, and all mixtures of all rankings."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.distance import jensenshannon

from evenrank.core.alignment import Alignment
from evenrank.core.exposure import discounts
from evenrank.core.rng import derive
from evenrank.core.target import EstimatedTarget
from evenrank.policies.optimal import Optimal
from evenrank.policies.optimal_sequence import WORTH_OF_RELEVANCE
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


def true_score(candidates: Candidates, target: EstimatedTarget, ranking: tuple[int, ...], policy: Optimal) -> float:
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
    policy = Optimal(fairness=fairness, log_base=log_base)
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
        policy = Optimal()
        found = policy.rank(candidates, target, Request(1, 1, 7), RNG)
        best = max(true_score(candidates, target, ranking, policy) for ranking in permutations(range(7)))
        losses.append(1.0 - found.certificate["score"] / best)
        assert losses[-1] <= found.certificate["gap"] + 1e-9
    assert np.mean(losses) < 0.002
    assert np.median(losses) < 1e-9


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("relevant_only", [False, True])
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_no_mixture_of_rankings_is_below_the_lower_bound(seed: int, relevant_only: bool, spread: float) -> None:
    """A quadratic program over the distributions on all rankings of 3 out of 6 pages agrees with the certificate."""
    candidates, target = tiny_topic(seed, 6, 0.2)
    policy = Optimal(fairness=0.2, work_weight=0.3, relevant_only=relevant_only, spread=spread, tolerance=1e-8)
    policy = replace(policy, include_above=2.0)
    found = policy.rank(candidates, target, Request(2, 2000, 3), RNG)
    weights, wanted = discounts(3), target.values * discounts(3).sum()
    counted = candidates.relevance if relevant_only else np.ones(6)
    reward = candidates.relevance * (0.7 + 0.3 * candidates.work_needed)
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
def test_no_mixture_is_nearer_to_the_target_than_the_bound_on_the_loss_alone(seed: int) -> None:
    """EE-L_lower_bound holds for policies that do not care about relevance at all."""
    candidates, target = tiny_topic(seed, 6, 0.3)
    alone = Optimal(fairness=1e6, tolerance=1e-9, spread=0.0, include_above=2.0)
    plain = alone.rank(candidates, target, Request(2, 2000, 3), RNG).certificate
    traded = Optimal(fairness=0.3).rank(candidates, target, Request(2, 100, 3), RNG).certificate
    assert traded["EE-L_lower_bound"] <= plain["EE-L"] + 1e-6
    assert traded["EE-L"] >= plain["EE-L_lower_bound"] - 1e-9
    assert plain["EE-L"] - plain["EE-L_lower_bound"] < 5e-3
