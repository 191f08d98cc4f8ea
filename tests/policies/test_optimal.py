"""The policy `optimal` on topics of all kinds: valid rankings, finite certificates, what its settings do."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from evenrank.core.alignment import Alignment
from evenrank.core.exposure import discounts, parse_attention
from evenrank.core.groups import GroupSpace
from evenrank.core.rng import derive
from evenrank.core.target import EstimatedTarget
from evenrank.errors import EvenrankError
from evenrank.policies.optimal import Optimal, OptimalList, OptimalSequence, sequence
from evenrank.policies.optimal import list as optimal_list
from evenrank.policies.optimal.bounds import BandBounds
from evenrank.policies.optimal.list import BoundError
from evenrank.policies.policy import Candidates, Rankings, Request
from evenrank.policies.registry import idle_settings, make_policy
from evenrank.trec.dimensions import GENDER, GEOGRAPHY

from .made_up import AGE, GEOGRAPHY_AND_GENDER, TASK1, TASK2, make_candidates, target_of
from .small import LEFT, RIGHT, UNKNOWN, pages, wanting

both_tasks = pytest.mark.parametrize("request_", [TASK1, TASK2], ids=["task1", "task2"])
THREE = GroupSpace((GEOGRAPHY, GENDER, AGE))


def ranked(
    candidates: Candidates, request: Request, target: EstimatedTarget | None = None, **settings: object
) -> Rankings:
    """The rankings of `optimal`, checked for what must hold always."""
    target = target_of(candidates, request) if target is None else target
    found = Optimal(**settings).rank(candidates, target, request, derive(1))  # type: ignore[arg-type]
    assert found.positions.shape == (request.n_rankings, min(request.length, len(candidates)))
    assert all(len(set(row)) == len(row) for row in found.positions.tolist())
    assert all(np.isfinite(value) for value in found.certificate.values())
    if found.certificate:
        assert found.certificate["gap"] >= -1e-12
    return found


def precision(candidates: Candidates, rankings: Rankings, request: Request) -> float:
    """Expected share of relevant pages, as `min_precision` counts it."""
    shown = rankings.positions[:, :50] if request.task == 1 else rankings.positions
    return float(candidates.relevance[shown].mean())


def loss(candidates: Candidates, target: EstimatedTarget, positions: np.ndarray) -> float:
    """EE-L of rankings, worked out from the definition."""
    weights = discounts(positions.shape[1])
    exposure = np.mean([weights @ candidates.alignment.dense()[row] for row in positions], axis=0)
    return float(np.sum((exposure - target.values * weights.sum()) ** 2))


@both_tasks
@hypothesis_settings(max_examples=25, deadline=None)
@given(
    n_pages=st.integers(1, 60),
    seed=st.integers(0, 1000),
    fairness=st.sampled_from([0.0, 0.1, 1.0, 10.0]),
    head_depth=st.sampled_from([0, 3]),
    relevant_only=st.booleans(),
)
def test_any_topic_gives_valid_rankings_and_finite_certificates(
    request_: Request, n_pages: int, seed: int, fairness: float, head_depth: int, relevant_only: bool
) -> None:
    candidates = make_candidates(n_pages, seed)
    ranked(candidates, request_, fairness=fairness, head_depth=head_depth, relevant_only=relevant_only)


@both_tasks
@pytest.mark.parametrize("n_pages", [1, 7])
def test_fewer_candidates_than_positions(request_: Request, n_pages: int) -> None:
    assert ranked(make_candidates(n_pages), request_).positions.shape[1] == n_pages


@both_tasks
def test_no_candidates_at_all(request_: Request) -> None:
    found = ranked(pages([], []), request_, wanting(0.5, 0.5))
    assert found.positions.shape == (request_.n_rankings, 0)
    assert found.certificate == {}


@both_tasks
def test_a_group_with_a_target_and_no_candidate_costs_what_it_must(request_: Request) -> None:
    """Half of the target is on the right, where there is no page: the bound knows it, the gap stays small."""
    candidates = pages([LEFT] * 60, np.linspace(0.9, 0.1, 60))
    found = ranked(candidates, request_, wanting(0.5, 0.5))
    assert found.certificate["gap"] == pytest.approx(0.0, abs=1e-6 if request_.task == 1 else 0.02)
    if request_.task == 2:
        half = 0.5 * discounts(request_.length).sum()
        assert found.certificate["EE-L"] == pytest.approx(2 * half**2)
        assert found.certificate["EE-L_lower_bound"] == pytest.approx(2 * half**2)


def is_by_relevance(found: Rankings, request: Request) -> bool:
    """Is a list the order by relevance, or a sequence of rankings about as relevant?"""
    if request.task == 1:
        return bool((found.positions == np.arange(request.length)).all())
    return found.certificate["relevance_share"] > 0.99


NOT_SPREAD = {"spread": 0.0, "include_above": 2.0}
"""Settings of Task 2 under which nothing but groups and relevance counts."""


@both_tasks
def test_all_unknown_is_the_order_by_relevance(request_: Request) -> None:
    candidates = pages([UNKNOWN] * 60, np.linspace(0.9, 0.1, 60))
    assert is_by_relevance(ranked(candidates, request_, wanting(0.5, 0.5), **NOT_SPREAD), request_)


@both_tasks
def test_pages_in_no_group_at_all(request_: Request) -> None:
    candidates = replace(
        pages([LEFT] * 60, np.linspace(0.9, 0.1, 60)), alignment=Alignment(np.zeros((1, 3)), np.zeros(60, np.intp))
    )
    assert is_by_relevance(ranked(candidates, request_, wanting(0.5, 0.5), **NOT_SPREAD), request_)


@both_tasks
def test_one_group_only_is_the_order_by_relevance(request_: Request) -> None:
    found = ranked(pages([LEFT] * 60, np.linspace(0.9, 0.1, 60)), request_, wanting(1.0, 0.0), **NOT_SPREAD)
    assert is_by_relevance(found, request_)
    assert found.certificate["gap"] == pytest.approx(0.0, abs=1e-9 if request_.task == 1 else 0.01)


@both_tasks
def test_identical_scores(request_: Request) -> None:
    """Nothing but fairness is left to choose by, and both groups get what they should."""
    candidates = pages([LEFT, RIGHT] * 40, [0.5] * 80)
    found = ranked(candidates, request_, wanting(0.25, 0.75))
    if request_.task == 1:
        assert found.certificate["AWRF"] > 0.999
    else:
        assert loss(candidates, wanting(0.25, 0.75), found.positions) < 1e-3


@both_tasks
def test_zero_relevance_is_still_fair(request_: Request) -> None:
    candidates = pages([LEFT] * 40 + [RIGHT] * 40, [0.0] * 80)
    found = ranked(candidates, request_, wanting(0.5, 0.5))
    if request_.task == 1:
        assert found.certificate["AWRF"] > 0.999
    else:
        assert loss(candidates, wanting(0.5, 0.5), found.positions) < 1e-3


@both_tasks
@pytest.mark.parametrize("space", [GroupSpace((GEOGRAPHY,)), THREE], ids=["one dimension", "three dimensions"])
def test_any_number_of_dimensions(request_: Request, space: GroupSpace) -> None:
    candidates = make_candidates(300, space=space)
    found = ranked(candidates, request_, target_of(candidates, request_, space))
    assert found.certificate["gap"] < 0.1
    assert found.certificate["gap"] < 0.03 or space is THREE


@both_tasks
def test_same_rankings_whatever_the_generator(request_: Request) -> None:
    candidates = make_candidates(200)
    target = target_of(candidates, request_)
    first = Optimal().rank(candidates, target, request_, derive(1))
    again = Optimal().rank(candidates, target, request_, derive(2))
    assert (first.positions == again.positions).all()
    assert first.certificate == again.certificate


@both_tasks
def test_no_fairness_is_the_order_by_relevance(request_: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequence, "WORK_WEIGHT", 0.0)
    candidates = make_candidates(200)
    found = ranked(candidates, request_, fairness=0.0)
    assert found.certificate["relevance_share"] == pytest.approx(1.0, abs=1e-6)
    assert set(found.positions.flat) == set(range(request_.length))


@both_tasks
def test_more_fairness_never_means_less_fair_or_more_relevant(
    request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sequence, "WORK_WEIGHT", 0.0)
    candidates = make_candidates(400)
    found = [ranked(candidates, request_, fairness=f).certificate for f in (0.01, 0.3, 3.0, 100.0)]
    relevance = [certificate["relevance_share"] for certificate in found]
    unfair = [1.0 - c["AWRF"] if request_.task == 1 else c["EE-L"] for c in found]
    rounding = 2e-3 if request_.task == 1 else 5e-3  # of whole pages and whole rankings
    assert np.diff(relevance).max() < rounding
    assert np.diff(unfair).max() < rounding
    assert relevance[0] > relevance[-1]
    assert unfair[0] > unfair[-1]


def test_the_certificate_speaks_of_the_rankings() -> None:
    candidates = make_candidates(300)
    target = target_of(candidates, TASK2)
    found = ranked(candidates, TASK2, target)
    assert found.certificate["EE-L"] == pytest.approx(loss(candidates, target, found.positions))
    assert found.certificate["expected_precision"] == pytest.approx(candidates.relevance[found.positions].mean())


def test_every_prefix_of_a_sequence_is_balanced() -> None:
    """The first quarter of the rankings is nearly as fair as all of them: some scorers look no further."""
    candidates = make_candidates(800)
    request = Request(task=2, n_rankings=100, length=50)
    target = target_of(candidates, request)
    positions = ranked(candidates, request, target).positions
    whole = loss(candidates, target, positions)
    assert loss(candidates, target, positions[:25]) < whole + 0.02
    assert loss(candidates, target, positions[:10]) < whole + 0.1


@pytest.mark.parametrize("n_rankings", [1, 3, 10])
def test_few_rankings_come_near_the_best_mixture(n_rankings: int) -> None:
    """What whole rankings cannot do in number, the choice of types rank by rank does."""
    candidates = make_candidates(800)
    found = ranked(candidates, Request(task=2, n_rankings=n_rankings, length=50), fairness=10.0, **NOT_SPREAD)
    assert found.certificate["EE-L"] - found.certificate["EE-L_lower_bound"] < (0.3 if n_rankings == 1 else 0.05)


def test_equally_good_pages_get_equal_exposure() -> None:
    """Twice as many equal pages as fit into a ranking: each is shown in about half of the rankings."""
    candidates = pages([LEFT, RIGHT] * 20, [0.6] * 40)
    positions = ranked(candidates, Request(2, 100, 20), wanting(0.5, 0.5)).positions
    exposure = np.bincount(positions.reshape(-1), np.tile(discounts(20), 100), minlength=40) / 100
    assert exposure == pytest.approx(discounts(20).sum() / 40, abs=0.02)


def test_probable_pages_are_shown_at_least_once() -> None:
    candidates = pages([LEFT] * 80 + [RIGHT] * 80, np.tile(np.linspace(0.9, 0.01, 80), 2).tolist())
    shown = np.unique(ranked(candidates, Request(2, 100, 20), wanting(0.5, 0.5), include_above=0.3).positions)
    few = np.unique(ranked(candidates, Request(2, 100, 20), wanting(0.5, 0.5), include_above=2.0).positions)
    assert set(np.flatnonzero(candidates.relevance >= 0.3)) <= set(shown.tolist())
    assert len(few) < len(shown)


def test_a_light_strength_stays_near_the_order_by_relevance() -> None:
    """Though the target asks for a group whose pages are hardly relevant; the loss falls as fairness rises."""
    relevance = [*np.linspace(0.95, 0.5, 100), *np.linspace(0.1, 0.05, 100)]
    candidates = pages([LEFT] * 100 + [RIGHT] * 100, relevance)
    settings = {"reach": 0.0, "keep_relevance": 0.0}
    found = [
        ranked(candidates, Request(2, 100, 20), wanting(0.5, 0.5), fairness=fairness, **settings).certificate
        for fairness in (0.1, 0.3, 1.0, 3.0)
    ]
    assert found[0]["relevance_share"] > 0.75  # in proportion to fairness it would be 0.58, little more than evenly
    assert np.all(np.diff([one["relevance_share"] for one in found]) < 0.0)
    assert np.all(np.diff([one["EE-L"] for one in found]) < 0.0)
    assert found[2]["EE-L"] < 0.05 * found[0]["EE-L"]


def test_head_depth_serves_the_first_ranks() -> None:
    """With `head_depth` the first ranks are nearer to the whole target, the rest makes up for it as far as it can."""
    candidates = make_candidates(800)
    request = Request(task=2, n_rankings=50, length=50)
    target = target_of(candidates, request)
    plain = ranked(candidates, request, target)
    headed = ranked(candidates, request, target, head_depth=6)

    def head_loss(found: Rankings) -> float:
        rows = candidates.alignment.dense()[found.positions[:, :6]]
        exposure = np.einsum("k,rkg->g", discounts(6), rows) / len(rows)
        return float(np.sum((exposure - target.values * discounts(50).sum()) ** 2))

    assert head_loss(headed) == pytest.approx(headed.certificate["EE-L"])
    assert head_loss(headed) < head_loss(plain)
    assert headed.certificate["EE-L_full_depth"] == pytest.approx(loss(candidates, target, headed.positions))
    assert headed.certificate["EE-L_full_depth"] >= plain.certificate["EE-L_lower_bound"] - 1e-9


def test_probable_pages_of_two_groups_are_shown() -> None:
    """Exposure of such a page counts in both groups, so where one of them has enough, fairness alone never shows it."""
    rng = np.random.default_rng(4)
    regions = np.where(np.arange(300) % 10 == 0, 0b11, np.where(rng.random(300) < 0.8, 0b01, 0b10)).astype(np.uint32)
    genders = np.full(300, 0b10, np.uint32)
    candidates, request = make_candidates(300, seed=4, masks=[regions, genders]), Request(2, 100, 20)
    candidates = replace(candidates, relevance=np.full(300, 0.6))
    values = np.zeros_like(target_of(candidates, request).values)
    values[np.flatnonzero(candidates.alignment.dense()[regions == 0b10][0])] = 1.0
    target = replace(target_of(candidates, request), values=values)
    of_two = np.flatnonzero(regions == 0b11)
    never = ranked(candidates, request, target, include_above=2.0)
    shown = ranked(candidates, request, target)
    assert np.isin(of_two, never.positions).mean() < 0.2
    assert np.isin(of_two, shown.positions).mean() > 2.0 * np.isin(of_two, never.positions).mean()
    assert shown.certificate["EE-L"] < never.certificate["EE-L"] + 0.02 * request.weights().sum() ** 2


def test_a_list_is_fair_where_people_stop_reading() -> None:
    """A list for its end alone has an unfair head; the mixture over depths has not, and costs little at the end."""
    candidates = make_candidates(1500, seed=3)
    request = Request(1, 1, 500)
    at_end = ranked(candidates, request, depths=(500,), depth_weights=(1.0,))
    mixed = ranked(candidates, request)
    head = ranked(candidates, Request(1, 1, 10), depths=(10,), depth_weights=(1.0,)).certificate

    def awrf_of_head(found: Rankings) -> float:
        cut = Rankings(found.positions[:, :10])
        return certified_awrf(candidates, target_of(candidates, request), cut)

    assert awrf_of_head(mixed) > awrf_of_head(at_end) + 0.02
    assert mixed.certificate["AWRF@10"] == pytest.approx(awrf_of_head(mixed))
    assert mixed.certificate["score@10"] > 0.97 * head["score"]
    assert mixed.certificate["score"] > 0.98 * at_end.certificate["score"]
    assert mixed.certificate["mixture_score"] <= mixed.certificate["mixture_bound"]


def test_all_depths_count_alike_unless_weights_are_given() -> None:
    candidates, request = make_candidates(1500, seed=3), Request(1, 1, 500)
    equal = ranked(candidates, request).certificate
    end = ranked(candidates, request, depth_weights=(0.01, 0.01, 0.01, 0.01, 0.96)).certificate
    depths = (10, 20, 50, 100, 500)
    assert [equal[f"weight@{depth}"] for depth in depths] == pytest.approx([0.2] * 5)
    assert end["score@10"] < equal["score@10"]
    for found in (equal, end):
        assert sum(found[f"weight@{depth}"] for depth in depths) == pytest.approx(1.0)
        mixed = sum(found[f"weight@{depth}"] * found[f"score@{depth}"] for depth in depths)
        assert found["mixture_score"] == pytest.approx(mixed)


def certified_awrf(candidates: Candidates, target: EstimatedTarget, found: Rankings) -> float:
    """AWRF in base 2 over the known groups, worked out with scipy."""
    weights = discounts(found.positions.shape[1])
    exposure = weights @ candidates.alignment.dense()[found.positions[0]]
    return float(1.0 - jensenshannon(exposure[1:], target.values[1:], base=2.0) ** 2)


def test_ranks_that_nobody_reads_are_in_the_order_by_relevance(tmp_path: Path) -> None:
    table = tmp_path / "attention.txt"
    table.write_text("1\n0.5\n0.25\n")
    candidates = make_candidates(200)
    request = Request(1, 1, 100, attention=parse_attention(f"table:{table}"))
    unread = ranked(candidates, request).positions[0, 3:]
    assert (np.diff(candidates.relevance[unread]) <= 0.0).all()
    left_out = np.setdiff1d(np.arange(200), ranked(candidates, request).positions[0])
    assert candidates.relevance[left_out].max() <= candidates.relevance[unread].min()


def test_every_depth_has_a_bound_of_its_own() -> None:
    certificate = ranked(make_candidates(400), Request(1, 1, 60)).certificate
    for depth in (10, 20, 50, 60):
        assert certificate[f"score@{depth}"] <= certificate[f"upper_bound@{depth}"]
        assert certificate[f"gap@{depth}"] < 0.2
    assert "score@100" not in certificate


def test_the_tail_is_solved_anew() -> None:
    """A list made for its first ranks alone is still nearly as good as can be at its end."""
    candidates = make_candidates(1500, seed=5)
    request = Request(1, 1, 500)
    head_only = ranked(candidates, request, depths=(20,), depth_weights=(1.0,)).certificate
    best = ranked(candidates, request, depths=(500,), depth_weights=(1.0,)).certificate
    assert head_only["score"] > 0.985 * best["score"]


def test_more_effort_on_the_tail_would_bring_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rare groups are hard to serve below a fixed head; after 20 rounds this list was four times as far away."""
    rng = np.random.default_rng(7)
    shares = ([0.4, 0.01, 0.002, 0.02, 0.3, 0.018, 0.24, 0.01], [0.6, 0.05, 0.349, 0.001])
    masks = [(1 << rng.choice(len(share), 2500, p=share)).astype(np.uint32) for share in shares]
    candidates, request = make_candidates(2500, seed=7, masks=masks), Request(1, 1, 1000)
    found = ranked(candidates, request, proof="brief").certificate["score"]
    monkeypatch.setattr(optimal_list, "TAIL_TOLERANCE", 1e-6)
    monkeypatch.setattr(optimal_list, "TAIL_ITERATIONS", 400)
    assert found > (1.0 - 5e-5) * ranked(candidates, request, proof="brief").certificate["score"]


