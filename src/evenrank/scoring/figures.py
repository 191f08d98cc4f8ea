"""The figures of results and reports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import GroupShare
from evenrank.core.records import Task
from evenrank.core.rng import derive
from evenrank.core.safe_text import figure_text
from evenrank.errors import EvenrankError
from evenrank.io.figures import (
    COLOURS,
    FAINT,
    GRID,
    INK,
    clean_axes,
    dark,
    direction_label,
    figure_style,
    look_of,
    new_figure,
)
from evenrank.measures.measure import Measure
from evenrank.measures.registry import MAIN, as_measure, measures_of
from evenrank.scoring.exposure_by_group import GroupExposure
from evenrank.scoring.results import Results, RunResult, measure_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import QuadContourSet
    from matplotlib.figure import Figure

    from evenrank.scoring.uncertain import UncertainResults


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


BOX: dict[str, Any] = {
    "boxprops": {"facecolor": "#dcebf5", "edgecolor": COLOURS[0], "linewidth": 0.9},
    "medianprops": {"color": INK, "linewidth": 1.4},
    "whiskerprops": {"color": COLOURS[0], "linewidth": 0.9},
    "capprops": {"color": COLOURS[0], "linewidth": 0.9},
}

LONGEST_TITLE = 40
"""Characters of a topic's title beside its row."""
LOG_FROM = 10.0
"""Values of Task 2 whose largest is more than this many times the least are on a logarithmic axis."""


def distribution_figure(results: Results, task: Task) -> Figure:
    """The spread over topics of each of the track's measures: a row per run, best first, a dot per topic."""
    runs = results.of_task(task)
    measures = [measure for measure in measures_of(task) if not measure.is_companion(task)]
    figure, panels = new_figure(10.0, 1.6 + 0.32 * len(runs), 1, len(measures), sharey=True, squeeze=False)
    for axes, measure in zip(panels[0], measures, strict=True):
        values = [np.array([scores[measure.name] for scores in run.topics.values()]) for run in runs]
        _rows(axes, values, [run.run for run in runs])
        _means(axes, [run.scores[measure.name] for run in runs])
        _name_axis(axes, measure, task, values)
    panels[0][0].set_title(f"Task {task}: scores by topic (◆ mean, | median)")
    return figure


def topic_figure(results: Results, task: Task, titles: Mapping[int, str] | None = None) -> Figure:
    """The spread over runs of the task's main measure on each topic, easiest topic first; `titles` are by topic."""
    runs, main = results.of_task(task), MAIN[task]
    topics = sorted({topic for run in runs for topic in run.topics})
    values = [np.array([run.topics[topic][main.name] for run in runs if topic in run.topics]) for topic in topics]
    order = _best_first(values, main)
    figure, axes = new_figure(7.2, 1.5 + 0.21 * len(topics))
    _rows(axes, [values[n] for n in order], [_topic_name(topics[n], titles or {}) for n in order])
    _name_axis(axes, main, task, values)
    axes.set_title(f"Task {task}: {main.name} of {len(runs)} run{'s' * (len(runs) != 1)} by topic, easiest first")
    return figure


def _topic_name(topic: int, titles: Mapping[int, str]) -> str:
    title = titles.get(topic, "")
    if not title:
        return f"topic {topic}"
    return f"{title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1] + '…'} ({topic})"


def _name_axis(axes: Axes, measure: Measure, task: Task, values: Sequence[NDArray[np.float64]]) -> None:
    """The measure and which way is better; the axis is logarithmic for losses of Task 2 that lie far apart."""
    every = np.concatenate(values)
    name = f"{measure.name} {direction_label(measure.higher_is_better)}"
    if task == 2 and every.min() > 0.0 and every.max() > LOG_FROM * every.min():
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(lambda value, _: "")
        name = f"{name}, log scale"
    axes.set_xlabel(name)


def _best_first(values: list[NDArray[np.float64]], measure: Measure) -> list[int]:
    sign = -1.0 if measure.higher_is_better else 1.0
    return sorted(range(len(values)), key=lambda n: (sign * float(np.median(values[n])), n))


