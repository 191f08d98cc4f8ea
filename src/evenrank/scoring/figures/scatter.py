"""The paper's two figures: nDCG against AWRF, EE-R against EE-D, with intervals, rugs and lines of equal score."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Task
from evenrank.core.safe_text import figure_text
from evenrank.io.figures import FAINT, GRID, dark, direction_label, look_of, new_figure
from evenrank.measures.registry import MAIN, as_measure
from evenrank.scoring.results import Results, RunResult, measure_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import QuadContourSet
    from matplotlib.figure import Figure

AXES: dict[Task, tuple[str, str]] = {1: ("nDCG", "AWRF"), 2: ("EE-R", "EE-D")}
"""The component measures on the axes, by task."""
TITLES: dict[Task, str] = {
    1: "Task 1: relevance against fairness",
    2: "Task 2: exposure relevance against disparity",
}

RADII = (9.0, 16.0, 26.0, 38.0, 52.0, 68.0)
"""Distances of a label from its point that are tried, in pixels of the layout."""
N_DIRECTIONS = 16
OVERLAP, POINT, OUTSIDE, DISTANCE = 40.0, 60.0, 500.0, 3.0
"""Costs: per 100 square pixels over another label, per point covered, per label leaving the area, per pixel away."""


def scatter_figure(results: Results, task: Task) -> Figure:
    """A point per run at its component measures; faint lines join equal values of the task's main measure."""
    runs = results.of_task(task)
    figure, axes = new_figure(7.2, 5.4)
    x_name, y_name = AXES[task]
    for number, run in enumerate(runs):
        _draw_run(axes, run, number, results)
    axes.margins(0.12)
    _rugs(axes, runs, task)
    _equal_lines(axes, runs, task)
    x, y = (as_measure(name, task) for name in AXES[task])
    axes.set_xlabel(f"{x_name} {direction_label(x.higher_is_better)}")
    axes.set_ylabel(f"{y_name} {direction_label(y.higher_is_better)}")
    axes.set_title(TITLES[task], pad=18)
    axes.tick_params(length=0)
    _labels(figure, axes, runs, task)
    return figure


def _draw_run(axes: Axes, run: RunResult, number: int, results: Results) -> None:
    colour, marker = look_of(number)
    x, y = (run.scores[name] for name in AXES[run.task])
    across, along = (measure_interval(run, name, results.protocol) for name in AXES[run.task])
    axes.plot([across.low, across.high], [y, y], color=colour, alpha=0.35, lw=1.0, zorder=2)
    axes.plot([x, x], [along.low, along.high], color=colour, alpha=0.35, lw=1.0, zorder=2)
    axes.plot(x, y, marker, color=colour, ms=7, mec="white", mew=0.7, zorder=4)


def _rugs(axes: Axes, runs: list[RunResult], task: Task) -> None:
    """A tick on both axes for each run."""
    for number, run in enumerate(runs):
        colour, _ = look_of(number)
        x, y = (run.scores[name] for name in AXES[task])
        axes.plot([x, x], [0.0, 0.018], color=colour, lw=1.4, transform=axes.get_xaxis_transform(), zorder=3)
        axes.plot([0.0, 0.014], [y, y], color=colour, lw=1.4, transform=axes.get_yaxis_transform(), zorder=3)


def _equal_lines(axes: Axes, runs: list[RunResult], task: Task) -> None:
    """Lines of equal main measure: products in Task 1, EE-L = EE-D − 2 EE-R + ‖ε*‖² in Task 2."""
    if task == 1:
        axes.set_xlim(max(axes.get_xlim()[0], 0.0), min(axes.get_xlim()[1], 1.0))
        axes.set_ylim(max(axes.get_ylim()[0], 0.0), min(axes.get_ylim()[1], 1.0))
    limits = (*axes.get_xlim(), *axes.get_ylim())
    x, y = np.meshgrid(np.linspace(*limits[:2], 80), np.linspace(*limits[2:], 80))
    if task == 1:
        values = x * y
    else:
        norms = [run.scores["EE-L"] - run.scores["EE-D"] + 2 * run.scores["EE-R"] for run in runs]
        values = y - 2 * x + float(np.mean(norms))
    levels = equal_levels(float(values.min()), float(values.max()))
    if not levels:
        return
    lines = axes.contour(x, y, values, levels=levels, colors=GRID, linewidths=1.0, linestyles="dashed", zorder=1)
    _name_lines(axes, lines, MAIN[task].name)


def equal_levels(low: float, high: float) -> list[float]:
    """About seven round values between two ends; none below zero, which no main measure can have."""
    from matplotlib.ticker import MaxNLocator

    found = MaxNLocator(8, min_n_ticks=1).tick_values(low, high) if high > low else ()
    return [float(level) for level in found if level >= 0.0 and low < level < high]