def test_for_later_depths_only_the_difference_to_ranks_below_counts() -> None:
    """Ranks 1 to 10 have a mean weight of 0.5254, ranks 11 to 20 of 0.2559; nothing is below the end of a list."""
    weights = discounts(1000)
    assert optimal_list._lasting_share(weights, 0, 10) == pytest.approx(1 - 0.2559 / 0.5254, abs=1e-3)
    assert optimal_list._lasting_share(weights, 50, 100) < 0.15
    assert optimal_list._lasting_share(weights, 100, 1000) == 1.0


def test_stronger_fairness_is_fairer_on_the_first_screen_too() -> None:
    """A sum over depths that grow by many powers is the largest of them: the head was given up for the end."""
    request = Request(1, 1, 500)
    by_strength = [
        np.mean(
            [
                [found.certificate[f"AWRF@{depth}"] for depth in (10, 20, 50, 100, 500)]
                for found in (ranked(make_candidates(1500, seed=seed), request, fairness=fairness) for seed in range(3))
            ],
            axis=0,
        )
        for fairness in (1.0, 10.0, 100.0, 1000.0)
    ]
    for weaker, stronger in pairwise(by_strength):
        assert (stronger >= weaker - 0.01).all()


@pytest.mark.parametrize("relevance_power", [0.0, -1.0, 11.0, np.inf, np.nan])
def test_powers_of_relevance_that_cannot_be_are_refused(relevance_power: float) -> None:
    with pytest.raises(
        EvenrankError, match=r"relevance_power is .*(must be above 0 and at most 10|not a finite number)"
    ):
        Optimal(relevance_power=relevance_power)


