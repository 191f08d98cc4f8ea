"""What is true of a topic: its relevant pages and its targets, worked out once for all runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.alignment import Alignment, align
from evenrank.alignment.groups import GroupSpace
from evenrank.collection.collection import Collection
from evenrank.exposure import discounts
from evenrank.protocol import Protocol
from evenrank.records import NO_CLASS, Task, Topic
from evenrank.targets.target import TrueTarget
from evenrank.targets.true import task1_target, task2_target


@dataclass(frozen=True)
class TopicTruth:
    """The judgments of one topic under one protocol and group space."""

    collection: Collection
    topic: Topic
    protocol: Protocol
    space: GroupSpace

    @property
    def n_relevant(self) -> int:
        return len(self.topic.rel_docs)

    @property
    def _rows(self) -> NDArray[np.intp]:
        """Rows of the relevant pages that have metadata; the others count in nDCG, never in a target."""
        return self.collection.relevant_rows(self.topic)

    @cached_property
    def _alignment(self) -> Alignment:
        masks = self.collection.masks_of(self._rows, self.space, missing=0)
        return align(masks, self.space, normalise_flags(self.protocol, self.space))

    @cached_property
    def task1_target(self) -> NDArray[np.float64]:
        """Wanted distribution over groups, the fully unknown cell first (0 when the protocol drops it)."""
        return task1_target(self._alignment, self.space, keep_unknown=self.protocol.keeps_unknown_task1)

    @cached_property
    def task2_target(self) -> NDArray[np.float64]:
        """Wanted distribution over groups; times `exposure_scale` it is the wanted exposure."""
        classes = self.collection.quality_class[self._rows]
        return task2_target(self._alignment, classes, self.space, self.protocol.discount_type)

    @cached_property
    def _scaled_task2_target(self) -> NDArray[np.float64]:
        return self.task2_target * self.exposure_scale

    def wanted_exposure(self, task: Task) -> NDArray[np.float64]:
        """What measures compare exposure with: a distribution in Task 1, an amount of exposure in Task 2."""
        return self.task1_target if task == 1 else self._scaled_task2_target

    @cached_property
    def exposure_scale(self) -> float:
        depth = self.protocol.target_depth or self.protocol.task2_depth
        return float(discounts(depth, self.protocol.discount_type).sum())

    @cached_property
    def has_class(self) -> bool:
        """Whether some relevant page has a quality class, without which Task 2 has no target."""
        return bool((self.collection.quality_class[self._rows] != NO_CLASS).any())

    def target(self, task: Task) -> TrueTarget:
        """The target of a task as a value of its own type."""
        values = self.task1_target if task == 1 else self.task2_target
        return TrueTarget(self.topic.id, self.space, values)

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


def normalise_flags(protocol: Protocol, space: GroupSpace) -> tuple[bool, ...]:
    """Which dimensions of `space` the protocol normalises."""
    return tuple(protocol.normalises(dimension.name) for dimension in space.dimensions)
