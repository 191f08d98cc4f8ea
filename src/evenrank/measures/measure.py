"""A measure that carries its facts and computes itself, and the view of one topic that it computes from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.exposure import discounts, page_attention
from evenrank.core.groups import GroupSpace
from evenrank.core.protocol import Protocol
from evenrank.core.records import Task
from evenrank.core.sparse_alignment import SparseAlignment
from evenrank.core.sparse_target import SparseTarget
from evenrank.measures.published_groups import PublishedGroups, PublishedView
from evenrank.measures.relevant_pages import RelevantPages


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure that computes itself: `measure(view)` is its value on one topic."""

    name: str
    """Name in tables and JSON."""
    tasks: tuple[Task, ...]
    """Tasks whose runs it can score."""
    label: str
    """What it measures, in a few words."""
    formula: str
    higher_is_better: bool
    low: float
    """Smallest possible value."""
    high: float
    """Largest possible value."""
    if_empty: float | Callable[[TopicView], float]
    """Value of a ranking without pages; a function where the topic or the protocol decides."""
    citation: str
    compute: Callable[[TopicView], float]
    """Value on one topic; NaN where it is undefined."""
    official_in: tuple[Task, ...] = ()
    """Tasks of the track whose published tables have it; in the others it is a companion, which shows relevance."""
    on_request: bool = False
    """Whether it is computed only when it is asked for by name."""
    heading_has_depth: bool = False
    """Whether a companion's heading names the depth that is scored, as in `P@20`."""
    depth: int | None = None
    """Ranks that are considered; None for all that the protocol scores."""

    def __call__(self, view: TopicView) -> float:
        """The value on one topic, computed once for each view."""
        seen = view if self.depth is None else view.cut(self.depth)
        if self.name not in seen.values:
            seen.values[self.name] = float(self.compute(seen))
        return seen.values[self.name]

    @property
    def key(self) -> str:
        """Name with its depth, as in `nDCG@10`; the key of its values."""
        return self.name if self.depth is None else f"{self.name}@{self.depth}"

    def at(self, depth: int) -> Measure:
        """The same measure on the first `depth` ranks."""
        return replace(self, depth=depth)

    def heading(self, task: Task, protocol: Protocol) -> str:
        """Heading of a column."""
        if self.depth is None and self.heading_has_depth and self.is_companion(task):
            return f"{self.name}@{protocol.depth(task)}"
        return self.key

    def is_companion(self, task: Task) -> bool:
        """Whether it is printed beside the track's measures of a task and is not one of them."""
        return task not in self.official_in

    def facts(self) -> dict[str, Any]:
        """What is known of it, for lists and documentation; None for an infinite bound or a value that varies."""
        return {
            "name": self.name,
            "tasks": list(self.tasks),
            "label": self.label,
            "formula": self.formula,
            "higher_is_better": self.higher_is_better,
            "low": self.low if math.isfinite(self.low) else None,
            "high": self.high if math.isfinite(self.high) else None,
            "if_empty": None if callable(self.if_empty) else self.if_empty,
            "citation": self.citation,
            "official_in": list(self.official_in),
            "on_request": self.on_request,
        }

    def empty_value(self, view: TopicView) -> float:
        """Value of a ranking without pages on the topic of `view`."""
        return self.if_empty(view) if callable(self.if_empty) else self.if_empty