def test_a_power_of_relevance_keeps_what_is_surest_and_a_list_for_one_depth_has_none() -> None:
    candidates, request = make_candidates(1500, seed=5), Request(1, 1, 500)
    plain, surer = (ranked(candidates, request, relevance_power=value) for value in (1.0, 2.0))
    kept = [of.certificate["relevance_share@500"] for of in (plain, surer)]
    assert kept[1] > kept[0]
    one_depth = {"depths": (500,), "depth_weights": (1.0,)}
    alone = [ranked(candidates, request, relevance_power=value, **one_depth) for value in (1.0, 2.0)]
    assert np.array_equal(alone[0].positions, alone[1].positions)


def test_thorough_proofs_are_tighter() -> None:
    candidates = make_candidates(400, 3)
    quick = ranked(candidates, Request(1, 1, 20)).certificate
    thorough = ranked(candidates, Request(1, 1, 20), proof="thorough").certificate
    assert thorough["upper_bound@10"] < quick["upper_bound@10"]
    assert thorough["upper_bound"] <= quick["upper_bound"] + 1e-9


def test_a_bound_below_a_score_is_an_error_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BandBounds, "highest", lambda self: (1.0, 0.1))
    with pytest.raises(BoundError, match="above its proven bound"):
        ranked(make_candidates(100), TASK1)


