"""Candidates small enough to work out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenrank.core.alignment import Alignment
from evenrank.core.groups import Dimension, GroupSpace
from evenrank.core.target import EstimatedTarget
from evenrank.policies.policy import Candidates

SIDES = GroupSpace(
    (
        Dimension(
            name="side",
            field="side",
            groups=("unknown", "left", "right"),
            background=(0.25, 0.75),
            encode=lambda value: 1,
            source="made up",
        ),
    )
)
UNKNOWN, LEFT, RIGHT = range(3)


def pages(groups: Sequence[int], relevance: Sequence[float], work: Sequence[float] | None = None) -> Candidates:
    """One page for each group number given, each in that group alone."""
    n_pages = len(groups)
    return Candidates(
        topic_id=1,
        page_ids=np.arange(100, 100 + n_pages, dtype=np.int32),
        relevance=np.array(relevance, float),
        scores=np.array(relevance, float),
        work_needed=np.ones(n_pages) if work is None else np.array(work, float),
        quality_class=np.zeros(n_pages, np.uint8),
        alignment=Alignment(np.eye(3), np.array(groups, np.intp)),
    )


def wanting(left: float, right: float, unknown: float = 0.0) -> EstimatedTarget:
    """A target over the three groups."""
    return EstimatedTarget(1, SIDES, np.array([unknown, left, right]))
