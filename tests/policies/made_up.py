"""Candidates and targets for the tests of policies, made from a seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenrank.core.alignment import align
from evenrank.core.groups import Dimension, GroupSpace
from evenrank.core.records import NO_CLASS
from evenrank.core.target import EstimatedTarget
from evenrank.policies.policy import Candidates, Request
from evenrank.trec.dimensions import GENDER, GEOGRAPHY
from evenrank.trec.target_choice import estimated_target

AGE = Dimension(
    name="age",
    field="age",
    groups=("unknown", "young", "old"),
    background=(0.4, 0.6),
    encode=lambda value: 1,
    source="made up",
)
GEOGRAPHY_AND_GENDER = GroupSpace((GEOGRAPHY, GENDER))
TASK1 = Request(task=1, n_rankings=1, length=40)
TASK2 = Request(task=2, n_rankings=12, length=10)


def make_candidates(
    n_pages: int,
    seed: int = 1,
    space: GroupSpace = GEOGRAPHY_AND_GENDER,
    masks: Sequence[np.ndarray] | None = None,
    relevance: np.ndarray | None = None,
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


def _masks(rng: np.random.Generator, n_pages: int, n_groups: int) -> np.ndarray:
    first, second = rng.integers(1, n_groups, n_pages), rng.integers(1, n_groups, n_pages)
    both = (1 << first) | np.where(rng.random(n_pages) < 0.1, 1 << second, 0)
    return np.where(rng.random(n_pages) < 1 / 3, 1, both).astype(np.uint32)


def target_of(candidates: Candidates, request: Request, space: GroupSpace = GEOGRAPHY_AND_GENDER) -> EstimatedTarget:
    """The estimate a system would make from these candidates."""
    return estimated_target(
        candidates.topic_id,
        request.task,
        candidates.relevance,
        candidates.quality_class,
        candidates.alignment,
        space,
    )