def test_no_gap_where_no_list_can_score() -> None:
    """All candidates are in a group that is not wanted at all: every score is 0, and so is the gap."""
    found = ranked(pages([LEFT] * 30, np.linspace(0.9, 0.1, 30)), Request(1, 1, 10), wanting(0.0, 1.0))
    assert found.certificate["score"] == pytest.approx(0.0, abs=1e-9)
    assert found.certificate["gap"] == 0.0


@both_tasks
def test_a_floor_of_precision_weakens_fairness_no_further_than_needed(request_: Request) -> None:
    candidates = make_candidates(400, 2)
    free = ranked(candidates, request_, fairness=10.0)
    top = float(np.sort(candidates.relevance)[::-1][: request_.length].mean())
    target = target_of(candidates, request_)
    floor = 0.5 * (precision(candidates, free, request_) + top)
    found = ranked(candidates, request_, fairness=10.0, min_precision=floor)
    assert precision(candidates, found, request_) >= floor
    assert found.certificate["floor_met"] == 1.0
    assert 0.0 < found.certificate["fairness_used"] < 10.0
    measure = "AWRF" if request_.task == 1 else "EE-L"
    assert found.certificate[f"{measure}_without_min_precision"] == free.certificate[measure]
    assert found.certificate["precision_asked"] == floor
    assert found.certificate["expected_precision"] == pytest.approx(precision(candidates, found, request_))
    stronger = Optimal(fairness=3.0 * found.certificate["fairness_used"])
    assert precision(candidates, stronger.rank(candidates, target, request_, derive(1)), request_) < floor