def _name_lines(axes: Axes, lines: QuadContourSet, measure: str) -> None:
    """The value of each line at its upper end, just above the data, or beside them where it leaves to the right."""
    top, (left, right) = axes.get_ylim()[1], axes.get_xlim()
    ends = []
    for level, segments in zip(lines.levels, lines.allsegs, strict=True):
        if segments and len(segments[0]):
            x, y = max(segments[0].tolist(), key=lambda point: point[1])
            if y >= top - 1e-9 * abs(top) and x >= left:
                ends.append((x, level))
            elif x >= right - 1e-9 * abs(right):
                axes.annotate(
                    f"{level:.3g}", (x, y), (2, 0), textcoords="offset points", va="center", fontsize=7, color=FAINT
                )
    for number, (x, level) in enumerate(sorted(ends)):
        name = f"{measure} {level:.3g}" if number == 0 else f"{level:.3g}"
        axes.annotate(name, (x, top), (0, 2), textcoords="offset points", ha="center", fontsize=7, color=FAINT)


def _labels(figure: Figure, axes: Axes, runs: list[RunResult], task: Task) -> None:
    """Run names beside their points, with a thin line where a name had to move away."""
    from matplotlib.patheffects import withStroke

    figure.draw_without_rendering()
    points = axes.transData.transform([[run.scores[name] for name in AXES[task]] for run in runs])
    drafts = [axes.annotate(figure_text(run.run), (0, 0), xycoords="figure pixels", fontsize=7.5) for run in runs]
    sizes = np.array([[box.width, box.height] for box in (draft.get_window_extent() for draft in drafts)])
    box = axes.get_window_extent()
    corners = place_labels(points, sizes, (box.x0 + 12, box.y0 + 12, box.x1, box.y1))
    to_data = axes.transData.inverted()
    for number, (draft, corner, size, point) in enumerate(zip(drafts, corners, sizes, points, strict=True)):
        draft.remove()
        colour = dark(look_of(number)[0])
        x, y = to_data.transform(corner + size / 2)
        halo = [withStroke(linewidth=2.2, foreground="white")]
        axes.text(
            x,
            y,
            figure_text(runs[number].run),
            size=7.5,
            ha="center",
            va="center",
            color=colour,
            zorder=5,
            path_effects=halo,
        )
        nearest = np.clip(point, corner, corner + size)
        if np.hypot(*(nearest - point)) > 12:
            ends = to_data.transform([point, nearest])
            axes.plot(ends[:, 0], ends[:, 1], color=colour, lw=0.7, zorder=3)


def place_labels(
    points: NDArray[np.float64], sizes: NDArray[np.float64], area: tuple[float, float, float, float]
) -> NDArray[np.float64]:
    """Lower left corner of each label; crowded points choose first.

    `points` are label anchors and `sizes` label widths and heights in pixels; `area` is (left, bottom, right, top).
    """
    corners = np.full(points.shape, np.nan)
    crowd = [(np.hypot(*(points - point).T) < 120).sum() for point in points]
    for index in sorted(range(len(points)), key=lambda i: (-crowd[i], i)):
        options = _corners_around(points[index], sizes[index])
        costs = [_cost(corner, index, points, sizes, corners, area) for corner in options]
        corners[index] = options[int(np.argmin(costs))]
    return corners


def _corners_around(point: NDArray[np.float64], size: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Places to try, near ones first, to the right first."""
    places = []
    for radius in RADII:
        for turn in range(N_DIRECTIONS):
            angle = 2 * math.pi * turn / N_DIRECTIONS
            way = np.array([math.cos(angle), math.sin(angle)])
            places.append(point + radius * way + (way - 1.0) * size / 2)
    return places


def _cost(
    corner: NDArray[np.float64],
    index: int,
    points: NDArray[np.float64],
    sizes: NDArray[np.float64],
    corners: NDArray[np.float64],
    area: tuple[float, float, float, float],
) -> float:
    end = corner + sizes[index]
    left, bottom, right, top = area
    outside = corner[0] < left or corner[1] < bottom or end[0] > right or end[1] > top
    covered = np.all((points > corner - 4) & (points < end + 4), axis=1).sum()
    placed = ~np.isnan(corners[:, 0])
    shared = np.minimum(end, (corners + sizes)[placed]) - np.maximum(corner, corners[placed]) + 2
    overlap = np.prod(np.maximum(shared, 0.0), axis=1).sum()
    distance = float(np.hypot(*(corner + sizes[index] / 2 - points[index])))
    return OUTSIDE * bool(outside) + POINT * int(covered) + OVERLAP * float(overlap) / 100 + DISTANCE * distance / 10
