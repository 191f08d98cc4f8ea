"""The frontier as a figure: a thin line for each topic, a strong one for their mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenrank.core.records import Task
from evenrank.io.figures import COLOURS, GRID, clean_axes, figure_style, new_figure, save_figure_as
from evenrank.ranking.pareto import FrontierPoint

LABELS: dict[Task, str] = {
    1: "AWRF, estimated (higher is fairer)",
    2: "expected exposure loss EE-L, estimated (lower is fairer)",
}


def draw_frontier(
    task: Task, frontiers: Sequence[Sequence[FrontierPoint]], mean: Sequence[FrontierPoint], path: Path
) -> None:
    """Write the figure; the same frontiers give the same bytes."""
    with figure_style():
        figure, axes = new_figure(6.4, 4.4)
        for points in frontiers if len(frontiers) > 1 else ():
            axes.plot(*_line(points), color=GRID, linewidth=0.7, zorder=1)
        axes.plot(*_line(mean), "o-", color=COLOURS[0], markersize=4, zorder=2)
        for point in mean:
            place = (point.relevance_share, point.measure)
            axes.annotate(f"{point.fairness:g}", place, fontsize=7, xytext=(3, 4), textcoords="offset points")
        n_topics = f"mean of {len(frontiers)} topics" if len(frontiers) > 1 else "one topic"
        axes.set(xlabel="relevance kept, of the order by relevance", ylabel=LABELS[task])
        axes.set_title(f"Task {task}, {n_topics}; numbers are weights of fairness", fontsize=9)
        if task == 2 and min(point.measure for points in (*frontiers, mean) for point in points) > 0.0:
            axes.set_yscale("log")
        clean_axes(axes)
        save_figure_as(figure, path)


def _line(points: Sequence[FrontierPoint]) -> tuple[list[float], list[float]]:
    return [point.relevance_share for point in points], [point.measure for point in points]