def test_small_groups_are_shown_in_the_first_ranks_of_draws_too() -> None:
    """What is due to a group becomes due rank by rank: attention at the end of every ranking is not a fair share."""
    candidates = pages([LEFT] * 150 + [RIGHT] * 50, np.full(200, 0.5))
    found = ranked(candidates, Request(2, 100, 50), wanting(0.8, 0.2)).positions >= 150
    weights = discounts(50)
    for first in (5, 10, 50):
        share = (found[:, :first] * weights[:first]).sum() / (len(found) * weights[:first].sum())
        assert share == pytest.approx(0.2, abs=0.05)


def test_pages_far_below_what_is_expected_to_be_relevant_do_not_fill_a_group() -> None:
    """Ten pages are expected to be relevant; the only pages on the right are at the very end."""
    candidates = pages([LEFT] * 300 + [RIGHT] * 20, [*np.linspace(0.9, 0.01, 20), *[0.001] * 300])
    request, target = Request(2, 20, 10), wanting(0.2, 0.8)
    near = ranked(candidates, request, target, reach=2.0, keep_relevance=0.0)
    far = ranked(candidates, request, target, reach=0.0, keep_relevance=0.0)
    assert near.positions.max() < 300
    assert near.certificate["n_within_reach"] < 50
    assert far.positions.max() >= 300
    assert near.certificate["EE-L"] > far.certificate["EE-L"]


