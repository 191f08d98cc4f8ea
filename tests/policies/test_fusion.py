"""Data fusion, worked out by hand."""

from __future__ import annotations

import numpy as np

from evenrank.policies.mixtures import by_dimension, fuse
from evenrank.policies.policy import Request

from .made_up import GEOGRAPHY_AND_GENDER, make_candidates, target_of

LISTS = [np.array([0, 1, 2, 3]), np.array([2, 0, 4, 5])]


def test_combsum_adds_falling_scores() -> None:
    # list 1 gives 1, .75, .5, .25; sums: 0 → 1.75, 1 → .75, 2 → 1.5, 3 → .25, 4 → .5, 5 → .25
    assert fuse(LISTS, 6, "combsum").tolist() == [0, 2, 1, 4, 3, 5]


def test_combmnz_rewards_pages_in_both_lists() -> None:
    lists = [np.array([0, 1, 2, 3]), np.array([4, 5, 6, 3])]
    # CombSUM: 0 and 4 → 1, 1 and 5 → .75, 3 → .5, 2 and 6 → .5; CombMNZ doubles page 3 to 1
    assert fuse(lists, 7, "combsum").tolist() == [0, 4, 1, 5, 2, 3, 6]
    assert fuse(lists, 7, "combmnz").tolist() == [0, 3, 4, 1, 5, 2, 6]


def test_reciprocal_ranks() -> None:
    # 1/61 + 1/62 for page 0; 1/63 + 1/61 for 2; 1/62 for 1; 1/63 for 4; 1/64 for 3 and 5
    assert fuse(LISTS, 6, "rrf", k=60).tolist() == [0, 2, 1, 4, 3, 5]
    # k = 0: page 9 first in one list (1) beats page 8, second in two lists (1/2 + 1/2): a tie, met first wins
    lists = [np.array([7, 8]), np.array([9, 8])]
    assert fuse(lists, 10, "rrf", k=0).tolist() == [7, 8, 9]
    assert fuse(lists, 10, "rrf", k=60).tolist() == [8, 7, 9]


def test_no_lists_no_pages() -> None:
    assert fuse([], 3, "rrf").tolist() == []
    assert fuse([np.empty(0, np.intp)], 3, "combsum").tolist() == []


def test_each_dimension_is_seen_alone() -> None:
    candidates = make_candidates(60)
    target = target_of(candidates, Request(2, 1, 1))
    views = list(by_dimension(candidates, target))
    assert [view.space.names for _, view in views] == [d.groups for d in GEOGRAPHY_AND_GENDER.dimensions]
    full = candidates.alignment.dense().reshape(60, 8, 4)
    np.testing.assert_allclose(views[0][0].alignment.dense(), full.sum(axis=2))
    np.testing.assert_allclose(views[1][0].alignment.dense(), full.sum(axis=1))
    np.testing.assert_allclose(views[1][1].values, target.values.reshape(8, 4).sum(axis=0))
