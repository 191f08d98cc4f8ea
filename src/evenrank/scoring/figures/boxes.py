"""Distributions: the topics of each run, and the runs on each topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Task
from evenrank.core.rng import derive
from evenrank.core.safe_text import figure_text
from evenrank.io.figures import COLOURS, INK, clean_axes, direction_label, new_figure
from evenrank.measures.measure import Measure
from evenrank.measures.registry import MAIN, measures_of
from evenrank.scoring.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
