"""Exposure of groups against the target: a small panel per run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Task
from evenrank.core.safe_text import figure_text
from evenrank.io.figures import COLOURS, INK, clean_axes, new_figure
from evenrank.scoring.exposure_by_group import GroupExposure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