def _rows(axes: Axes, values: list[NDArray[np.float64]], names: list[str]) -> None:
    """A horizontal box per row over the single values, which are spread a little so that equal ones show."""
    places = np.arange(len(values))
    axes.boxplot(
        values, orientation="horizontal", positions=places, widths=0.6, showfliers=False, patch_artist=True, **BOX
    )
    for place, row in zip(places, values, strict=True):
        spread = derive(0, "jitter", int(place)).uniform(-0.18, 0.18, len(row))
        axes.plot(row, place + spread, "o", ms=2.6, color=COLOURS[1], alpha=0.55, mew=0, zorder=3)
    axes.set_yticks(places, list(map(figure_text, names)))
    axes.set_ylim(len(values) - 0.4, -0.6)
    clean_axes(axes, "x")


def _means(axes: Axes, means: list[float]) -> None:
    axes.plot(means, np.arange(len(means)), "D", ms=4.5, color=INK, mec="white", mew=0.6, zorder=4)


Values: TypeAlias = NDArray[np.float64]
PER_ROW = 4
SHORT = {"Latin America and the Caribbean": "Latin America, Caribbean"}
OVER, UNDER = COLOURS[0], COLOURS[1]


def exposure_figure(exposures: Sequence[GroupExposure], task: Task) -> Figure:
    """Bars for the exposure that groups get, black ticks for the target; each dimension on its own."""
    n_columns = min(PER_ROW, len(exposures))
    n_rows = math.ceil(len(exposures) / n_columns)
    n_bars = sum(len(d.scored_groups) + 1 for d in exposures[0].space.dimensions)
    figure, panels = new_figure(
        2.1 + 2.3 * n_columns,
        0.9 + n_rows * (0.5 + 0.165 * n_bars),
        n_rows,
        n_columns,
        sharey=True,
        sharex=True,
        squeeze=False,
    )
    for axes, one in zip(panels.flat, exposures, strict=False):
        _panel(axes, one)
    for axes in panels.flat[len(exposures) :]:
        axes.set_visible(False)
    for axes in panels.flat[max(0, len(exposures) - n_columns) : len(exposures)]:
        axes.tick_params(labelbottom=True)
    figure.suptitle(
        f"Task {task}: share of exposure by group\n"
        "bar: the run, blue at or over its target, orange under it · black tick: target",
        ha="left",
        x=0.01,
        fontsize=10,
    )
    return figure


def _panel(axes: Axes, one: GroupExposure) -> None:
    names, given, wanted, places = _stacked(one)
    is_under = given < wanted
    axes.barh(places, given, height=0.72, color=np.where(is_under, UNDER, OVER), alpha=0.8)
    axes.vlines(wanted, places - 0.46, places + 0.46, color=INK, lw=1.8)
    axes.set_yticks(places, list(map(figure_text, names)), fontsize=7.5)
    axes.set_ylim(places.max() + 0.7, -0.7)
    axes.set_title(figure_text(one.run), fontsize=8.5)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    axes.tick_params(axis="x", labelsize=7)
    clean_axes(axes, "x")


def _stacked(one: GroupExposure) -> tuple[list[str], Values, Values, Values]:
    """Names, exposure, target and heights of all bars: dimension under dimension, with a gap between."""
    names: list[str] = []
    given, wanted, places = [], [], []
    start = 0.0
    for dimension in one.space.dimensions:
        groups, exposure, target = one.margin(dimension.name)
        first = [f"unknown {dimension.name}"] if dimension.has_unknown else []
        names += [*first, *(SHORT.get(group, group) for group in groups[len(first) :])]
        given.append(exposure)
        wanted.append(target)
        places.append(start + np.arange(len(groups)))
        start = places[-1][-1] + 1.8
    return names, np.concatenate(given), np.concatenate(wanted), np.concatenate(places)


MAX_GROUPS = 25
"""Groups shown of one grouping: those with the largest targets."""
GROUP_HEIGHT, BAR_HEIGHT, LINE_HEIGHT = 0.42, 0.12, 0.2
"""Inches that a group takes at least, that each of its bars takes at least, and that a line of the legend takes."""
MAX_SYSTEMS_INSIDE = 6
"""Systems whose names fit into the figure; those of more appear beside it."""
HATCHES = ("", "///", "...", "xxx")
"""Patterns of bars, changed when all colours are used up."""


