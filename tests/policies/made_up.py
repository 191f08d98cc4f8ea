"""Candidates and targets for the tests of policies, over the dimensions of the track."""

from __future__ import annotations

from evenrank.core.groups import GroupSpace
from evenrank.testing import AGE, TASK1, TASK2, random_candidates
from evenrank.testing import make_target as make_target_of
from evenrank.trec.dimensions import GENDER, GEOGRAPHY

__all__ = ["AGE", "GEOGRAPHY_AND_GENDER", "TASK1", "TASK2", "make_candidates", "target_of"]

GEOGRAPHY_AND_GENDER = GroupSpace((GEOGRAPHY, GENDER))


def make_candidates(n_pages, seed=1, space=GEOGRAPHY_AND_GENDER, masks=None, relevance=None):
    """Candidates with falling scores; see `evenrank.testing.random_candidates`."""
    return random_candidates(n_pages, seed, space, masks, relevance)


def target_of(candidates, request, space=GEOGRAPHY_AND_GENDER):
    """The target that a system would estimate from these candidates."""
    return make_target_of(candidates, request, space)