@dataclass(frozen=True)
class ComparedGroups:
    """Exposure of groups beside their target.

    Of spaces with very many groups only those with exposure are listed; the others have a target and no exposure, and
    are summed up.
    """

    exposure: NDArray[np.float64]
    target: NDArray[np.float64]
    unexposed_target: float = 0.0
    """Wanted exposure of all groups that are not listed."""
    unexposed_squares: float = 0.0
    """Sum of the squares of their wanted exposures."""
    published: PublishedGroups | None = None
    """The same groups for measures of the track that must round as the organisers' code does."""

    @property
    def squared_target(self) -> float:
        """Sum of squares of all wanted exposures, ‖ε*‖²."""
        return float(self.target @ self.target) + self.unexposed_squares


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
    alignment: Alignment | SparseAlignment
    """Groups of `pages`."""
    full_target: NDArray[np.float64] | SparseTarget
    """Wanted exposure of each group, the fully unknown one included."""
    relevant: RelevantPages
    """The relevant pages one by one."""
    drops_unknown: bool
    """Whether the first group, of pages of which nothing is known, does not count."""
    is_ordered: bool = False
    """Whether the groups come in an order that means something, as bands of popularity do."""
    published: PublishedView | None = None
    """Pages and target, where scores must be rounded as in the published code."""
    values: dict[str, float] = field(default_factory=dict)
    """Measures computed so far, by name."""

    @cached_property
    def attention(self) -> NDArray[np.floating]:
        """Attention that each ranked page gets by its rank, as the protocol says that people read."""
        model, dtype = self.protocol.attention_model, self.protocol.discount_type
        return page_attention(model, self.ranks, self.rankings, self.is_relevant, dtype)

    @cached_property
    def gain_discounts(self) -> NDArray[np.floating]:
        """Log discount of each ranked page by its rank, which nDCG uses whatever the attention."""
        return discounts(self._n_ranks, self.protocol.discount_type)[self.ranks]

    @property
    def _n_ranks(self) -> int:
        return int(self.ranks.max(initial=-1)) + 1

    @cached_property
    def _weights(self) -> tuple[NDArray[np.float64], float]:
        """Weight of each ranked page in the exposure, and what the sum is divided by."""
        weights = self.attention.astype(np.float64)
        if self.task == 1:
            return weights, max(float(self.attention.sum()), 1.0)
        return weights * self.is_relevant if self.protocol.relevant_exposure else weights, max(1.0, self.n_rankings)

    @cached_property
    def full_exposure(self) -> NDArray[np.float64]:
        """Attention that the rankings give to each group; 0 for the fully unknown one where it does not count."""
        weights, share = self._weights
        exposure: NDArray[np.float64] = self.alignment.total(weights) / share
        if self.drops_unknown:
            exposure[0] = 0.0
        return exposure

    @cached_property
    def groups(self) -> ComparedGroups:
        """Exposure and target of the groups that count; of very many, those that get exposure."""
        if not isinstance(self.full_target, SparseTarget):
            first = 1 if self.drops_unknown else 0
            return ComparedGroups(self.full_exposure[first:], self.full_target[first:])
        weights, share = self._weights
        assert isinstance(self.alignment, SparseAlignment)
        given = self.alignment.sparse_total(weights)
        wanted = self.full_target.at(given.cells)
        return ComparedGroups(
            given.values / share,
            wanted,
            unexposed_target=max(0.0, self.full_target.total - float(wanted.sum())),
            unexposed_squares=max(0.0, self.full_target.squared_norm - float(wanted @ wanted)),
            published=self._published_groups(),
        )

    def _published_groups(self) -> PublishedGroups | None:
        if self.published is None:
            return None
        if self.task == 1:
            return self.published.groups(self.attention, np.ones(len(self.pages), bool), None)
        is_counted = self.is_relevant | (not self.protocol.relevant_exposure)
        return self.published.groups(self.attention, is_counted, max(1, self.n_rankings))

    def margin_of_exposure(self, space: GroupSpace, part: GroupSpace) -> NDArray[np.float64]:
        """Exposure of the groups of `part`, a space of some dimensions of `space`, summed over the others."""
        if not isinstance(self.full_target, SparseTarget):
            return _margin(self.full_exposure, space, part)
        assert isinstance(self.alignment, SparseAlignment)
        given = self.alignment.sparse_total(self._weights[0])
        cells = space.cells_in(part, given.cells)
        return np.bincount(cells, given.values, minlength=part.n_groups) / self._weights[1]

    def margin_of_target(self, space: GroupSpace, part: GroupSpace) -> NDArray[np.float64]:
        """Target of the groups of `part`, a space of some dimensions of `space`, summed over the others."""
        if isinstance(self.full_target, SparseTarget):
            return self.full_target.margin(part).dense()
        return _margin(self.full_target, space, part)

    @property
    def exposure(self) -> NDArray[np.float64]:
        """Exposure of each group in `groups`."""
        return self.groups.exposure

    @property
    def target(self) -> NDArray[np.float64]:
        """Wanted exposure of each group in `groups`."""
        return self.groups.target

    @cached_property
    def exposes_nothing(self) -> bool:
        """Whether no group that counts gets any attention."""
        return float(self.exposure.sum()) <= 0.0

    @cached_property
    def wants_nothing(self) -> bool:
        """Whether the target is empty, because no relevant page is in a group: nothing can be compared with it."""
        return float(self.target.sum()) + self.groups.unexposed_target <= 0.0

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
                published=None,
                values={},
            )
        return self._cuts[depth]

    def emptied(self) -> TopicView:
        """The same topic with rankings that have no pages."""
        return replace(self.cut(0), depth=self.depth, ideal_depth=self.ideal_depth, values={})


def _margin(values: NDArray[np.float64], space: GroupSpace, part: GroupSpace) -> NDArray[np.float64]:
    if part == space:
        return values
    cells = space.cells_in(part, np.arange(space.n_groups))
    return np.asarray(np.bincount(cells, values, minlength=part.n_groups), np.float64)
