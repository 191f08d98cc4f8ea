"""Exposure of groups against their target, for a whole run: where a run gives too much or too little attention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import GroupSpace
from evenrank.core.problem import QueryView
from evenrank.core.records import Run, Task
from evenrank.core.sparse import SparseAlignment, SparseTarget
from evenrank.scoring.tables import Column, Table
from evenrank.scoring.topic_truth import CollectionProblem

Shares = NDArray[np.float64]


@dataclass(frozen=True)
class GroupExposure:
    """What a run gives to each group and what the targets ask for, as shares averaged over topics."""

    run: str
    task: Task
    space: GroupSpace
    margins: dict[str, tuple[Shares, Shares]]
    """Share of each group in exposure and in target, by dimension, summed over the others."""
    exposure: Shares | None
    """Share of each group of the space in the run's exposure; None where there are too many groups to list."""
    target: Shares | None
    """Share of each group of the space in the targets of the same topics."""

    def margin(self, dimension: str) -> tuple[tuple[str, ...], Shares, Shares]:
        """(groups, exposure, target) of one dimension, summed over the others."""
        return self.space.dimension(dimension).scored_groups, *self.margins[dimension]


def exposure_by_group(problem: CollectionProblem, run: Run, topics: Iterable[int]) -> GroupExposure:
    """The run's exposure of groups beside the target, each topic counting the same.

    Shares, not amounts: in Task 2 of official-2021 the target is scaled to 50 ranks and the exposure to 6.
    """
    ranked, space = problem.ranked(run), problem.space
    views = [problem.view(run.task, ranked[topic], topic) for topic in topics if topic in ranked]
    margins = {d.name: _mean_shares(views, space, GroupSpace((d,))) for d in space.dimensions}
    is_large = any(isinstance(view.batch.full_target, SparseTarget) for view in views)
    exposure, target = (None, None) if is_large else _mean_shares(views, space, space)
    return GroupExposure(run.name, run.task, space, margins, exposure, target)


def _mean_shares(views: Sequence[QueryView], space: GroupSpace, part: GroupSpace) -> tuple[Shares, Shares]:
    """Mean over topics of the shares of exposure and target, summed over the dimensions that are not in `part`."""
    given = [_share(_margin_of_exposure(view, space, part)) for view in views]
    wanted = [_share(_margin_of_target(view, space, part)) for view in views]
    nothing = [np.zeros(part.n_groups)]
    return np.mean(given or nothing, axis=0), np.mean(wanted or nothing, axis=0)


def _margin_of_exposure(view: QueryView, space: GroupSpace, part: GroupSpace) -> Shares:
    """Exposure of the groups of `part`, a space of some dimensions of `space`, summed over the others."""
    batch = view.batch
    if isinstance(batch.full_target, SparseTarget):
        assert isinstance(batch.alignment, SparseAlignment)
        given = batch.alignment.sparse_total(batch.exposure_weights)
        cells = space.cells_in(part, given.cells)
        return np.asarray(np.bincount(cells, given.values, minlength=part.n_groups) / batch.exposure_divisor[0])
    exposure = batch.group_totals(batch.exposure_weights)[0] / batch.exposure_divisor[0]
    if batch.drops_unknown:
        exposure[0] = 0.0
    return _margin(exposure, space, part)


def _margin_of_target(view: QueryView, space: GroupSpace, part: GroupSpace) -> Shares:
    """Target of the groups of `part`, a space of some dimensions of `space`, summed over the others."""
    target = view.batch.full_target
    return target.margin(part).dense() if isinstance(target, SparseTarget) else _margin(target[0], space, part)


def _margin(values: Shares, space: GroupSpace, part: GroupSpace) -> Shares:
    if part == space:
        return values
    cells = space.cells_in(part, np.arange(space.n_groups))
    return np.asarray(np.bincount(cells, values, minlength=part.n_groups), np.float64)


def _share(values: Shares) -> Shares:
    total = values.sum()
    return values / total if total > 0.0 else values


def exposure_table(exposures: Iterable[GroupExposure]) -> Table:
    """A row per run and group: its share of the exposure, of the target, and the difference.

    Where there are too many groups to list, a row per dimension and group, summed over the other dimensions.
    """
    columns = (Column("run"), Column("group"), Column("exposure"), Column("target"), Column("difference"))
    rows = [
        (one.run, name, given, wanted, given - wanted) for one in exposures for name, given, wanted in _group_rows(one)
    ]
    return Table(columns, tuple(rows))


def _group_rows(one: GroupExposure) -> Iterator[tuple[str, float, float]]:
    if one.exposure is not None and one.target is not None:
        yield from zip(one.space.names, one.exposure.tolist(), one.target.tolist(), strict=True)
        return
    for dimension in one.space.dimensions:
        groups, given, wanted = one.margin(dimension.name)
        names = [f"{dimension.name}: {group}" for group in groups]
        yield from zip(names, given.tolist(), wanted.tolist(), strict=True)
