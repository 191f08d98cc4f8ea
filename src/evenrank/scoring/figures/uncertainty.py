"""Intervals of runs that carry what is unknown, and what their width comes from: two panels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenrank.core.safe_text import figure_text
from evenrank.io.figures import clean_axes, figure_style, look_of, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evenrank.scoring.uncertain import UncertainResults

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