def test_fairness_that_would_cost_most_of_the_relevance_leaves_unlikely_pages_out_and_says_so() -> None:
    """The target wants a group whose pages are all unlikely to be relevant: 60 a little, 100 hardly at all."""
    likely, doubtful, unlikely = np.linspace(0.9, 0.6, 120), np.linspace(0.3, 0.2, 60), np.linspace(0.1, 0.05, 100)
    candidates = pages([LEFT] * 120 + [RIGHT] * 160, [*likely, *doubtful, *unlikely])
    request, target = Request(2, 50, 20), wanting(0.1, 0.9)
    free = ranked(candidates, request, target, keep_relevance=0.0, reach=0.0)
    kept = ranked(candidates, request, target, keep_relevance=0.6, reach=0.0)
    assert free.certificate["relevance_share"] < 0.45
    assert "EE-L_without_floor" not in free.certificate
    assert kept.certificate["relevance_share"] > 0.58  # rounded to whole rankings
    assert kept.certificate["n_within_reach"] < 180
    assert candidates.relevance[kept.positions].min() >= 0.2 > candidates.relevance[free.positions].min()
    assert candidates.alignment.page_type[kept.positions].max() == RIGHT
    assert kept.certificate["EE-L_without_floor"] == free.certificate["EE-L"] < kept.certificate["EE-L"]
    strong = ranked(candidates, request, target, fairness=2.0, reach=0.0)
    assert 0.28 < strong.certificate["relevance_share"] < kept.certificate["relevance_share"]
    fitting = ranked(candidates, request, wanting(0.9, 0.1), reach=0.0)
    assert "EE-L_without_floor" not in fitting.certificate


