"""What a measure sees of one topic: the ranked pages, what is relevant, the groups' exposure and their target."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.alignment import Alignment
from evenrank.exposure import discounts
from evenrank.protocol import Protocol
from evenrank.records import Task


@dataclass(frozen=True, eq=False)
class TopicView:
    """The rankings of one topic beside its judgments. Task 1 has one ranking, Task 2 a sequence of them."""

    task: Task
    protocol: Protocol
    pages: NDArray[np.int32]
    """Ranked pages that are scored, ranking after ranking."""
    ranks: NDArray[np.intp]
    """Rank of each page, from 0."""
    rankings: NDArray[np.intp]
    """Number of the ranking that each page is in, from 0."""
    n_rankings: int
    """Rankings over which means are taken, those that count as empty included."""
    depth: int
    """Ranks of a full ranking that are scored."""
    ideal_depth: int
    """Longest ideal ranking in nDCG."""
    is_relevant: NDArray[np.bool_]
    """Which of `pages` are relevant."""
    n_relevant: int
    """Relevant pages of the topic."""
    alignment: Alignment
    """Groups of `pages`."""
    full_target: NDArray[np.float64]
    """Wanted exposure of each group, the fully unknown one included."""
    values: dict[str, float] = field(default_factory=dict)
    """Measures computed so far, by name."""

    @cached_property
    def attention(self) -> NDArray[np.floating]:
        """Attention that each ranked page gets by its rank."""
        n_ranks = int(self.ranks.max(initial=-1)) + 1
        return discounts(n_ranks, self.protocol.discount_type)[self.ranks]

    @cached_property
    def full_exposure(self) -> NDArray[np.float64]:
        """Attention that the rankings give to each group; 0 for the fully unknown one where it does not count."""
        weights = self.attention.astype(np.float64)
        if self.task == 1:
            share = max(float(self.attention.sum()), 1.0)
        else:
            weights = weights * self.is_relevant if self.protocol.relevant_exposure else weights
            share = max(1.0, self.n_rankings)
        exposure: NDArray[np.float64] = self.alignment.total(weights) / share
        exposure[: self._first] = 0.0
        return exposure

    @property
    def _first(self) -> int:
        """First group that counts: Task 1 of 2021 leaves out the fully unknown one."""
        return 1 if self.task == 1 and not self.protocol.keeps_unknown_task1 else 0

    @property
    def exposure(self) -> NDArray[np.float64]:
        """Exposure of each group that counts."""
        return self.full_exposure[self._first :]

    @property
    def target(self) -> NDArray[np.float64]:
        """Wanted exposure of each group that counts, beside `exposure`."""
        return self.full_target[self._first :]

    @cached_property
    def exposes_nothing(self) -> bool:
        """Whether no group that counts gets any attention."""
        return float(self.exposure.sum()) <= 0.0

    @cached_property
    def _cuts(self) -> dict[int, TopicView]:
        return {}

    def cut(self, depth: int) -> TopicView:
        """The view of the first `depth` ranks, with an ideal ranking of the same depth."""
        if depth not in self._cuts:
            kept = np.flatnonzero(self.ranks < depth)
            self._cuts[depth] = replace(
                self,
                pages=self.pages[kept],
                ranks=self.ranks[kept],
                rankings=self.rankings[kept],
                depth=depth,
                ideal_depth=depth,
                is_relevant=self.is_relevant[kept],
                alignment=self.alignment.take(kept),
                values={},
            )
        return self._cuts[depth]

    def emptied(self) -> TopicView:
        """The same topic with rankings that have no pages."""
        return replace(self.cut(0), depth=self.depth, ideal_depth=self.ideal_depth, values={})
