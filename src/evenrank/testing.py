"""Checks for policies and measures of your own: what holds for every built-in one must hold for yours.

    from evenrank.testing import check_measure, check_policy

    def test_my_policy():
        check_policy(my_policy)

Both raise AssertionError with the first promise that is broken and the case that breaks it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment, align
from evenrank.core.exposure import LOG
from evenrank.core.groups import Dimension, GroupSpace
from evenrank.core.problem import GradedItems, QueryBatch, QueryView
from evenrank.core.protocol import PAPER_2021
from evenrank.core.records import NO_CLASS, Task
from evenrank.core.rng import derive
from evenrank.core.target import EstimatedTarget
from evenrank.measures.registry import Named, as_measure
from evenrank.policies.policy import Candidates, Request
from evenrank.policies.registry import PolicyEntry, make_policy
from evenrank.trec.target_choice import estimated_target

REGION = Dimension(
    name="region",
    field="region",
    groups=("unknown", "north", "south", "east", "west"),
    background=(0.4, 0.3, 0.2, 0.1),
    encode=lambda value: 1,
    source="made for tests",
)
AGE = Dimension(
    name="age",
    field="age",
    groups=("unknown", "young", "old"),
    background=(0.4, 0.6),
    encode=lambda value: 1,
    source="made for tests",
)
SPACE = GroupSpace((REGION, AGE))
TASK1 = Request(task=1, n_rankings=1, length=40)
TASK2 = Request(task=2, n_rankings=12, length=10)


def random_candidates(
    n_pages: int,
    seed: int = 1,
    space: GroupSpace = SPACE,
    masks: Sequence[NDArray[np.unsignedinteger]] | None = None,
    relevance: NDArray[np.float64] | None = None,
) -> Candidates:
    """Candidates with falling scores; a third of the pages is unknown in each dimension, some are in two groups."""
    rng = np.random.default_rng(seed)
    masks = masks or [_masks(rng, n_pages, len(dimension.groups)) for dimension in space.dimensions]
    scores = np.sort(rng.gamma(2.0, 4.0, n_pages))[::-1].copy()
    vectors = rng.normal(size=(n_pages, 8)).astype(np.float32)
    return Candidates(
        topic_id=7,
        page_ids=rng.permutation(np.arange(10, 10 + n_pages, dtype=np.int32)),
        relevance=1.0 / (1.0 + np.exp(8.0 - scores)) if relevance is None else relevance,
        scores=scores,
        work_needed=rng.random(n_pages),
        quality_class=rng.integers(0, NO_CLASS + 1, n_pages).astype(np.uint8),
        alignment=align(masks, space, [True] * len(space.dimensions)),
        vectors=vectors / np.linalg.norm(vectors, axis=1, keepdims=True),
    )


def _masks(rng: np.random.Generator, n_pages: int, n_groups: int) -> NDArray[np.unsignedinteger]:
    first, second = rng.integers(1, n_groups, n_pages), rng.integers(1, n_groups, n_pages)
    both = (1 << first) | np.where(rng.random(n_pages) < 0.1, 1 << second, 0)
    return np.where(rng.random(n_pages) < 1 / 3, 1, both).astype(np.uint32)


def make_target(candidates: Candidates, request: Request, space: GroupSpace = SPACE) -> EstimatedTarget:
    """The target that a system would estimate from these candidates."""
    return estimated_target(
        candidates.topic_id,
        request.task,
        candidates.relevance,
        candidates.quality_class,
        candidates.alignment,
        space,
    )


def check_policy(policy: str | PolicyEntry, **settings: Any) -> None:
    """Check that a policy ranks whatever it is given, validly and reproducibly, in every task that it serves.

    Among the cases are no candidate, fewer candidates than ranks, pages without a known group, a single group, equal
    relevance, and a target that asks for a group of which there is no candidate.
    """
    tasks: tuple[Task, ...] = make_policy(policy).tasks
    assert tasks, f"{policy}: serves no task"
    for task in tasks:
        chosen = make_policy(policy, task, settings)
        request = TASK1 if task == 1 else TASK2
        for case, candidates, target in _policy_cases(request):
            place = f"{chosen.name}, Task {task}, {case}"
            before = candidates.relevance.copy()
            first = chosen.rank(candidates, target, request, derive(3, candidates.topic_id)).positions
            again = chosen.rank(candidates, target, request, derive(3, candidates.topic_id)).positions
            check_positions(first, len(candidates), request, place)
            assert np.array_equal(first, again), f"{place}: the same seed gives other rankings (use `rng` alone)"
            assert np.array_equal(before, candidates.relevance), f"{place}: changes the candidates"


def check_positions(positions: NDArray[np.intp], n_candidates: int, request: Request, place: str) -> None:
    """Assert that rankings are full, of whole numbers, inside the candidates and without repetition."""
    wanted = (request.n_rankings, min(request.length, n_candidates))
    assert positions.shape == wanted, f"{place}: rankings by ranks are {positions.shape}, not {wanted}"
    assert np.issubdtype(positions.dtype, np.integer), f"{place}: positions are {positions.dtype}"
    for ranking in positions:
        assert len(set(ranking.tolist())) == len(ranking), f"{place}: a candidate appears twice in one ranking"
        assert all(0 <= position < n_candidates for position in ranking.tolist()), f"{place}: a position is outside"


def _policy_cases(request: Request) -> Iterator[tuple[str, Candidates, EstimatedTarget]]:
    def case(name: str, candidates: Candidates) -> tuple[str, Candidates, EstimatedTarget]:
        return name, candidates, make_target(candidates, request)

    yield case("120 candidates", random_candidates(120))
    for n_pages in (0, 1, 2, 9):
        yield case(f"{n_pages} candidates", random_candidates(9).take(np.arange(n_pages)))
    kinds = {"all groups unknown": 1, "one group only": 1 << 3, "pages of no group": 0}
    for name, mask in kinds.items():
        yield case(name, random_candidates(60, masks=[np.full(60, mask, np.uint32), np.full(60, mask & 1, np.uint32)]))
    for value in (0.0, 0.3, 1.0):
        yield case(f"relevance {value} everywhere", random_candidates(80, relevance=np.full(80, value)))
    idle = random_candidates(80)
    idle.work_needed[:] = 0.0
    yield case("no work needed", idle)
    southern = random_candidates(60, masks=[np.full(60, 1 << 2, np.uint32), np.ones(60, np.uint32)])
    shares = np.zeros((5, 3))
    shares[1, 0], shares[2, 0] = 0.9, 0.1
    yield "a wanted group without candidates", southern, EstimatedTarget(7, SPACE, shares.reshape(-1))


def check_measure(measure: Named) -> None:
    """Check that a measure computes whatever it is given, within its bounds, and states its value of an empty ranking.

    Among the cases are rankings without a relevant item or a known group, a target that is empty, an empty ranking and
    a sequence of several; over a batch of queries the values must be those of each query alone.
    """
    chosen = as_measure(measure)
    assert chosen.tasks, f"{chosen.key}: serves no task"
    assert chosen.low < chosen.high, f"{chosen.key}: low is {chosen.low}, high is {chosen.high}"
    for task in chosen.tasks:
        for case, view in _measure_cases(task):
            place = f"{chosen.key}, Task {task}, {case}"
            value = chosen(view)
            is_inside = math.isnan(value) or chosen.low - 1e-9 <= value <= chosen.high + 1e-9
            assert is_inside, f"{place}: {value} is not from {chosen.low} to {chosen.high}"
            again = chosen(QueryView(replace(view.batch, values={})))
            assert value == again or (math.isnan(value) and math.isnan(again)), f"{place}: again, it is {again}"
            empty, stated = chosen(view.emptied()), chosen.empty_value(view)
            is_stated = math.isclose(empty, stated, abs_tol=1e-9) or (math.isnan(empty) and math.isnan(stated))
            assert is_stated, f"{place}: an empty ranking gets {empty}, and if_empty says {stated}"


def _measure_cases(task: Task) -> Iterator[tuple[str, QueryView]]:
    def case(groups: list[int], is_relevant: list[bool], target: list[float], n_rankings: int = 1) -> QueryView:
        n_ranks = len(groups) // n_rankings
        relevant = np.flatnonzero(is_relevant)
        eye = np.eye(len(target))
        ids = np.arange(len(groups), dtype=np.intp)
        alignment = Alignment(eye, np.array(groups, np.intp))
        items = GradedItems(relevant, np.ones(len(relevant)), alignment, LOG)
        return QueryView(
            QueryBatch(
                attention_model=PAPER_2021.attention_model,
                protocol=PAPER_2021,
                items=ids,
                pairs=np.zeros(len(ids), np.intp),
                ranks=np.tile(np.arange(n_ranks), n_rankings),
                rankings=np.repeat(np.arange(n_rankings), n_ranks),
                n_rankings=np.array([n_rankings]),
                depth=np.array([max(1, n_ranks)]),
                ideal_depth=np.array([max(1, n_ranks)]),
                gains=np.array(is_relevant, bool),
                n_relevant=np.array([len(relevant) + 3]),
                alignment=alignment,
                full_target=np.array(target)[None],
                relevant_items=items,
                drops_unknown=task == 1,
                is_share=task == 1,
                is_exact=True,
            )
        )

    shares = [0.0, 0.5, 0.3, 0.2]
    yield "six items", case([1, 2, 3, 1, 0, 1], [True, False, True, False, False, True], shares)
    yield "nothing relevant", case([1, 2, 3], [False] * 3, shares)
    yield "all relevant", case([1, 2, 3], [True] * 3, shares)
    yield "no known group", case([0, 0], [True, False], shares)
    yield "one group only", case([1, 1, 1], [True, False, True], shares)
    yield "an empty target", case([1, 2], [True, False], [0.0] * 4)
    yield "twelve items", case([1, 2] * 6, [True, False, False] * 4, shares)
    yield "no item", case([], [], shares)
    if task == 2:
        yield "three rankings", case([1, 2, 3, 1, 1, 2], [True, False] * 3, shares, 3)