def test_strong_fairness_takes_the_time_it_needs() -> None:
    """Brief relaxations of strong fairness stop far from their optimum: "Strongest" was less fair than "Strong"."""
    candidates = make_candidates(264, relevance=np.linspace(0.7, 0.25, 264))
    request = Request(1, 1, 264)
    target = target_of(candidates, request)
    brief, quick = (ranked(candidates, request, target, proof=proof, fairness=10.0) for proof in ("brief", "quick"))
    assert (brief.positions == quick.positions).all()
    assert brief.certificate == quick.certificate
    light = [ranked(candidates, request, target, proof=proof, fairness=0.3) for proof in ("brief", "quick")]
    assert light[0].certificate["n_iterations"] < light[1].certificate["n_iterations"]


def test_where_hardly_a_page_is_relevant_the_floor_leaves_enough_to_choose_from() -> None:
    """Five pages are expected to be relevant: from rank 6 on, pages of the wanted group are as good as any."""
    candidates = pages([LEFT] * 60 + [RIGHT] * 60, np.array([0.9] * 5 + [0.01] * 55 + [0.002] * 60))
    found = ranked(candidates, Request(1, 1, 120), wanting(0.5, 0.5)).positions[0]
    assert (found[:5] < 60).all()
    assert (found[:50] >= 60).sum() >= 20


