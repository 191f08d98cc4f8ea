"""`evenrank.tradeoff`: what relevance costs in fairness on data of one's own, and what no other choice dominates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.exposure import GivenAttention
from evenrank.core.frames import DataFrame, pandas_frame
from evenrank.core.records import Task
from evenrank.core.safe_text import figure_text
from evenrank.errors import EvenrankError
from evenrank.io.figures import COLOURS, FAINT, clean_axes, direction_label, figure_style, new_figure
from evenrank.measures.registry import Named, as_measure, listed_measures
from evenrank.policies.policy import Policy
from evenrank.ranking.pareto import WEIGHTS, check_weights
from evenrank.ranking.rerank import rerank
from evenrank.scoring.results import ItemScores
from evenrank.scoring.score import score
from evenrank.scoring.tables import Cell, Column, Table, TableResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AXES: dict[Task, tuple[str, str]] = {1: ("nDCG", "AWRF"), 2: ("P", "EE-L")}
"""Relevance and fairness, between which policies trade."""


def undominated(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether no other point is at least as high on every axis and higher on one; a row per point."""
    at_least = np.all(points[None, :, :] >= points[:, None, :], axis=2)
    above = np.any(points[None, :, :] > points[:, None, :], axis=2)
    return np.asarray(~np.any(at_least & above, axis=1))


def upward(name: str, task: Task) -> float:
    """1 for a measure of which more is better, -1 for one of which less is."""
    return 1.0 if as_measure(name, task).higher_is_better else -1.0


@dataclass(frozen=True, repr=False)
class Tradeoff(TableResult):
    """The scores of a policy at each value of the setting that weighs fairness."""

    policy: str
    setting: str
    values: tuple[float, ...]
    task: Task
    """1 for one list a query, 2 for several rankings."""
    scores: ItemScores
    """A system for each value, in the same order."""

    @property
    def axes(self) -> tuple[str, str]:
        """The measures of relevance and fairness."""
        return AXES[self.task]

    @property
    def is_on_frontier(self) -> tuple[bool, ...]:
        """For each value, whether no other one is at least as relevant and as fair, and better in one of them."""
        points = [[upward(axis, self.task) * one.scores[axis] for axis in self.axes] for one in self.scores.systems]
        return tuple(undominated(np.array(points)).tolist())

    def table(self) -> Table:
        """A row per value with all measures, and whether it is on the frontier."""
        measures = self.scores.columns
        columns = (
            Column(self.setting),
            *(Column(one.key, higher_is_better=one.higher_is_better) for one in measures),
            Column("frontier"),
        )
        rows: list[tuple[Cell, ...]] = [
            (f"{value:g}", *(one.scores[m.key] for m in measures), "yes" if is_on else "no")
            for value, one, is_on in zip(self.values, self.scores.systems, self.is_on_frontier, strict=True)
        ]
        return Table(columns, tuple(rows), f"{self.policy}: {self.axes[0]} against {self.axes[1]}")

    def to_json(self) -> dict[str, Any]:
        """Settings and points as plain data."""
        pairs = zip(self.values, self.scores.systems, self.is_on_frontier, strict=True)
        return {
            "policy": self.policy,
            "setting": self.setting,
            "task": self.task,
            "axes": list(self.axes),
            "points": [{self.setting: value, **one.scores, "on_frontier": is_on} for value, one, is_on in pairs],
        }

    def to_pandas(self) -> DataFrame:
        """A data frame: a row per value."""
        return pandas_frame(self.to_json()["points"])

    def plot(self) -> Figure:
        """Relevance against fairness; values on the frontier are filled. Needs the extra `report`."""
        with figure_style():
            figure, axes = new_figure(6.0, 4.2)
            x, y = ([one.scores[axis] for one in self.scores.systems] for axis in self.axes)
            axes.plot(x, y, color=FAINT, linewidth=0.8, zorder=1)
            filled = [COLOURS[0] if is_on else "white" for is_on in self.is_on_frontier]
            axes.scatter(x, y, color=filled, edgecolors=COLOURS[0], zorder=2)
            for value, *place in zip(self.values, x, y, strict=True):
                axes.annotate(f"{value:g}", place, fontsize=7, xytext=(4, 4), textcoords="offset points")
            axes.set_xlabel(f"{self.axes[0]} {direction_label(upward(self.axes[0], self.task) > 0)}")
            axes.set_ylabel(f"{self.axes[1]} {direction_label(upward(self.axes[1], self.task) > 0)}")
            axes.set_title(figure_text(f"{self.policy}; numbers are {self.setting}"))
            clean_axes(axes)
        return figure

    def _shown(self) -> tuple[list[Table], list[str]]:
        return [self.table()], []


def tradeoff(
    items: object,
    groups: object,
    relevance: object,
    target: object | None = None,
    policy: str | Policy = "optimal",
    k: int | None = None,
    n_rankings: int = 1,
    *,
    setting: str = "fairness",
    values: Sequence[float] | str = WEIGHTS,
    measures: Named | Iterable[Named] = (),
    attention: GivenAttention = "log",
    expected: Literal["score", "rank"] = "score",
    seed: int = 0,
    workers: int | None = None,
) -> Tradeoff:
    """Rerank items at several weights of fairness and score every result: the Pareto frontier of data of one's own.

    `items`, `groups`, `target`, `policy`, `k`, `n_rankings`, `attention` and `workers` are those of `rerank`, and
    `expected` is its `relevance`; `relevance` is what the rankings are scored by, as for `score`. `setting` names the
    setting of the policy that weighs fairness, `values` what it is set to. Both measures of the frontier (nDCG and AWRF
    for one list, P and EE-L for several rankings) are always among `measures`.
    """
    swept = check_weights(values)
    if isinstance(relevance, str) and relevance in ("score", "rank"):
        raise EvenrankError(f"relevance is {relevance!r} (give what is relevant, and expected={relevance!r})")
    task: Task = 1 if n_rankings == 1 else 2
    asked = list(dict.fromkeys([*AXES[task], *(listed_measures(measures) or (["Score"] if task == 1 else []))]))
    found = {
        f"{setting}={value:g}": rerank(
            items,
            groups,
            target,
            policy,
            k,
            n_rankings,
            relevance=expected,
            attention=attention,
            settings={setting: value},
            seed=seed,
            workers=workers,
        )
        for value in swept
    }
    rankings = {name: one.to_dict() for name, one in found.items()}
    name = next(iter(found.values())).policy
    return Tradeoff(name, setting, swept, task, score(rankings, groups, relevance, target, asked, attention, k))
