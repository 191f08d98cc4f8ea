"""Invariants over every policy of the registry, for both tasks it serves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from evenrank.core.groups import GroupSpace
from evenrank.core.rng import derive
from evenrank.core.settings import setting_texts
from evenrank.core.target import EstimatedTarget
from evenrank.errors import EvenrankError
from evenrank.policies.policy import Candidates, Policy, Rankings, Request, settings_of
from evenrank.policies.registry import POLICIES, describe_policy, make_policy
from evenrank.trec.dimensions import GENDER, GEOGRAPHY

from .made_up import AGE, GEOGRAPHY_AND_GENDER, TASK1, TASK2, make_candidates, target_of

SERVED = [(name, TASK1 if task == 1 else TASK2) for name, policy in POLICIES.items() for task in policy.tasks]
VARIANTS = [
    ("proportional:diversifier=pm2", TASK1),
    ("proportional:diversifier=pm2", TASK2),
    ("deficit:order=row", TASK2),
    ("controller:temperature=0", TASK2),
    ("fusion:method=combsum,policy=deficit", TASK1),
    ("fusion:method=combmnz,policy=plackett-luce", TASK2),
    ("filter:keep=50,then=deficit", TASK1),
    ("union:then=relevance", TASK1),
]
every_policy = pytest.mark.parametrize(
    "text, request_", SERVED + VARIANTS, ids=lambda value: value if isinstance(value, str) else f"task{value.task}"
)


def rank(text: str, candidates: Candidates, request: Request, target: EstimatedTarget | None = None) -> np.ndarray:
    policy = make_policy(text, request.task)
    target = target_of(candidates, request) if target is None else target
    return policy.rank(candidates, target, request, derive(3, candidates.topic_id)).positions


def assert_valid(positions: np.ndarray, n_candidates: int, request: Request) -> None:
    assert positions.shape == (request.n_rankings, min(request.length, n_candidates))
    assert np.issubdtype(positions.dtype, np.integer)
    for ranking in positions:
        assert len(set(ranking.tolist())) == len(ranking)
        assert all(0 <= position < n_candidates for position in ranking.tolist())


@every_policy
def test_rankings_are_full_and_without_repetition(text: str, request_: Request) -> None:
    candidates = make_candidates(120)
    assert_valid(rank(text, candidates, request_), 120, request_)


@every_policy
def test_same_seed_same_rankings(text: str, request_: Request) -> None:
    candidates = make_candidates(90)
    assert np.array_equal(rank(text, candidates, request_), rank(text, candidates, request_))


@every_policy
@pytest.mark.parametrize("n_pages", [0, 1, 2, 9])
def test_fewer_candidates_than_positions(text: str, request_: Request, n_pages: int) -> None:
    candidates = make_candidates(9).take(np.arange(n_pages))
    assert_valid(rank(text, candidates, request_), n_pages, request_)


@every_policy
def test_group_with_target_but_no_candidate(text: str, request_: Request) -> None:
    masks = [np.full(60, 1 << 4, np.uint32), np.ones(60, np.uint32)]
    candidates = make_candidates(60, masks=masks)
    values = np.zeros((8, 4))
    values[1, 0] = 0.9  # Africa, of which there is no page
    values[4, 0] = 0.1
    target = EstimatedTarget(7, GEOGRAPHY_AND_GENDER, values.reshape(-1))
    assert_valid(rank(text, candidates, request_, target), 60, request_)


@every_policy
@pytest.mark.parametrize("geography", [1, 1 << 3], ids=["all unknown", "one group only"])
def test_one_kind_of_page(text: str, request_: Request, geography: int) -> None:
    masks = [np.full(60, geography, np.uint32), np.ones(60, np.uint32)]
    candidates = make_candidates(60, masks=masks)
    assert_valid(rank(text, candidates, request_), 60, request_)


@every_policy
def test_pages_of_no_group(text: str, request_: Request) -> None:
    masks = [np.zeros(60, np.uint32), np.zeros(60, np.uint32)]
    assert_valid(rank(text, make_candidates(60, masks=masks), request_), 60, request_)


@every_policy
@pytest.mark.parametrize("relevance", [0.0, 0.3, 1.0])
def test_identical_relevance(text: str, request_: Request, relevance: float) -> None:
    candidates = make_candidates(80, relevance=np.full(80, relevance))
    assert_valid(rank(text, candidates, request_), 80, request_)


@every_policy
def test_no_work_needed(text: str, request_: Request) -> None:
    candidates = make_candidates(80)
    candidates.work_needed[:] = 0.0
    assert_valid(rank(text, candidates, request_), 80, request_)


@every_policy
@pytest.mark.parametrize("dimensions", [(GEOGRAPHY,), (GENDER,), (GEOGRAPHY, GENDER, AGE)], ids=len)
def test_any_list_of_dimensions(text: str, request_: Request, dimensions: tuple) -> None:
    space = GroupSpace(dimensions)
    candidates = make_candidates(70, space=space)
    assert_valid(rank(text, candidates, request_, target_of(candidates, request_, space)), 70, request_)


@hypothesis_settings(max_examples=40, deadline=None)
@given(
    served=st.sampled_from(SERVED),
    n_pages=st.integers(1, 60),
    seed=st.integers(0, 10**6),
    length=st.integers(1, 30),
    n_rankings=st.integers(1, 8),
)
def test_valid_whatever_the_shape(
    served: tuple[str, Request], n_pages: int, seed: int, length: int, n_rankings: int
) -> None:
    name, of_task = served
    request = Request(of_task.task, n_rankings if of_task.task == 2 else 1, length)
    assert_valid(rank(name, make_candidates(n_pages, seed), request), n_pages, request)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))
def test_every_policy_carries_its_facts(policy: type[Policy]) -> None:
    facts = describe_policy(policy)
    assert facts["tasks"]
    assert facts["citation"]
    assert facts["summary"].endswith((".", ";")) or facts["summary"]
    for setting in facts["settings"]:
        assert setting["explanation"], f"{policy.name}: {setting['name']} has no line that explains it"
    for task in policy.tasks:
        of_task = {setting["name"] for setting in facts["settings"] if task in setting["tasks"]}
        assert set(settings_of(make_policy(policy, task))) == of_task


def test_runs_of_the_paper_are_all_served() -> None:
    served = {run for policy in POLICIES.values() for run in (*policy.paper_runs, *getattr(policy, "near_runs", ()))}
    task1 = "UoGTrDExpDisT1 UoGTrDRelDiT1 UoGTrDivPropT1 UoGTrDExpDisLT1 RUN1 UoGTrRelT1 RMITRet 1step_pair 2step_pair"
    task1 += " 1step_pair_list 2step_pair_list RMITRetRerank_1 RMITRetRerank_2"
    task2 = "PL_IRLab_05 PL_IRLab_07 RUN_task2 UoGTrDExpDisT2 UoGTrDRelDiT2 UoGTrDivPropT2 UoGTrLambT2 UoGTrRelT2"
    task2 += " pl_control_0.6 pl_control_0.8 pl_control_0.92"
    assert set((task1 + " " + task2).split()) <= served
    reproduced = {run for policy in POLICIES.values() for run in policy.paper_runs}
    near = {run for policy in POLICIES.values() for run in getattr(policy, "near_runs", ())}
    assert near == {"UoGTrRelT1", "UoGTrRelT2", "PL_IRLab_05", "PL_IRLab_07"}
    assert not near & reproduced


def test_settings_of_runs_can_be_used() -> None:
    for policy in POLICIES.values():
        for run, settings in describe_policy(policy)["run_settings"].items():
            assert run in policy.paper_runs
            made = make_policy(f"{policy.name}:{settings}")
            of_run = dict(pair.split("=") for pair in settings.split(","))
            assert setting_texts({k: v for k, v in settings_of(made).items() if k in of_run}) == of_run


def test_reconstructed_methods_say_so() -> None:
    marked = {name for name, policy in POLICIES.items() if describe_policy(policy)["reconstructed"]}
    assert marked >= {"proportional", "relevance-share", "exposure-disparity", "controller", "deficit", "mmr"}
    assert not marked & {"optimal", "fa-ir", "det-const-sort", "exposure-lp"}


def test_unknown_name_lists_the_names() -> None:
    with pytest.raises(EvenrankError, match="unknown policy 'fairest'; choose from relevance, mmr"):
        make_policy("fairest")


def test_policy_for_the_other_task_is_refused() -> None:
    with pytest.raises(EvenrankError, match="swap does not serve Task 2"):
        make_policy("swap", 2)


def test_settings_in_a_name() -> None:
    assert settings_of(make_policy("deficit:weight=0.5,order=row")) == {
        "weight": 0.5,
        "window": 20,
        "n_windows": 1,
        "quality": 0.25,
        "order": "row",
    }


class Backwards:
    """The least relevant page first."""

    name = "backwards"
    tasks = (1,)
    paper_runs = ()
    citation = "nobody"

    def rank(
        self, candidates: Candidates, target: EstimatedTarget, request: Request, rng: np.random.Generator
    ) -> Rankings:
        return Rankings(np.argsort(candidates.relevance)[None, : request.length])


def test_an_object_is_taken_as_it_is() -> None:
    policy = Backwards()
    assert make_policy(policy, 1) is policy
    with pytest.raises(EvenrankError, match="policy backwards does not serve Task 2; these do: relevance"):
        make_policy(policy, 2)
    with pytest.raises(EvenrankError, match="cannot be set again: weight"):
        make_policy(policy, 1, {"weight": 1})
    with pytest.raises(EvenrankError, match="policy: a value of type int is not accepted"):
        make_policy(3)  # type: ignore[arg-type]


def test_a_policy_object_has_facts() -> None:
    assert describe_policy(Backwards())["settings"] == []


def test_settings_beside_those_of_the_name() -> None:
    made = make_policy("deficit:weight=0.5,window=10", 1, {"window": 30}, served={"weight": 2.0, "log_base": 2.0})
    assert (made.weight, made.window) == (0.5, 30)  # type: ignore[attr-defined]
    assert make_policy("deficit", 1, served={"weight": 2.0}).weight == 2.0  # type: ignore[attr-defined]