@both_tasks
def test_where_no_ranking_reaches_the_floor_nearly_the_best_precision_is_kept(request_: Request) -> None:
    """All fairness was given up for the last hundredths of a precision that did not reach the floor either."""
    candidates = make_candidates(400, 2)
    free, plain = (ranked(candidates, request_, fairness=fairness) for fairness in (10.0, 0.0))
    found = ranked(candidates, request_, fairness=10.0, min_precision=1.0)
    best = precision(candidates, plain, request_)
    assert found.certificate["floor_met"] == 0.0
    assert found.certificate["precision_without_fairness"] == pytest.approx(best)
    assert best > found.certificate["expected_precision"] >= 0.98 * best
    assert 0.0 < found.certificate["fairness_used"] < 10.0
    if request_.task == 1:
        assert plain.certificate["AWRF"] < found.certificate["AWRF"]
    else:
        assert free.certificate["EE-L"] < found.certificate["EE-L"] < 0.5 * plain.certificate["EE-L"]


def test_fairness_stays_where_it_costs_next_to_no_precision() -> None:
    candidates = pages([LEFT, RIGHT] * 20, np.full(40, 0.4))
    found = ranked(candidates, Request(1, 1, 10), wanting(0.2, 0.8), min_precision=0.9)
    assert (found.certificate["floor_met"], found.certificate["fairness_used"]) == (0.0, 1.0)


def test_unknown_pages_count_when_the_target_wants_them() -> None:
    """With a share for unknown pages in the target the exposure is measured over all groups."""
    candidates = pages([UNKNOWN, LEFT, RIGHT] * 30, np.linspace(0.9, 0.5, 90))
    found = ranked(candidates, TASK1, wanting(0.25, 0.25, unknown=0.5))
    unknown = candidates.alignment.dense()[found.positions[0], UNKNOWN]
    assert unknown @ discounts(40) / discounts(40).sum() == pytest.approx(0.5, abs=0.05)


def test_all_wrong_settings_are_named_at_once() -> None:
    with pytest.raises(EvenrankError, match=r"(?s)fairness is -1.*min_precision is 1.5.*log_base is 1.*spread is -2"):
        Optimal(fairness=-1.0, min_precision=1.5, spread=-2.0, log_base=1.0)
    with pytest.raises(
        EvenrankError, match=r"depths are 20, 10, but must be.*rising\noptimal: depth_weights are 0.5, -0.5"
    ):
        Optimal(depths=(20, 10), depth_weights=(0.5, -0.5))
    with pytest.raises(EvenrankError, match="one share for each depth"):
        Optimal(depths=(10, 20), depth_weights=(1.0,))


def test_geography_and_gender_have_32_groups_and_a_small_gap() -> None:
    candidates = make_candidates(3000)
    request = Request(task=2, n_rankings=100, length=50)
    assert GEOGRAPHY_AND_GENDER.n_groups == 32
    assert ranked(candidates, request).certificate["gap"] < 0.1
    alone = {"depths": (1000,), "depth_weights": (1.0,), "proof": "thorough"}
    whole = ranked(candidates, Request(task=1, n_rankings=1, length=1000), **alone).certificate
    assert whole["gap"] < 1e-3


def test_types_of_settings_are_checked_together_with_their_ranges() -> None:
    wrong = {"proof": "foo", "precision_rank": 2.5, "spread": float("inf"), "min_precision": 2, "depth_weights": [2.0]}
    with pytest.raises(EvenrankError) as caught:
        Optimal(**wrong)  # type: ignore[arg-type]
    lines = str(caught.value).splitlines()
    assert sorted(line.split()[1] for line in lines) == sorted(wrong)


def test_settings_of_earlier_versions_are_accepted_and_do_nothing() -> None:
    with pytest.warns(FutureWarning, match="the setting emphasis of optimal has no effect: fairness counts alike"):
        Optimal(emphasis=1.5)
    made = make_policy("optimal", 1, {"floor": 0.2, "reach": 0, "fairness": 2})
    assert made == OptimalList(fairness=2.0)
    assert idle_settings("optimal", 1, ["floor", "reach", "fairness"]) == {
        "floor": Optimal.former_settings["floor"],
        "reach": "it is not a setting of Task 1",
    }


@pytest.mark.parametrize("owner", [OptimalList, OptimalSequence])
def test_a_task_has_few_settings(owner: type) -> None:
    assert len(fields(owner)) <= 8