def share_figure(shares: Sequence[GroupShare]) -> Figure:
    """A panel for each grouping: bars for the attention that systems give to each group, a line for its target."""
    if not shares:
        raise EvenrankError("nothing to plot: the scores have no groups")
    with figure_style():
        return _figure(shares)


def _figure(shares: Sequence[GroupShare]) -> Figure:
    groupings = list(dict.fromkeys(share.grouping for share in shares))
    n_groups = [min(MAX_GROUPS, len({s.group for s in shares if s.grouping == name})) for name in groupings]
    n_systems = len({share.system for share in shares})
    is_inside = n_systems <= MAX_SYSTEMS_INSIDE
    height = 1.2 + max(GROUP_HEIGHT, BAR_HEIGHT * n_systems + 0.1) * sum(n_groups)
    size = (7.2, height) if is_inside else (8.6, max(height, 1.2 + LINE_HEIGHT * n_systems))
    figure, axes = new_figure(*size, len(groupings), 1, squeeze=False, height_ratios=n_groups)
    for panel, name in zip(axes[:, 0], groupings, strict=True):
        _draw(panel, [share for share in shares if share.grouping == name], name)
    place = {"loc": "lower right"} if is_inside else {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
    axes[0, 0].legend(frameon=False, fontsize=8, **place)
    return figure


def _draw(axes: Axes, shares: Sequence[GroupShare], name: str) -> None:
    largest = sorted({s.group: s.target for s in shares}.items(), key=lambda pair: -pair[1])[:MAX_GROUPS]
    groups = [group for group, _ in largest]
    systems = list(dict.fromkeys(share.system for share in shares))
    height = 0.8 / len(systems)
    by_key = {(share.system, share.group): share for share in shares}
    for number, system in enumerate(systems):
        colour, _ = look_of(number)
        places = [at - 0.4 + (number + 0.5) * height for at in range(len(groups))]
        hatch = HATCHES[number // len(COLOURS) % len(HATCHES)]
        widths = [by_key[system, group].attention for group in groups]
        axes.barh(
            places, widths, height, color=colour, edgecolor="white", linewidth=0, hatch=hatch, label=figure_text(system)
        )
    for at, group in enumerate(groups):
        target = by_key[systems[0], group].target
        axes.plot([target, target], [at - 0.45, at + 0.45], color="black", lw=2, label="target" if at == 0 else None)
    axes.set_yticks(range(len(groups)), list(map(figure_text, groups)))
    axes.invert_yaxis()
    axes.set_xlabel("share of attention")
    axes.set_title(figure_text(name))
    clean_axes(axes, "x")


ROW_HEIGHT = 0.34
"""Inches that a run and measure takes."""


def uncertainty_figure(found: UncertainResults) -> Figure:
    """On the left the interval of each run and measure with the recorded score; on the right the shares of sources."""
    with figure_style():
        rows = found.means
        figure, axes = new_figure(8.6, 1.4 + ROW_HEIGHT * len(rows), 1, 2, squeeze=False, sharey=True)
        left, right = axes[0]
        for at, one in enumerate(rows):
            left.plot([one.interval.low, one.interval.high], [at, at], color="0.35", lw=2)
            left.plot(one.interval.mean, at, "o", color=look_of(0)[0], label="mean of draws" if at == 0 else None)
            left.plot(one.recorded, at, "x", color="black", label="as recorded" if at == 0 else None)
            first = 0.0
            for number, source in enumerate(found.sources):
                share = one.shares[source]
                label = source if at == 0 else None
                right.barh(at, share, 0.7, first, color=look_of(number)[0], label=label)
                first += share
        left.set_yticks(range(len(rows)), [figure_text(f"{one.run} {one.measure}") for one in rows])
        left.invert_yaxis()
        left.set_xlabel("score")
        right.set_xlabel("share of the variance")
        right.set_xlim(0.0, 1.0)
        left.legend(frameon=False, fontsize=8)
        right.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0))
        for panel in (left, right):
            clean_axes(panel, "x")
        return figure
