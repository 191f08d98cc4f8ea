"""Exposure of groups against their target, for a whole run: where a run gives too much or too little attention."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.groups import GroupSpace
from evenrank.collection.collection import Collection
from evenrank.evaluation.ranked_pages import scored_pages
from evenrank.evaluation.tables.table import Column, Table
from evenrank.evaluation.topic_truth import TopicTruth
from evenrank.evaluation.topic_view import topic_view
from evenrank.protocol import Protocol
from evenrank.records import Run, Task


@dataclass(frozen=True)
class GroupExposure:
    """What a run gives to each group and what the targets ask for, as shares averaged over topics."""

    run: str
    task: Task
    space: GroupSpace
    exposure: NDArray[np.float64]
    """Share of each group in the run's exposure; sums to 1 unless a topic exposes no group."""
    target: NDArray[np.float64]
    """Share of each group in the targets of the same topics; sums to 1."""

    def margin(self, dimension: str) -> tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.float64]]:
        """(groups, exposure, target) of one dimension, summed over the others."""
        exposure = self.space.margin(self.exposure, dimension)
        target = self.space.margin(self.target, dimension)
        return self.space.dimension(dimension).groups, exposure, target


def exposure_by_group(
    collection: Collection, run: Run, topics: Iterable[int], protocol: Protocol, space: GroupSpace
) -> GroupExposure:
    """The run's exposure of groups beside the target, each topic counting the same.

    Shares, not amounts: in Task 2 of official-2021 the target is scaled to 50 ranks and the exposure to 6.
    """
    ranked = scored_pages(run, collection, protocol, space)
    given, wanted = [], []
    for topic in topics:
        if topic in ranked:
            truth = TopicTruth(collection, collection.topic_by_id[topic], protocol, space)
            given.append(_share(topic_view(run.task, ranked[topic], truth).full_exposure))
            wanted.append(_share(truth.target(run.task).values))
    nothing = [np.zeros(space.n_groups)]
    exposure, target = (np.mean(shares or nothing, axis=0) for shares in (given, wanted))
    return GroupExposure(run.name, run.task, space, exposure, target)


def _share(values: NDArray[np.float64]) -> NDArray[np.float64]:
    total = values.sum()
    return values / total if total > 0.0 else values


def exposure_table(exposures: Iterable[GroupExposure]) -> Table:
    """A row per run and group: its share of the exposure, of the target, and the difference."""
    columns = (Column("run"), Column("group"), Column("exposure"), Column("target"), Column("difference"))
    rows = [
        (one.run, name, float(given), float(wanted), float(given - wanted))
        for one in exposures
        for name, given, wanted in zip(one.space.names, one.exposure, one.target, strict=True)
    ]
    return Table(columns, tuple(rows))
