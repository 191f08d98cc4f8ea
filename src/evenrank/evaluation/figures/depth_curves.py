"""Relevance and fairness by depth: a panel per measure, a line per run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenrank.evaluation.depth_curves import MEASURES, DepthCurves
from evenrank.figures import COLOURS, clean_axes, direction_label, new_figure
from evenrank.metrics.registry import measure_named

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLES = ("-", "--", ":", "-.")
"""Lines of runs beyond the colours differ by style."""


def depth_figure(curves: DepthCurves) -> Figure:
    """Each measure against depth, which is on a logarithmic axis; the legend names runs best first."""
    figure, panels = new_figure(10.5, 3.6, 1, len(MEASURES), squeeze=False)
    for axes, name in zip(panels[0], MEASURES, strict=True):
        for number, run in enumerate(curves.runs):
            style = STYLES[number // len(COLOURS) % len(STYLES)]
            colour = COLOURS[number % len(COLOURS)]
            axes.plot(curves.depths, curves.values(run, name), style, marker="o", ms=3, color=colour, label=run)
        axes.set_xscale("log")
        axes.set_xticks(curves.depths, [str(depth) for depth in curves.depths], rotation=45)
        axes.minorticks_off()
        axes.set_xlabel("depth")
        axes.set_ylabel(f"{name} {direction_label(measure_named(name, 1).higher_is_better)}")
        clean_axes(axes, "y")
    panels[0][0].set_title("Task 1 by depth")
    panels[0][-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    return figure
