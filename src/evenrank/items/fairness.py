"""Fairness of every pair of system and query: AWRF, EE-L, EE-D, EE-R and the attention of groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.types import Floats
from evenrank.items.groupings import Groupings, has_plain_rows
from evenrank.items.scored_rows import ScoredRows
from evenrank.items.scores import GroupShare
from evenrank.items.wanted import GroupTarget, joint_target

OF_FAIRNESS = ("AWRF", "EE-L", "EE-D", "EE-R")
CELLS_AT_ONCE = 500_000
"""Cells of query by kind of item, group or intersection of groups that are held at once; there may be billions."""


class Fairness:
    """Measures of fairness of every pair, and the mean attention of groups, summed over some pairs at a time."""

    def __init__(
        self, view: ScoredRows, groupings: Groupings, targets: list[GroupTarget], is_judged: NDArray[np.bool_]
    ) -> None:
        self.view, self.groupings, self.targets = view, groupings, targets
        self.joint, self.shape = groupings.joint(), groupings.space.shape
        self.is_plain = has_plain_rows(self.joint)
        n_pairs, n_systems = len(view.query), int(view.system.max(initial=0)) + 1
        names = [*OF_FAIRNESS, *(f"AWRF[{part.name}]" for part in groupings.parts if len(groupings.parts) > 1)]
        self.columns = {name: np.empty(n_pairs) for name in names}
        self.has_target = np.zeros(n_pairs, bool)
        self.n_scored = np.zeros(n_systems, np.intp)
        self.sums = [np.zeros((2, n_systems, len(part.groups))) for part in groupings.parts]
        """For each grouping the attention and the target of each group, summed over the scored pairs of a system."""
        self.reach = np.concatenate([[0.0], np.cumsum(view.weights)])
        alignments = [self.joint, *(part.alignment for part in groupings.parts)]
        widest = max(*(max(one.rows.shape) for one in alignments), *(one.width for one in targets))
        step = max(1, CELLS_AT_ONCE // widest)
        for first in range(0, n_pairs, step):
            self._add(slice(first, min(first + step, n_pairs)), is_judged)

    def _add(self, pairs: slice, is_judged: NDArray[np.bool_]) -> None:
        query, parts = self.view.query[pairs], self.groupings.parts
        known = _known_cells(self._exposure(self.joint, pairs), self.shape)
        target = joint_target(self.targets, query)
        wanted = target * self.reach[self.view.depth[pairs]][:, None]
        self.columns["AWRF"][pairs] = awrf_rows(known, target)
        self.columns["EE-L"][pairs] = ((known - wanted) ** 2).sum(axis=1)
        self.columns["EE-D"][pairs] = (known**2).sum(axis=1)
        self.columns["EE-R"][pairs] = (known * wanted).sum(axis=1)
        self.has_target[pairs] = target.sum(axis=1) > 0.0
        is_scored = self.has_target[pairs] & is_judged[pairs]
        self.n_scored += np.bincount(self.view.system[pairs][is_scored], minlength=len(self.n_scored))
        for part, sums, own in zip(parts, self.sums, self.targets, strict=True):
            exposure = known if len(parts) == 1 else self._exposure(part.alignment, pairs)[:, 1:]
            aim = own.rows(query)
            if len(parts) > 1:
                self.columns[f"AWRF[{part.name}]"][pairs] = awrf_rows(exposure, aim)
            total = exposure.sum(axis=1, keepdims=True)
            share = exposure / np.where(total > 0.0, total, 1.0)
            for system in np.unique(self.view.system[pairs]).tolist():
                rows = (self.view.system[pairs] == system) & is_scored
                sums[:, system] += share[rows].sum(axis=0), aim[rows].sum(axis=0)

    def _exposure(self, alignment: Alignment, pairs: slice) -> Floats:
        """Expected attention of each group, pair by group; the mean over the rankings of a pair."""
        view = self.view
        n_pairs, n_kinds = pairs.stop - pairs.start, len(alignment.rows)
        rows = slice(*np.searchsorted(view.pair, [pairs.start, pairs.stop]).tolist())
        key = (view.pair[rows] - pairs.start) * n_kinds + alignment.page_type[view.item[rows]]
        mass = np.bincount(key, view.weights[view.rank[rows]], minlength=n_pairs * n_kinds).reshape(n_pairs, n_kinds)
        given = mass if alignment is self.joint and self.is_plain else mass @ alignment.rows
        return np.asarray(given / view.n_rankings[pairs, None])

    def shares(self, systems: Sequence[str]) -> list[GroupShare]:
        """Mean share of attention and target of each group, by grouping and system."""
        return [
            GroupShare(system, part.name, group, float(mean), float(aim))
            for part, sums in zip(self.groupings.parts, self.sums, strict=True)
            for system, n_scored, means, aims in zip(systems, self.n_scored.tolist(), *sums, strict=False)
            if n_scored
            for group, mean, aim in zip(part.groups, means / n_scored, aims / n_scored, strict=True)
        ]


def _known_cells(exposure: Floats, shape: tuple[int, ...]) -> Floats:
    """Exposure of the intersections in which every grouping is known."""
    cells = exposure.reshape(len(exposure), *shape)
    return cells[(slice(None), *(slice(1, None) for _ in shape))].reshape(len(exposure), -1)


def awrf_rows(exposure: Floats, target: Floats) -> Floats:
    """AWRF of each row, base 2: 1 − Jensen–Shannon divergence; 0 where nothing is exposed."""
    total = exposure.sum(axis=1, keepdims=True)
    p = exposure / np.where(total > 0.0, total, 1.0)
    middle = (p + target) / 2.0
    divergence = (_relative_entropy(p, middle) + _relative_entropy(target, middle)) / 2.0
    return np.where(total[:, 0] > 0.0, np.clip(1.0 - divergence, 0.0, 1.0), 0.0)


def _relative_entropy(p: Floats, q: Floats) -> Floats:
    ratio = np.divide(p, q, out=np.ones_like(p), where=p > 0.0)
    return np.asarray((p * np.log2(ratio)).sum(axis=1))
