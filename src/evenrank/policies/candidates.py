"""What a policy knows about a topic: candidate pages with relevance, work needed and groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.alignment import Alignment
from evenrank.policies.beliefs import Beliefs
from evenrank.records import Task


@dataclass(frozen=True)
class Candidates:
    """The pages a policy may rank for one topic, best first; arrays run beside each other."""

    topic_id: int
    page_ids: NDArray[np.int32]
    relevance: NDArray[np.float64]
    """Probability that the page is relevant, calibrated."""
    scores: NDArray[np.float64]
    """Score of the search engine, higher is better; any scale."""
    work_needed: NDArray[np.float64]
    """1 − quality score, in [0, 1]."""
    quality_class: NDArray[np.uint8]
    """Quality class in work order (`records.WORK_ORDER`); `records.NO_CLASS` when unknown."""
    alignment: Alignment
    """Group weights of each page, as the protocol that is served counts them; zeros for a page of no group."""
    vectors: NDArray[np.float32] | None = None
    """Text vector of each page, of length 1; None when no policy asked for them."""
    beliefs: Beliefs | None = None
    """What is expected of groups that the scorer looks at and the system does not know; None when it knows them all."""

    def __len__(self) -> int:
        return len(self.page_ids)

    @cached_property
    def divided(self) -> Alignment:
        """The alignment with every page shared between its groups, so that a page of two groups counts once.

        What a group is owed is a sum over the groups of a page; shared, it is their mean, and a page has no advantage
        from being in many groups.
        """
        rows = self.alignment.rows
        return Alignment(rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0), self.alignment.page_type)

    def utility(self, task: Task) -> NDArray[np.float64]:
        """What showing each page is worth, the best page 1: relevance, in Task 2 times the work needed."""
        worth = self.relevance * self.work_needed if task == 2 else self.relevance
        best = worth.max(initial=0.0)
        return worth / best if best > 0.0 else np.zeros(len(self))

    def take(self, positions: NDArray[np.integer]) -> Candidates:
        """Some of the candidates, in the order asked for."""
        return replace(
            self,
            page_ids=self.page_ids[positions],
            relevance=self.relevance[positions],
            scores=self.scores[positions],
            work_needed=self.work_needed[positions],
            quality_class=self.quality_class[positions],
            alignment=self.alignment.take(positions),
            vectors=None if self.vectors is None else self.vectors[positions],
            beliefs=None if self.beliefs is None else self.beliefs.take(positions),
        )
