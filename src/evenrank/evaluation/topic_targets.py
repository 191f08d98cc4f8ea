"""The targets of all judged topics as one table, for `evenrank targets` and for other tools."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from evenrank.collection.collection import Collection
from evenrank.collection.given import given_collection
from evenrank.errors import EvenrankError
from evenrank.evaluation.evaluate import settle_protocol
from evenrank.evaluation.given import joined_groups
from evenrank.evaluation.protocol_settings import ProtocolSettings
from evenrank.evaluation.topic_truth import TopicTruth
from evenrank.protocol import Protocol
from evenrank.records import Task

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TopicTargets:
    """Wanted distributions over groups, one row per topic."""

    task: Task
    protocol: Protocol
    groups: tuple[str, ...]
    """Names of the columns, e.g. `Africa|female`."""
    topic_ids: tuple[int, ...]
    values: NDArray[np.float64]
    """Topic by group; each row sums to 1."""

    def __repr__(self) -> str:
        n_topics, n_groups = self.values.shape
        return f"<TopicTargets: task {self.task}, {self.protocol.name}, {n_topics} topics by {n_groups} groups>"

    def to_json(self) -> dict[str, Any]:
        rows = zip(self.topic_ids, self.values.tolist(), strict=True)
        return {
            "task": self.task,
            "protocol": self.protocol.settings(),
            "groups": list(self.groups),
            "targets": [{"topic": topic, "target": dict(zip(self.groups, row, strict=True))} for topic, row in rows],
        }

    def to_pandas(self) -> pd.DataFrame:
        """A data frame: a row per topic, a column per group."""
        import pandas as pd

        index = pd.Index(self.topic_ids, name="topic")
        return pd.DataFrame(self.values, index=index, columns=list(self.groups))


def topic_targets(
    collection: Collection | str | os.PathLike[str],
    task: Task = 1,
    protocol: str | Protocol = "official-2021",
    groups: str | Iterable[str] = "intersection",
    **settings: Unpack[ProtocolSettings],
) -> TopicTargets:
    """The targets of every topic that has judgments, in the collection's order.

    The fully unknown group is left out where the protocol leaves it out: in Task 1 of 2021.
    """
    opened = given_collection(collection)
    chosen = settle_protocol(protocol, **settings)
    space = opened.space(joined_groups(groups))
    truths = [TopicTruth(opened, topic, chosen, space) for topic in opened.topics if len(topic.rel_docs)]
    kept = [truth for truth in truths if task == 1 or truth.has_class]
    if not kept:
        raise EvenrankError(f"{opened.path}: no topic has judgments to make a target of (import topics with rel_docs)")
    first = 1 if task == 1 and not chosen.keeps_unknown_task1 else 0
    values = np.array([truth.target(task).values[first:] for truth in kept])
    return TopicTargets(task, chosen, space.names[first:], tuple(truth.topic.id for truth in kept), values)
