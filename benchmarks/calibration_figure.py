"""The reliability diagram: of pages with probability p, which share is relevant; and how many pages have that p."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evenrank.io.figures import FAINT, clean_axes, figure_style, look_of, new_figure, save_figure_as
from evenrank.retrieval.learn.calibration import ReliabilityBins

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def write_reliability(curves: Mapping[str, ReliabilityBins], title: str, path: Path) -> None:
    """Write the diagram of several models; the same numbers give the same bytes."""
    with figure_style():
        save_figure_as(draw_reliability(curves, title), path)


def draw_reliability(curves: Mapping[str, ReliabilityBins], title: str) -> Figure:
    """Shares above, numbers of pages below; a model that means what it says lies on the diagonal."""
    figure, (shares, counts) = new_figure(6.4, 6.8, rows=2, sharex=True, height_ratios=(3, 1))
    shares.plot([0, 1], [0, 1], color=FAINT, lw=1.0, ls="dashed", zorder=1, label="as often relevant as said")
    for number, (name, bins) in enumerate(curves.items()):
        draw_model(shares, counts, number, name, bins)
    shares.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel="share that is relevant")
    shares.set_title(title)
    shares.legend(loc="upper left", frameon=False)
    counts.set(xlabel="probability of relevance, mean of its tenth", ylabel="pages", yscale="log")
    for axes in (shares, counts):
        clean_axes(axes)
    return figure


def draw_model(shares: Axes, counts: Axes, number: int, name: str, bins: ReliabilityBins) -> None:
    """One model's points, joined; its expected calibration error appears in the legend."""
    colour, marker = look_of(number)
    label = f"{name}: ECE {bins.expected_calibration_error:.3f}"
    look = {"color": colour, "marker": marker, "ms": 6, "mec": "white", "mew": 0.7, "lw": 1.4}
    shares.plot(bins.mean_probability, bins.share_relevant, label=label, zorder=3, **look)  # type: ignore[arg-type]
    counts.plot(bins.mean_probability, np.asarray(bins.n_pages), zorder=3, **look)  # type: ignore[arg-type]
