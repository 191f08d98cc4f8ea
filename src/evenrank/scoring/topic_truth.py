"""What is true of a topic: its relevant pages, its targets, and the view of it that measures score."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.exposure import Attention
from evenrank.core.groups import GroupNames, GroupSpace
from evenrank.core.problem import QueryBatch, QueryView
from evenrank.core.protocol import Protocol
from evenrank.core.records import NO_CLASS, Run, Task, Topic
from evenrank.core.sparse import SparseAlignment, SparseTarget, SparseVector, blended_part, unblended_part
from evenrank.core.target import TrueTarget
from evenrank.scoring.protocol_settings import protocol_space, settle_protocol
from evenrank.scoring.ranked_pages import RankedPages, align_pages, align_pages_sparsely, scored_pages, unranked
from evenrank.trec.collection import Collection
from evenrank.trec.true_target import page_target, task1_target, task2_target, work_exposure

if TYPE_CHECKING:
    from evenrank.trec.published_target import PublishedLayout, PublishedPages, PublishedView

DENSE_TARGET = 1 << 16
"""Largest number of groups over which a target is kept as a dense array."""


@dataclass(frozen=True)
class TopicTruth:
    """The judgments of one topic under one protocol and group space."""

    collection: Collection
    topic: Topic
    protocol: Protocol
    space: GroupSpace
    layout: PublishedLayout | None = None
    """Where to round as the published code does; None to sum in any order."""

    @cached_property
    def attention(self) -> Attention:
        """How people read."""
        return self.protocol.attention_model

    @property
    def _rows(self) -> NDArray[np.intp]:
        """Rows of the relevant pages that have metadata; the others count in nDCG, never in a target."""
        return self.collection.relevant_rows(self.topic)

    @cached_property
    def _classes(self) -> NDArray[np.uint8]:
        return self.collection.quality_class[self._rows]

    @cached_property
    def _alignment(self) -> Alignment | SparseAlignment:
        """Groups of the relevant pages, kept for the targets of both tasks."""
        return self._align(self.space)

    def _align(self, space: GroupSpace) -> Alignment | SparseAlignment:
        return align_pages(self.collection, self._rows, space, self.protocol)

    @cached_property
    def task1_target(self) -> NDArray[np.float64] | SparseTarget:
        """Wanted distribution over groups, the fully unknown cell first (0 when the protocol drops it)."""
        if self.protocol.target_sum == "one":
            keep = self.protocol.keeps_unknown(1)
            return task1_target(self._alignment, self.space, keep_unknown=keep, weight=self.protocol.blend)
        return self._by_pages(np.ones(len(self._rows)), float(len(self._rows)))

    @cached_property
    def task2_target(self) -> NDArray[np.float64] | SparseTarget:
        """Wanted distribution over groups; times `exposure_scale` it is the wanted exposure."""
        dtype, attention = self.protocol.discount_type, self.attention
        if self.protocol.target_sum == "one":
            return task2_target(self._alignment, self._classes, self.space, dtype, attention, self.protocol.blend)
        from evenrank.trec.published_target import single_sum

        weights = work_exposure(self._classes, dtype, attention).astype(dtype)
        return self._by_pages(weights, None if len(self.space.dimensions) == 1 else single_sum(weights))

    def _by_pages(self, weights: NDArray[np.floating], divisor: float | None) -> NDArray[np.float64] | SparseTarget:
        """The target of pages with those weights: of the space itself, or the margin of the protocol's full target."""
        if self.layout is not None and divisor:
            from evenrank.trec.published_target import published_target

            mass = published_pages(self.collection, self._rows, self.protocol, self.layout).total(weights.astype(float))
            return published_target(SparseVector(mass.cells, mass.values / divisor), self.layout)
        names = {dimension.name for dimension in self.space.dimensions}
        is_set = len(names) > 1 and names < set(self.protocol.dimensions)
        if is_set and self.protocol.set_target == "margin":
            full = self.collection.space(",".join(self.protocol.dimensions))
            target = page_target(self._align(full), weights, full, divisor, self.protocol.blend).margin(self.space)
        else:
            target = page_target(self._align(self.space), weights, self.space, divisor, self.protocol.blend)
        return target.dense() if self.space.n_groups <= DENSE_TARGET else target

    @cached_property
    def _scaled_task2_target(self) -> NDArray[np.float64] | SparseTarget:
        target = self.task2_target
        scale = self.exposure_scale
        return target.scaled(scale) if isinstance(target, SparseTarget) else target * scale

    def wanted_exposure(self, task: Task) -> NDArray[np.float64] | SparseTarget:
        """What measures compare exposure with: a distribution in Task 1, an amount of exposure in Task 2."""
        return self.task1_target if task == 1 else self._scaled_task2_target

    @cached_property
    def _placed_targets(self) -> dict[Task, SparseVector]:
        return {}

    def placed_target(self, task: Task) -> SparseVector | None:
        """The wanted exposure by place in the published layout, where that is used."""
        target = self.wanted_exposure(task)
        if self.layout is None or not isinstance(target, SparseTarget):
            return None
        if task not in self._placed_targets:
            self._placed_targets[task] = self.layout.placed(target.listed)
        return self._placed_targets[task]

    @cached_property
    def exposure_scale(self) -> float:
        depth = self.protocol.target_depth or self.protocol.depth(2)
        return float(self.attention.weights(depth, self.protocol.discount_type).sum())

    @cached_property
    def has_task2_target(self) -> bool:
        """Whether some relevant page has a quality class and is in a group, without which Task 2 has no target."""
        if not (self._classes != NO_CLASS).any():
            return False
        target = self.task2_target
        return (target.total if isinstance(target, SparseTarget) else float(target.sum())) > 0.0

    def target(self, task: Task) -> TrueTarget:
        """The target of a task as a value of its own type."""
        return TrueTarget(self.topic.id, self.space, self.task1_target if task == 1 else self.task2_target)

    @cached_property
    def relevant(self) -> TrueRelevantPages:
        """The relevant pages one by one, for measures that look at pages."""
        return TrueRelevantPages(self)

    @cached_property
    def _relevant_sorted(self) -> NDArray[np.int32]:
        return np.sort(self.topic.rel_docs)

    def is_relevant(self, pages: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which of the pages are relevant."""
        relevant = self._relevant_sorted
        if len(relevant) == 0:
            return np.zeros(len(pages), bool)
        places = np.minimum(np.searchsorted(relevant, pages), len(relevant) - 1)
        found: NDArray[np.bool_] = relevant[places] == pages
        return found


@dataclass(frozen=True)
class TrueRelevantPages:
    """The relevant pages of a topic that have metadata, by ascending id; worked out when a measure asks for them."""

    truth: TopicTruth

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        return np.sort(self.truth.collection.relevant_rows(self.truth.topic))

    @cached_property
    def page_ids(self) -> NDArray[np.int32]:
        return np.asarray(self.truth.collection.page_ids[self._rows])

    @cached_property
    def ideal_exposure(self) -> NDArray[np.float64]:
        """Exposure of each page under an ideal policy, by the work that it needs."""
        classes = self.truth.collection.quality_class[self._rows]
        return work_exposure(classes, self.truth.protocol.discount_type, self.truth.attention)

    @cached_property
    def alignment(self) -> Alignment | SparseAlignment:
        """Groups of the pages."""
        truth = self.truth
        return align_pages(truth.collection, self._rows, truth.space, truth.protocol)


@dataclass
class CollectionProblem:
    """What runs on a collection are scored by: its judgments under one protocol, over the groups of one space."""

    collection: Collection
    protocol: Protocol
    space: GroupSpace
    layout: PublishedLayout | None = None
    """Where to round as the published code does; None to sum in any order."""

    def __post_init__(self) -> None:
        self._truths: dict[int, TopicTruth] = {}

    @classmethod
    def of(
        cls, collection: Collection, protocol: str | Protocol, groups: GroupNames, **settings: Any
    ) -> CollectionProblem:
        """The problem by the names of protocol and dimensions, with changed settings of the protocol."""
        chosen = settle_protocol(protocol, **settings)
        return cls(collection, chosen, protocol_space(collection, chosen, groups))

    def truth(self, topic: int) -> TopicTruth:
        """What is true of a topic, worked out once."""
        if topic not in self._truths:
            record = self.collection.topic_by_id[topic]
            self._truths[topic] = TopicTruth(self.collection, record, self.protocol, self.space, self.layout)
        return self._truths[topic]

    def ranked(self, run: Run, rows: NDArray[np.intp] | None = None) -> dict[int, RankedPages]:
        """The scored pages of a run by topic; `rows` are those of all its pages, if they are known already."""
        return scored_pages(run, self.collection, self.protocol, self.space, rows)

    def view(self, task: Task, ranked: RankedPages | None, topic: int) -> QueryView:
        """One topic of a run, ready to be measured; None where the run does not answer it."""
        pages = ranked or unranked(self.collection, self.space, self.protocol)
        return topic_view(task, pages, self.truth(topic))


def published_pages(
    collection: Collection, rows: NDArray[np.intp], protocol: Protocol, layout: PublishedLayout
) -> PublishedPages:
    """The groups of the pages in `rows` of a collection, in the published layout; rows of −1 have none."""
    from evenrank.trec.published_target import PublishedPages

    left, right = (
        align_pages_sparsely(collection, rows, part, protocol)
        for part in (blended_part(layout.space), unblended_part(layout.space))
    )
    return PublishedPages(layout, left, right, rows >= 0)


def topic_view(task: Task, ranked: RankedPages, truth: TopicTruth) -> QueryView:
    """One topic of a run, ready to be measured."""
    protocol, wanted = truth.protocol, truth.wanted_exposure(task)
    published = _published_view(task, ranked, truth)
    return QueryView(
        QueryBatch(
            protocol=protocol,
            attention_model=truth.attention,
            items=ranked.pages,
            pairs=np.zeros(len(ranked.pages), np.intp),
            ranks=ranked.ranks,
            rankings=ranked.rankings,
            n_rankings=protocol.counted_rankings(task, np.array([ranked.n_rankings])),
            depth=np.array([protocol.depth(task)]),
            ideal_depth=np.array([protocol.ideal_length(task)]),
            gains=truth.is_relevant(ranked.pages),
            n_relevant=np.array([len(truth.topic.rel_docs)]),
            alignment=ranked.alignment,
            full_target=wanted if isinstance(wanted, SparseTarget) else wanted[None],
            relevant_items=truth.relevant,
            is_ordered=truth.space.is_ordered,
            publish=None if published is None else published.groups,
            drops_unknown=truth.space.has_unknown and not protocol.keeps_unknown(task),
            is_share=task == 1,
            relevant_only=task == 2 and protocol.relevant_exposure,
            is_exact=True,
        )
    )


def _published_view(task: Task, ranked: RankedPages, truth: TopicTruth) -> PublishedView | None:
    target = None if truth.layout is None else truth.placed_target(task)
    if truth.layout is None or target is None:
        return None
    from evenrank.trec.published_target import PublishedView

    rows = truth.collection.rows_of(ranked.pages)
    return PublishedView(published_pages(truth.collection, rows, truth.protocol, truth.layout), target)
