"""Topics for benchmarks of policies: candidates with calibrated relevance and skewed groups, made from a seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenrank.core.alignment import align
from evenrank.core.groups import Dimension, GroupSpace
from evenrank.core.records import Task
from evenrank.core.rng import derive
from evenrank.core.target import EstimatedTarget
from evenrank.policies.policy import Candidates
from evenrank.trec.dimensions import GENDER, GEOGRAPHY
from evenrank.trec.target_choice import estimated_target

TRACK = GroupSpace((GEOGRAPHY, GENDER))
QUALITY_SHARES = (0.45, 0.30, 0.13, 0.08, 0.03, 0.01)
N_RELEVANT = 300
TWO_GROUPS = 0.015
"""Share of the pages known in a dimension that are in two groups of it: about 1 % of English Wikipedia's are."""
CONCENTRATION = 20.0
"""How alike topics are; smaller means more skewed."""
CORPUS = np.array(
    [
        [2069220, 82194, 405772, 185],
        [77658, 10483, 43467, 8],
        [9625, 0, 1, 0],
        [427422, 37998, 135310, 21],
        [765203, 96797, 427747, 63],
        [101464, 16166, 67764, 4],
        [721244, 82543, 330205, 159],
        [92682, 14524, 50726, 20],
    ]
)
"""Pages of the track's corpus of 2021 by geography and gender, as the organisers printed them."""


def made_up_space(sizes: Sequence[int]) -> GroupSpace:
    """Dimensions with these numbers of groups and uneven backgrounds."""
    return GroupSpace(tuple(_dimension(index, size) for index, size in enumerate(sizes)))


def _dimension(index: int, size: int) -> Dimension:
    shares = 1.0 / np.arange(1, size) ** 1.2
    return Dimension(
        name=f"d{index}",
        field=f"d{index}",
        groups=tuple(f"g{group}" for group in range(size)),
        background=tuple((shares / shares.sum()).tolist()),
        encode=lambda value: 1,
        source="made up",
    )


def make_topic(
    seed: int, task: Task, n_pages: int = 5000, space: GroupSpace = TRACK
) -> tuple[Candidates, EstimatedTarget]:
    """Candidates by falling relevance, whose groups are related to it, and the target estimated from them."""
    rng = derive(seed, "benchmark topic")
    masks = _masks(rng, n_pages, space)
    alignment = align(masks, space, [True] * len(masks))
    favour = rng.normal(0.0, 0.8, len(alignment.rows))[alignment.page_type]
    evidence = np.sort(rng.gamma(2.0, 3.0, n_pages))[::-1]
    cut = np.quantile(evidence, max(0.0, 1.0 - N_RELEVANT / n_pages))
    relevance = 1.0 / (1.0 + np.exp(0.5 - 0.35 * (evidence - cut) - favour - rng.normal(0.0, 0.3, n_pages)))
    order = np.argsort(-relevance, kind="stable")
    quality = rng.choice(6, n_pages, p=QUALITY_SHARES).astype(np.uint8)
    candidates = Candidates(
        topic_id=seed,
        page_ids=np.arange(n_pages, dtype=np.int32),
        relevance=relevance[order],
        scores=evidence,
        work_needed=np.clip(1.0 - (quality + rng.random(n_pages)) / 6.0, 0.0, 1.0),
        quality_class=quality,
        alignment=alignment.take(order),
    )
    target = estimated_target(
        seed, task, candidates.relevance, quality, candidates.alignment, space, keep_unknown=task == 2
    )
    return candidates, target


def _masks(rng: np.random.Generator, n_pages: int, space: GroupSpace) -> list[np.ndarray]:
    """A mask for each page and dimension: one cell by the topic's own shares, for a few pages a second group."""
    typical = CORPUS / CORPUS.sum() if space is TRACK else _typical(space)
    shares = rng.dirichlet(CONCENTRATION * typical.reshape(-1) + 1e-9)
    cells = np.unravel_index(rng.choice(space.n_groups, n_pages, p=shares), space.shape)
    masks = []
    for first, n_groups in zip(cells, space.shape, strict=True):
        second = rng.integers(1, n_groups, n_pages)
        is_two = (rng.random(n_pages) < TWO_GROUPS) & (first > 0)
        masks.append(((1 << first) | np.where(is_two, 1 << second, 0)).astype(np.uint32))
    return masks


def _typical(space: GroupSpace) -> np.ndarray:
    """Shares of the cells of a made-up space: independent dimensions, the first group of each the largest."""
    shares = np.ones(())
    for size in space.shape:
        falling = 1.0 / np.arange(1, size + 1)
        shares = np.multiply.outer(shares, falling / falling.sum())
    return shares
