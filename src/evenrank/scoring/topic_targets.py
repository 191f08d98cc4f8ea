"""The targets of all judged topics as one table, for `evenrank targets` and for other tools."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.frames import DataFrame, pandas_frame
from evenrank.core.groups import GroupNames, GroupSpace
from evenrank.core.protocol import DEFAULT_PROTOCOL, Protocol
from evenrank.core.records import Task
from evenrank.core.sparse import SparseTarget, SparseVector
from evenrank.errors import EvenrankError
from evenrank.scoring.topic_truth import CollectionProblem
from evenrank.trec.collection import Collection, as_collection

LONG_FORM = 10_000
"""With more groups than this, targets are listed group by group, non-zero ones only."""


@dataclass(frozen=True)
class TopicTargets:
    """Wanted distributions over groups, one for each topic."""

    task: Task
    protocol: Protocol
    space: GroupSpace
    topic_ids: tuple[int, ...]
    targets: tuple[SparseVector, ...]
    """Groups with a target above 0, and their targets, of each topic."""
    drops_unknown: bool
    """Whether the group of pages of which nothing is known is left out."""

    @property
    def is_long(self) -> bool:
        """Whether there are too many groups for one column each."""
        return self.space.n_groups > LONG_FORM

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups, e.g. `Africa|female`."""
        return self.space.names[1 if self.drops_unknown else 0 :]

    @property
    def values(self) -> NDArray[np.float64]:
        """Topic by group."""
        dense = np.array([target.at(np.arange(self.space.n_groups)) for target in self.targets])
        return dense[:, 1 if self.drops_unknown else 0 :]

    def rows(self) -> Iterator[tuple[int, str, float]]:
        """(topic, group, target) of every group with a target above 0."""
        for topic, target in zip(self.topic_ids, self.targets, strict=True):
            names = self.space.names_of(target.cells)
            yield from ((topic, name, value) for name, value in zip(names, target.values.tolist(), strict=True))

    def __repr__(self) -> str:
        n_topics, n_groups = len(self.topic_ids), self.space.n_groups - self.drops_unknown
        return f"<TopicTargets: task {self.task}, {self.protocol.name}, {n_topics} topics by {n_groups:,} groups>"

    def to_json(self) -> dict[str, Any]:
        """The targets by group name; of very many groups only those above 0, and no list of all of them."""
        head = {"task": self.task, "protocol": self.protocol.settings()}
        if self.is_long:
            by_topic: dict[int, dict[str, float]] = {topic: {} for topic in self.topic_ids}
            for topic, name, value in self.rows():
                by_topic[topic][name] = value
            return {**head, "targets": [{"topic": topic, "target": target} for topic, target in by_topic.items()]}
        rows = zip(self.topic_ids, self.values.tolist(), strict=True)
        return {
            **head,
            "groups": list(self.groups),
            "targets": [{"topic": topic, "target": dict(zip(self.groups, row, strict=True))} for topic, row in rows],
        }

    def to_pandas(self) -> DataFrame:
        """A data frame: a row per topic and a column per group; of very many groups, a row per topic and group."""
        if self.is_long:
            return pandas_frame(self.rows(), columns=["topic", "group", "target"])
        frame = pandas_frame(self.values, index=list(self.topic_ids), columns=list(self.groups))
        return frame.rename_axis("topic")


def topic_targets(
    collection: Collection | str | os.PathLike[str],
    task: Task = 1,
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    groups: GroupNames = "intersection",
    **settings: Any,
) -> TopicTargets:
    """The targets of every topic that has judgments, in the collection's order.

    The fully unknown group is left out where the protocol leaves it out: in Task 1 of 2021.
    """
    opened = as_collection(collection)
    problem = CollectionProblem.of(opened, protocol, groups, **settings)
    chosen, space = problem.protocol, problem.space
    truths = [problem.truth(topic.id) for topic in opened.topics if len(topic.rel_docs)]
    kept = [truth for truth in truths if task == 1 or truth.has_task2_target]
    if not kept:
        raise EvenrankError(f"{opened.path}: no topic has judgments to make a target of (import topics with rel_docs)")
    drops_unknown = space.has_unknown and not chosen.keeps_unknown(task)
    listed = tuple(_listed(truth.target(task).values) for truth in kept)
    return TopicTargets(task, chosen, space, tuple(truth.topic.id for truth in kept), listed, drops_unknown)


targets = topic_targets
"""The command's name."""


def _listed(target: NDArray[np.float64] | SparseTarget) -> SparseVector:
    """The groups with a target above 0."""
    if isinstance(target, SparseTarget):
        return target.nonzero()
    cells = np.flatnonzero(target)
    return SparseVector(cells, target[cells])
